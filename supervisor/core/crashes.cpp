// SupervisorCore: workers that a native operator took down with itself (fault F25), and the attempts charged for it.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// The signal that ends an operator beyond its time limit; see `end_overdue_operator`.
constexpr std::int32_t kOverdue = 24;  // SIGXCPU

FailureDetail detail_of(const OperatorCrash& crash) {
  FailureDetail detail;
  detail.failure = crash.signal == kOverdue ? FailureClass::Timeout : FailureClass::RunnerCrash;
  detail.signal = crash.signal;
  detail.message = crash.message;
  return detail;
}

}  // namespace

bool SupervisorCore::is_blamed(const OperatorCrash* crash, const AssignedRef& ref) {
  return crash != nullptr && crash->subtask == SubtaskId{ref.job, SubtaskIndex{ref.subtask}} &&
         crash->attempt.value() == ref.attempt;
}

/// A worker's process reports after its restart how the previous incarnation ended. Usually that one is not known to be
/// lost yet; otherwise the charges to innocent attempts are taken back. An unknown incarnation blames no attempt: its
/// numbers may be those of another state.
void SupervisorCore::blame(WorkerSlot teller, const OperatorCrash& crash) {
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i)
    if (const WorkerEntry& worker = workers_[WorkerSlot{i}];
        worker.alive && worker.incarnation == crash.life && WorkerSlot{i} != teller) {
      pass_on_drain(teller, worker.drain_order);
      return lose_worker(WorkerSlot{i}, crash.message, &crash);
    }
  if (const std::optional<LostIncarnation> lost = lost_incarnations_.take(crash.life)) {
    pass_on_drain(teller, lost->drain_order);
    return blame_late(*lost, crash);
  }
  if (const std::optional<record::WorkerJoined> absent = readoption_.take_ended(crash.life))
    return blame_absent(teller, *absent, crash);
  PENSTOCK_COVERAGE_MARK("a crash of an unknown incarnation");
  ++counters_.stale_reports;
}

/// Its loss was charged to all attempts that it held, because the culprit was unknown.
void SupervisorCore::blame_late(const LostIncarnation& lost, const OperatorCrash& crash) {
  PENSTOCK_COVERAGE_MARK("a crash was reported after its worker was lost");
  for (const AssignedRef& ref : lost.held) {
    if (!jobs_.knows(ref.job) || jobs_[ref.job].state != JobState::Running) continue;
    Job& job = jobs_[ref.job];
    if (is_final(job.hot[ref.subtask].phase)) continue;
    SubtaskHistory* history = job.histories.edit().find(SubtaskIndex{ref.subtask});
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
    record_change(job, ref.subtask);
    // One that has been given out again meanwhile may still succeed.
    if (is_blamed(&crash, ref) && job.hot[ref.subtask].phase != SubtaskPhase::Assigned && !job.cancelling &&
        !may_retry(job, ref.subtask, *history, history->last.failure))
      fail_subtask(job, ref.subtask, FailureDetail{history->last});
  }
}

/// The worker went down while the supervisor was away: there is no reason to wait for it, and its attempts are known
/// only from this.
void SupervisorCore::blame_absent(WorkerSlot teller, const record::WorkerJoined& absent, const OperatorCrash& crash) {
  PENSTOCK_COVERAGE_MARK("a crash happened while the supervisor was away");
  if (readoption_.is_active()) {
    gate_.write(record::WorkerGone{absent.worker});
    part_with(absent, crash.message);
  }
  pass_on_drain(teller, absent.drain);
  const std::uint32_t subtask = crash.subtask.index.value();
  if (jobs_.knows(crash.subtask.job) && jobs_[crash.subtask.job].state == JobState::Running) {
    Job& job = jobs_[crash.subtask.job];
    const ClaimedAttempt claim{crash.subtask.index, crash.attempt, BandIndex{0}, ClaimedStage::Running};
    if (adopt(teller, job, claim, Proof::None)) {
      ++job.counts.attempts;
      note_stopped(job, subtask);
      fail_attempt(job, subtask, detail_of(crash), workers_[teller].description.name);
    }
  }
  end_reclaiming_if_complete();
}

/// The operator that drained a worker does not know that its process has restarted.
void SupervisorCore::pass_on_drain(WorkerSlot heir, std::optional<bool> order) {
  if (order.value_or(false)) set_draining(heir, true);
}

void SupervisorCore::lose_attempts(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash) {
  FailureDetail detail;
  detail.failure = FailureClass::WorkerLost;
  detail.message = "worker " + workers_[slot].description.name + " was lost: " + reason;
  std::vector<AssignedRef> lost;
  for (const BandSlot band : workers_[slot].bands) {
    const std::vector<AssignedRef> assigned = std::exchange(workers_[band].assigned, {});
    for (const AssignedRef& ref : assigned) {
      if (!jobs_.knows(ref.job)) continue;
      Job& job = jobs_[ref.job];
      if (ref.subtask >= job.total()) continue;
      const SubtaskHot& hot = job.hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.band != band || hot.attempt != ref.attempt) continue;
      const bool blamed = is_blamed(crash, ref);
      // The attempt has run, whatever became of it.
      if (blamed || (hot.flags & SubtaskFlag::kStarted) != 0) ++job.counts.attempts;
      note_stopped(job, ref.subtask);
      hold_for_overlap(job, ref.subtask, overlap_over_at(config_, event_.now));
      fail_attempt(job, ref.subtask, blamed ? detail_of(*crash) : detail, workers_[slot].description.name,
                   crash != nullptr && !blamed ? Blame::Others : Blame::Open);
      if (crash == nullptr) lost.push_back(ref);
    }
  }
  // A drained worker held nothing in the end, and its next process is to be drained all the same.
  const WorkerEntry& worker = workers_[slot];
  if (crash == nullptr && (!lost.empty() || worker.drain_order.value_or(false)))
    lost_incarnations_.remember({worker.incarnation, worker.drain_order, std::move(lost)});
}

}  // namespace penstock::supervisor
