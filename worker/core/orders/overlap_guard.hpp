// Runs with `overlap = "never"`, which must have ended before their subtasks can be given elsewhere.
#pragma once

#include "common/protocol/config.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/events.hpp"
#include "worker/core/jobs/job_table.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

struct Runs;
struct Tables;

/// Ends such runs when the supervisor was not heard for `cut_off_after`. The supervisor counts from messages that were
/// sent before it received them; so this worker is always the first to give up.
class OverlapGuard {
 public:
  OverlapGuard(const WorkerConfig& config, const EventContext& event, Tables& tables, Runs& runs)
      : config_(config), event_(event), tables_(tables), runs_(runs) {}
  OverlapGuard(const OverlapGuard&) = delete;
  OverlapGuard& operator=(const OverlapGuard&) = delete;

  void heard(const worker_event::SupervisorHeard& event);
  /// Ends what may not go on since the deadline.
  void check() {
    if (event_.now >= cut_off_at_ && !cut_off_) end_all();
  }
  void template_seen(JobContext& job) { job.has_never_overlapping = any_ = true; }
  /// No such subtask may start now.
  bool refuses(const SubtaskRecord& record) const {
    return cut_off_ && record.program->content.overlap == Overlap::Never;
  }
  Instant deadline() const { return any_ && !cut_off_ ? cut_off_at_ : kNever; }

 private:
  void end_all();

  const WorkerConfig& config_;
  const EventContext& event_;
  Tables& tables_;
  Runs& runs_;
  Instant cut_off_at_ = kNever;  ///< Moved later when the supervisor has heard from us; `kNever` before the first time.
  bool cut_off_ = false;         ///< `cut_off_at_` has come.
  bool any_ = false;             ///< A template with `overlap = "never"` was here.
};

}  // namespace penstock::worker
