// The figures by which a replay is judged.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "tools/policy/replay/replay.hpp"

namespace penstock::policy {

/// (sum x)^2 / (n * sum x^2): 1 if all are equal, 1/n if one has everything, 0 if all have nothing; 1 without amounts.
double jain_index(const std::vector<double>& amounts);

/// Max-min shares of equals: each gets the amount it wants, or as much as any other.
std::vector<double> equal_shares(const std::vector<double>& wanted, double capacity);

ReplayTimes times_of(std::vector<std::int64_t> seconds);

/// Seconds of the jobs of a project.
struct ProjectTimes {
  std::vector<std::int64_t> waits_s;        ///< Of those that could run,
  std::vector<std::int64_t> completions_s;  ///< and of those that ended, from their arrival on.
  std::int64_t jobs = 0;
  std::int64_t never_started = 0;
};
ReplayWaits waits_of(std::string project, ProjectTimes times);

/// Free devices of a band, in thousandths: wholly free ones, and the rests of shared ones.
struct BandRest {
  std::int64_t whole = 0;
  std::vector<std::int64_t> parts;
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;  ///< Bytes.
};

/// Free thousandths of devices, and those of them that requests could not use, times the number of requests. Whole
/// numbers, so that sums may be kept up to date without losing anything.
struct RestValue {
  std::int64_t free = 0;
  std::int64_t unusable = 0;
  RestValue& operator+=(const RestValue& other) { return free += other.free, unusable += other.unusable, *this; }
  RestValue& operator-=(const RestValue& other) { return free -= other.free, unusable -= other.unusable, *this; }
};

/// Requests that differ in CPU and memory only. Says how many of them fit in so much of both.
class RequestGrid {
 public:
  struct Request {
    std::int64_t cpu_milli = 0;
    std::int64_t memory = 0;
    std::int64_t count = 0;
  };
  /// REQUIRES: `requests` is not empty.
  explicit RequestGrid(std::vector<Request> requests);
  /// Cost: the square of the logarithm of the number of requests; constant where all fit, or none.
  std::int64_t fitting(std::int64_t cpu_milli, std::int64_t memory) const;
  std::int64_t all() const { return all_; }

 private:
  std::vector<std::int64_t> cpu_milli_;  ///< Ascending.
  /// As in a Fenwick tree: entry `i` has the last `i & -i` of the first `i` requests, with memory ascending and counts
  /// summed up.
  std::vector<std::vector<Request>> below_;
  std::int64_t memory_max_ = 0;
  std::int64_t all_ = 0;
};

/// Requests for devices of a trace, all of them: a job counts once, and fits where one of its members does.
class TypicalRequests {
 public:
  explicit TypicalRequests(const ReplayTrace& trace);
  /// Over all requests, weighted by how often they come: the part of the free devices that is on bands where one does
  /// not fit. 0 if nothing is free.
  double unusable_part(const std::vector<BandRest>& bands) const;
  double unusable_part(const RestValue& sum) const;
  RestValue value_of(const BandRest& band) const;

 private:
  struct Shape {
    std::int64_t devices = 0;
    std::int64_t share = 0;
    RequestGrid requests;
  };
  std::vector<Shape> shapes_;
  std::int64_t all_ = 0;
};

/// A figure of the cluster over time: held for some time each, as means over equal spans. The spans double when there
/// are too many, so that the duration need not be known beforehand.
class ReplayMeter {
 public:
  ReplayMeter(std::int64_t begins_s, std::int64_t samples_max);

  /// The state is `now` for so long from where the last call ended.
  void hold(const ReplaySample& now, Duration time);
  /// By time; the last span may be shorter than the others.
  std::vector<ReplaySample> samples() const;
  /// The mean of all. Of nothing: that of an idle cluster.
  ReplaySample mean() const;

 private:
  struct Sum {
    double seconds = 0;
    double used = 0;
    double fragmented = 0;
    double fairness = 0;
    double judged = 0;  ///< Seconds in which a project wanted something.
    double waiting = 0;
    void add(const ReplaySample& sample, double for_s);
    void add(const Sum& other);
    ReplaySample mean() const;
  };
  void halve();

  std::int64_t begins_s_;
  std::size_t samples_max_;
  std::chrono::seconds span_{1};
  Duration passed_{0};
  std::vector<Sum> sums_;
  Sum all_;
};

}  // namespace penstock::policy
