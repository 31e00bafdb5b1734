#include "supervisor/core/lifecycle/worker_losses.hpp"

#include <algorithm>
#include <map>
#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/lifecycle/worker_returns.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {
namespace {

/// The signal that ends an operator beyond its time limit; see `end_overdue_operator`.
constexpr std::int32_t kOverdue = 24;

FailureDetail detail_of(const OperatorCrash& crash) {
  FailureDetail detail;
  detail.failure = crash.signal == kOverdue ? FailureClass::Timeout : FailureClass::RunnerCrash;
  detail.signal = crash.signal;
  detail.message = crash.message;
  return detail;
}

}  // namespace

bool WorkerLosses::is_blamed(const OperatorCrash* crash, const AssignedRef& ref) {
  return crash != nullptr && crash->subtask == SubtaskId{ref.job, SubtaskIndex{ref.subtask}} &&
         crash->attempt.value() == ref.attempt;
}

void WorkerLosses::blame(WorkerSlot teller, const OperatorCrash& crash) {
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i)
    if (const WorkerEntry& worker = fleet_.workers[WorkerSlot{i}];
        worker.alive && worker.incarnation == crash.life && WorkerSlot{i} != teller) {
      pass_on_drain(teller, worker.drain_order);
      return lose_worker(WorkerSlot{i}, crash.message, &crash);
    }
  if (const std::optional<LostIncarnation> lost = fleet_.lost_incarnations.take(crash.life)) {
    pass_on_drain(teller, lost->drain_order);
    return blame_late(*lost, crash);
  }
  if (const std::optional<record::WorkerJoined> absent = fleet_.readoption.take_ended(crash.life))
    return blame_absent(teller, *absent, crash);
  PENSTOCK_COVERAGE_MARK("a crash of an unknown incarnation");
  ++tables_.counters.stale_reports;
}

void WorkerLosses::blame_late(const LostIncarnation& lost, const OperatorCrash& crash) {
  PENSTOCK_COVERAGE_MARK("a crash was reported after its worker was lost");
  for (const AssignedRef& ref : lost.held) {
    if (!tables_.jobs.knows(ref.job) || tables_.jobs[ref.job].status.state != JobState::Running) continue;
    Job& job = tables_.jobs[ref.job];
    if (is_final(job.hot[ref.subtask].phase)) continue;
    SubtaskHistory* history = job.extras.histories.edit().find(SubtaskIndex{ref.subtask});
    if (history == nullptr || history->last_attempt != ref.attempt ||
        history->last.failure != FailureClass::WorkerLost || history->lost_workers == 0)
      continue;
    --history->lost_workers;
    --history->failures;
    if (is_blamed(&crash, ref)) {
      ++history->charged;
      ++history->failures;
      history->last = detail_of(crash);
      if (!history->lines.empty())
        history->lines.back() = "attempt " + to_string(Attempt{ref.attempt}) + ": " +
                                std::string{to_string(history->last.failure)} + ": " + crash.message;
    }
    policy_base_.records.record_change(job, ref.subtask);
    // One that has been given out again meanwhile may still succeed.
    if (is_blamed(&crash, ref) && job.hot[ref.subtask].phase != SubtaskPhase::Assigned && !job.status.cancelling &&
        !runs_.retries.may_retry(job, ref.subtask, *history, history->last.failure))
      runs_.ends.fail_subtask(job, ref.subtask, FailureDetail{history->last});
  }
}

void WorkerLosses::blame_absent(WorkerSlot teller, const record::WorkerJoined& absent, const OperatorCrash& crash) {
  PENSTOCK_COVERAGE_MARK("a crash happened while the supervisor was away");
  if (fleet_.readoption.is_active()) {
    ledger_.gate.write(record::WorkerGone{absent.worker});
    returns_.part_with(absent, crash.message);
  }
  pass_on_drain(teller, absent.drain);
  const std::uint32_t subtask = crash.subtask.index.value();
  if (tables_.jobs.knows(crash.subtask.job) && tables_.jobs[crash.subtask.job].status.state == JobState::Running) {
    Job& job = tables_.jobs[crash.subtask.job];
    const ClaimedAttempt claim{crash.subtask.index, crash.attempt, BandIndex{0}, ClaimedStage::Running};
    if (runs_.adoption.adopt(teller, job, claim, Proof::None)) {
      ++job.tally.counts.attempts;
      runs_.attempts.note_stopped(job, subtask);
      runs_.retries.fail_attempt(job, subtask, detail_of(crash), fleet_.workers[teller].description.name);
    }
  }
  returns_.end_reclaiming_if_complete();
}

void WorkerLosses::pass_on_drain(WorkerSlot heir, std::optional<bool> order) {
  if (order.value_or(false)) set_draining(heir, true);
}

void WorkerLosses::lose_attempts(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash) {
  FailureDetail detail;
  detail.failure = FailureClass::WorkerLost;
  detail.message = "worker " + fleet_.workers[slot].description.name + " was lost: " + reason;
  std::vector<AssignedRef> lost;
  for (const BandSlot band : fleet_.workers[slot].bands) {
    const std::vector<AssignedRef> assigned = std::exchange(fleet_.workers[band].assigned, {});
    for (const AssignedRef& ref : assigned) {
      if (!tables_.jobs.knows(ref.job)) continue;
      Job& job = tables_.jobs[ref.job];
      if (ref.subtask >= job.total()) continue;
      const SubtaskHot& hot = job.hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.band != band || hot.attempt != ref.attempt) continue;
      const bool blamed = is_blamed(crash, ref);
      // The attempt has run, whatever became of it.
      if (blamed || (hot.flags & SubtaskFlag::kStarted) != 0) ++job.tally.counts.attempts;
      runs_.attempts.note_stopped(job, ref.subtask);
      if (job.status.limit_since != kNever && !blamed) job.status.run_taken = true;
      hold_for_overlap(job, ref.subtask, overlap_over_at(config_, event_.now));
      runs_.retries.fail_attempt(job, ref.subtask, blamed ? detail_of(*crash) : detail,
                                 fleet_.workers[slot].description.name,
                                 crash != nullptr && !blamed ? Blame::Others : Blame::Open);
      runs_.time_limits.begin_anew_if_off(job);
      if (crash == nullptr) lost.push_back(ref);
    }
  }
  // A drained worker held nothing in the end, and its next process is to be drained all the same.
  const WorkerEntry& worker = fleet_.workers[slot];
  if (crash == nullptr && (!lost.empty() || worker.drain_order.value_or(false)))
    fleet_.lost_incarnations.remember({worker.incarnation, worker.drain_order, std::move(lost)});
}

}  // namespace penstock::supervisor
