// Cancels of attempts, and changes of their priority.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"

namespace penstock {

/// One attempt within a job.
struct AttemptRef {
  SubtaskIndex subtask;
  Attempt attempt;
  friend bool operator==(const AttemptRef&, const AttemptRef&) = default;
};

/// `kill_after` of a cancel: never kill, only ask.
inline constexpr Duration kNeverKill = Duration::max();
/// `kill_after` of a cancel: the grace that the template or the worker has configured.
inline constexpr Duration kDefaultGrace{-1};

/// Cancels attempts in any state. Idempotent; unknown attempts are ignored.
struct CancelBatch {
  JobId job;
  bool whole_job = false;             ///< Every attempt of the job, in one small message.
  std::vector<AttemptRef> attempts;   ///< Ignored for a whole job.
  Duration kill_after = kDefaultGrace;
  /// Only these attempts, which are fenced because their subtasks run elsewhere: successors that wait for their results
  /// stay.
  bool alone = false;
  /// Policy takes the slots back: the attempts are asked to save their state, end, and are `Returned`. Implies `alone`.
  bool preempt = false;
  friend bool operator==(const CancelBatch&, const CancelBatch&) = default;
};

/// A new priority for one subtask, for all its attempts.
struct PriorityChange {
  SubtaskIndex subtask;
  std::uint64_t priority = 0;
  friend bool operator==(const PriorityChange&, const PriorityChange&) = default;
};

/// New priorities; unknown subtasks are ignored.
struct PriorityBatch {
  JobId job;
  bool change_job = false;        ///< Apply `job_priority`.
  std::int32_t job_priority = 0;
  std::vector<PriorityChange> changes;
  friend bool operator==(const PriorityBatch&, const PriorityBatch&) = default;
};

}  // namespace penstock
