#include "supervisor/core/runs/adoption.hpp"
#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/runs/attempt_counts.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {

bool Adoption::adopt(WorkerSlot slot, Job& job, const ClaimedAttempt& claim, Proof proof) {
  const std::uint32_t subtask = claim.subtask.value();
  if (subtask >= job.total() || !claim.attempt.valid() || claim.band.value() >= workers_[slot].bands.size())
    return false;
  SubtaskHot& hot = job.hot[subtask];
  const bool elsewhere = hot.phase == SubtaskPhase::Assigned;
  if (is_final(hot.phase) || (elsewhere && proof == Proof::None)) return false;
  if (proof == Proof::None && has_failed(job, subtask, claim.attempt)) return false;
  if (elsewhere) {
    PENSTOCK_COVERAGE_MARK("a success was claimed of a subtask that runs elsewhere");
    attempts_.note_stopped(job, subtask);
    fence(workers_[hot.band].worker, job, subtask, hot.attempt);
  }
  if (hot.attempt > claim.attempt.value()) {
    PENSTOCK_COVERAGE_MARK("an attempt took the place of a later one");
    hot.flags |= SubtaskFlag::kOutrun;
    job.extras.outrun.edit()[SubtaskIndex{subtask}] = hot.attempt;
  }
  machine_.assign(job, subtask, workers_[slot].bands[claim.band.value()], claim.attempt.value());
  hot.flags |= SubtaskFlag::kAdopted;
  workers_[hot.band].assigned.push_back(AssignedRef{job.id, subtask, hot.attempt});
  if (elsewhere) return true;
  machine_.count_assigned(job, subtask, [&](std::uint32_t successor) { placer_.become_placeable(job, successor); });
  return true;
}

bool Adoption::has_failed(const Job& job, std::uint32_t subtask, Attempt attempt) {
  if ((job.hot[subtask].flags & SubtaskFlag::kTroubled) == 0) return false;
  const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask});
  if (history == nullptr || attempt.value() > history->last_attempt) return false;
  PENSTOCK_COVERAGE_MARK("an attempt that has failed is claimed");
  return true;
}

void Adoption::fence(WorkerSlot slot, Job& job, std::uint32_t subtask, std::uint64_t attempt) {
  if (subtask >= job.total()) return;
  PENSTOCK_COVERAGE_MARK("an attempt from before a restart is fenced");
  hold_for_overlap(job, subtask,
                   overlap_over_at(config_, event_.now));  // Its worker may be cut off before it hears of it.
  CancelBatch& batch = mail_.last_cancels(slot, job.id, true);
  batch.kill_after = Duration{0};
  batch.attempts.push_back(AttemptRef{SubtaskIndex{subtask}, Attempt{attempt}});
}

void Adoption::claim_end(WorkerSlot slot, Job& job, const AttemptReport& report) {
  if (!is_end(report.outcome) || attempts_.is_current(job, report, slot)) return;
  const Proof proof = report.outcome == Outcome::Succeeded ? Proof::Success : Proof::None;
  const ClaimedAttempt claim{report.subtask, report.attempt, report.band, ClaimedStage::Running};
  if (adopt(slot, job, claim, proof)) ++counters_.adopted;
}

}  // namespace penstock::supervisor
