// What a replay is measured by.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/replay/replay.hpp"

namespace penstock::policy {

/// (sum x)^2 / (n * sum x^2): 1 if all are equal, 1/n if one has everything; 1 for nobody.
double jain_index(const std::vector<double>& amounts);

/// Max-min shares of equals: everybody gets what he wants, or as much as anybody.
std::vector<double> equal_shares(const std::vector<double>& wanted, double capacity);

ReplayWaits waits_of(std::string project, std::vector<std::int64_t> waits_s, std::int64_t never_started);

/// Free devices of a band, in thousandths: those that are wholly free, and what is left of the shared ones.
struct BandRest {
  std::int64_t whole = 0;
  std::vector<std::int64_t> parts;
  std::int64_t cpu_milli = 0;
};

/// Requests for devices of a trace, counted by kind.
class TypicalRequests {
 public:
  explicit TypicalRequests(const ReplayTrace& trace);
  /// Over all requests, weighted by how often they come: the part of what is free that is on bands where one does not
  /// fit. 0 if nothing is free.
  double unusable_part(const std::vector<BandRest>& bands) const;

 private:
  struct Kind {
    std::int64_t devices = 0;
    std::int64_t share = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t count = 0;
  };
  static constexpr std::size_t kKindsMax = 48;  ///< The most frequent ones; the others are left out.
  std::vector<Kind> kinds_;
};

}  // namespace penstock::policy
