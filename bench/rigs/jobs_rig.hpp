// The supervisor's core with very many queued jobs of one subtask.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "bench/rigs/meter.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::bench {

/// Drives a `SupervisorCore` with workers that end a run only on demand: most jobs stay queued. A policy's passes run
/// at once and are not metered.
class JobsRig {
 public:
  /// `policed`: `fair_share` divides the slots.
  JobsRig(std::uint32_t workers, std::uint32_t slots, bool policed, Meter& core);

  /// Submits one more job of one subtask; every fourth asks for more memory than any worker has, and waits for such a
  /// worker.
  void submit();
  /// Submits one more job that fits every worker.
  void submit_one_that_fits();
  /// Ends the oldest run. REQUIRES: one is under way.
  void end_one();
  /// Asks for the first page of `jobs`.
  void list();
  /// From now on `meter` counts the core's calls.
  void count_on(Meter& meter) { meter_ = &meter; }
  /// Presently allocated bytes.
  static std::size_t allocated_bytes();
  const supervisor::SupervisorCore& core() const { return core_; }
  /// The cost of each call to the core, in order.
  const std::vector<Duration>& costs() const { return costs_; }

 private:
  void submit(Graph&& graph);

  struct Run {
    WorkerId worker;
    JobId job;
    AttemptRef attempt;
  };
  void handle(supervisor::SupervisorEvent&& event);

  supervisor::SupervisorCore core_;
  Meter* meter_;
  Instant now_ = instant_at(std::chrono::seconds{1});
  std::deque<Run> runs_;
  std::map<WorkerId, std::uint64_t> reports_;
  std::vector<Duration> costs_;
  std::optional<Instant> keep_deadline_;
  std::uint64_t submissions_ = 0;
};

}  // namespace penstock::bench
