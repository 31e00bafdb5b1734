// The state of a replayed cluster as its figures see it, over time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tools/policy/replay/replay_figures.hpp"
#include "tools/policy/replay/replay_rooms.hpp"

namespace penstock::policy {

/// Counts jobs that are there, and their runs, and takes the means of both over time. The time between the last event
/// and one that concerns no job that could run is no part of a replay: see `go_on`.
class ReplayMeasures {
 public:
  /// `trace` outlives it.
  ReplayMeasures(const ReplayTrace& trace, Instant begins, std::int64_t samples);

  ReplayRooms& rooms() { return rooms_; }
  /// The state has been as it is until now. To be called before anything changes.
  void pass_time(Instant now);
  /// An event has happened now, so the time until now counts.
  void go_on();

  /// A job that could run is there now. Time until then is time in which jobs arrive.
  void job_came(const ReplayJob& job);
  void job_left(const ReplayJob& job);
  /// A member of the job begins to run, or has ended.
  void run_begun(const ReplayJob& job) { held_[job.project] += asked_by_member(job); }
  void run_ended(const ReplayJob& job) { held_[job.project] -= asked_by_member(job); }
  /// The number of jobs that are there and do not run changes.
  void add_waiting(std::int64_t jobs) { waiting_ += jobs; }

  /// A moment in seconds of the trace, rounded down.
  std::int64_t second_of(Instant at) const;
  /// The last event that counts.
  Instant last() const { return last_; }
  /// Writes the samples and means.
  void report(ReplayReport& report) const;

 private:
  using Held = std::vector<std::pair<ReplaySample, Duration>>;

  static std::int64_t asked_by_member(const ReplayJob& job) { return job.devices * job.device_share; }
  ReplaySample measure() const;

  const std::int64_t begins_s_;
  const Instant begins_;
  std::int64_t capacity_ = 0;  ///< Thousandths of devices, as all amounts here.
  const TypicalRequests typical_;
  ReplayRooms rooms_;
  std::vector<std::int64_t> held_;    ///< By project.
  std::vector<std::int64_t> wanted_;  ///< By project: of jobs that are there.
  std::int64_t waiting_ = 0;
  ReplayMeter all_;
  ReplayMeter arriving_;
  Held pending_;        ///< Since `last_`.
  Held since_arrival_;  ///< Counted in `all_`, not yet in `arriving_`.
  Instant now_;
  Instant last_;
};

}  // namespace penstock::policy
