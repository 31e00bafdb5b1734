#include "supervisor/core/runs/time_limits.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/base/quantity.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"

namespace penstock::supervisor {
namespace {

/// Whether nothing of the job runs, and nothing may. A job that policy gives no slots any more may still have attempts
/// that wait at workers.
bool is_off(const Job& job) {
  if (job.tally.in_flight == 0) return true;
  if (job.shares == nullptr || holds_slots(*job.shares)) return false;
  const std::vector<BandShare>& bands = job.shares->bands;
  return std::all_of(bands.begin(), bands.end(), [](const BandShare& share) { return share.started == 0; });
}

Instant end_of(const Job& job) { return later(job.status.limit_since, job.spec.time_limit); }

}  // namespace

void TimeLimits::note_report(Job& job, const AttemptReport& report, bool asked_to_leave) {
  const bool is_back = report.outcome == Outcome::Returned || report.outcome == Outcome::Cancelled;
  const bool has_run = (job.hot[report.subtask.value()].flags & SubtaskFlag::kStarted) != 0;
  if (has_run && (asked_to_leave || report.outcome == Outcome::Returned)) {
    job.status.run_taken = true;
    return;
  }
  // An attempt that never ran says nothing about the others.
  if (is_back || (report.outcome == Outcome::Failed && report.run_us == 0)) return;
  job.status.run_taken = false;
  if (job.status.limit_since == kNever) begin(job, std::chrono::microseconds{report.run_us});
}

void TimeLimits::begin(Job& job, Duration ran) {
  job.status.limit_since = event_.now - ran;
  if (!job.status.recovering) indices_.time_limits.insert(job.id, end_of(job));
  records_.record_change(job);
}

void TimeLimits::begin_anew_if_off(Job& job) {
  if (!job.status.run_taken || job.status.recovering || !is_off(job)) return;
  job.status.run_taken = false;
  if (job.status.limit_since != kNever && job.status.state == JobState::Running && !job.status.cancelling)
    begin_anew(job);
}

void TimeLimits::begin_anew(Job& job) {
  PENSTOCK_COVERAGE_MARK("a time limit begins anew");
  leave(job);
  job.status.limit_since = kNever;
  records_.record_change(job);
}

void TimeLimits::change(Job& job, Duration limit) {
  leave(job);
  const bool had_one = job.spec.time_limit > Duration{0};
  job.spec.time_limit = limit;
  if (limit == Duration{0})
    job.status.limit_since = kNever;
  else if (!had_one && !is_off(job))
    job.status.limit_since = event_.now;
  if (job.status.limit_since != kNever && !job.status.recovering) indices_.time_limits.insert(job.id, end_of(job));
  records_.record_change(job);
}

void TimeLimits::go_on(Job& job, bool some_are_lost) {
  if (job.status.limit_since == kNever || job.spec.time_limit == Duration{0}) return;
  if ((some_are_lost || job.status.run_taken) && job.tally.in_flight == 0) return begin_anew(job);
  indices_.time_limits.insert(job.id, end_of(job));
}

void TimeLimits::leave(const Job& job) {
  if (job.status.limit_since != kNever) indices_.time_limits.erase(job.id, end_of(job));
}

void TimeLimits::end_overdue() {
  for (const JobId id : indices_.time_limits.due_at(event_.now)) {
    Job& job = jobs_[id];
    leave(job);
    if (job.status.cancelling) continue;
    PENSTOCK_COVERAGE_MARK("a job was ended at its time limit");
    ends_.cancel_job(job,
                     Error{ErrorCode::TimedOut, "job '" + job.spec.name + "'",
                           "was ended because it has reached its time_limit of " + to_text(job.spec.time_limit),
                           "raise time_limit (`submit --time-limit`; in a job file, `job_time_limit`)"},
                     kDefaultGrace);
  }
}

}  // namespace penstock::supervisor
