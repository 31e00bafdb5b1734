#include "supervisor/core/runs/subtask_ends.hpp"
#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/driver/gang_barriers.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {

void SubtaskEnds::end_subtask(Job& job, std::uint32_t subtask, SubtaskPhase phase) {
  const FailureDetail* lost =
      phase == SubtaskPhase::Cancelled ? external_inputs_.lost_external_input_of(job, subtask) : nullptr;
  if (lost != nullptr) {
    PENSTOCK_COVERAGE_MARK("an external input was lost before it was read");
    phase = SubtaskPhase::Failed;
    note_failed(job, subtask, {lost->message}, *lost);
  }
  machine_.transition(job, subtask, phase);
  if (!job.extras.thieves->empty()) job.extras.thieves.edit().erase(SubtaskIndex{subtask});
  if (job.tally.open == 0) maybe_done_.push_back(job.id);
  awaited_.changed({job.id, SubtaskIndex{subtask}});
  if (phase == SubtaskPhase::Cancelled) progress_.cancelled(job, subtask);
  if (phase != SubtaskPhase::Succeeded) data_.release_inputs(job, subtask);
}

void SubtaskEnds::cancel_subtasks(Job& job, std::vector<std::uint32_t> pending, Duration kill_after) {
  if (job.status.recovering)
    return job.status.deferred_cancels.edit().push_back({false, std::move(pending), kill_after});
  std::vector<bool> seen(job.total());
  while (!pending.empty()) {
    const std::uint32_t subtask = pending.back();
    pending.pop_back();
    if (seen[subtask]) continue;
    seen[subtask] = true;
    SubtaskHot& hot = job.hot[subtask];
    if (hot.phase == SubtaskPhase::Assigned) {
      const WorkerSlot slot = workers_[hot.band].worker;
      hot.flags |= SubtaskFlag::kCancelAsked;
      CancelBatch& batch = mail_.last_cancels(slot, job.id, false);
      batch.kill_after = kill_after;
      batch.attempts.push_back(AttemptRef{SubtaskIndex{subtask}, Attempt{hot.attempt}});
    } else if (!is_final(hot.phase)) {
      end_subtask(job, subtask, SubtaskPhase::Cancelled);
    } else if (hot.phase == SubtaskPhase::Succeeded) {
      continue;
    }
    for (const std::uint32_t successor : job.graph.shape->successors(subtask)) pending.push_back(successor);
  }
}

void SubtaskEnds::cancel_open_subtasks(Job& job, Duration kill_after) {
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    const SubtaskPhase phase = job.hot[i].phase;
    if (phase != SubtaskPhase::Waiting && phase != SubtaskPhase::Placeable && phase != SubtaskPhase::Backoff) continue;
    end_subtask(job, i, SubtaskPhase::Cancelled);
  }
  // One small message for each worker, however many attempts it holds.
  for (const WorkerId worker : job.audience.workers)
    if (const WorkerSlot slot = workers_.find(worker); slot.valid())
      mail_.tell(slot, CancelBatch{job.id, true, {}, kill_after});
}

void SubtaskEnds::cancel_job(Job& job, Error why, Duration kill_after) {
  if (job.status.state != JobState::Running) return;
  if (!job.status.cancelling) job.status.error = Seldom{std::move(why)};
  job.status.cancelling = true;
  barriers_.leave_barriers(job);
  records_.record_change(job);
  // A run that a worker of before a restart may have must not be told to have been cancelled before it is.
  if (job.status.recovering)
    job.status.deferred_cancels.edit().push_back({true, {}, kill_after});
  else
    cancel_open_subtasks(job, kill_after);
}

void SubtaskEnds::fail_subtask(Job& job, std::uint32_t subtask, const FailureDetail& detail) {
  end_subtask(job, subtask, SubtaskPhase::Failed);
  note_failed(job, subtask, job.extras.histories->find(SubtaskIndex{subtask})->lines, detail);
  if ((job.hot[subtask].flags & SubtaskFlag::kVisible) != 0 && job.status.error->message.empty()) {
    PENSTOCK_COVERAGE_MARK("a repeated subtask failed after an earlier success");
    // Its success was reported and stays so; only its lost output cannot be made again.
    job.status.error = Seldom{Error{ErrorCode::InputLost,
                                    job.graph.shape->name(subtask),
                                    "its outputs were lost and it failed when it ran again",
                                    {}}};
  }
  if (job.graph.shape->template_of(subtask).on_failure == OnFailure::Continue) {
    std::vector<std::uint32_t> successors;
    for (const std::uint32_t successor : job.graph.shape->successors(subtask)) successors.push_back(successor);
    cancel_subtasks(job, std::move(successors), Duration{0});
    return;
  }
  const ErrorCode code = detail.code.value_or(ErrorCode::UserError);
  cancel_job(job,
             Error{code, job.graph.shape->name(subtask),
                   "failed for good: " + std::string{to_string(detail.failure)} + ": " + detail.message,
                   "see the history of its attempts; on_failure = \"continue\" would let the rest go on"},
             kDefaultGrace);
}

void SubtaskEnds::note_failed(Job& job, std::uint32_t subtask, std::vector<std::string> history,
                              const FailureDetail& detail) {
  progress_.failed(job, {SubtaskIndex{subtask}, job.graph.shape->name(subtask), std::move(history), detail});
}

void SubtaskEnds::fail_for_missing_band(Job& job, std::uint32_t subtask, const BandSelector& required) {
  const std::string name =
      required.worker + (required.worker.empty() || required.band.empty() ? "" : "/") + required.band;
  FailureDetail detail;
  detail.failure = FailureClass::Refused;
  detail.code = ErrorCode::NoAvailableBand;
  detail.message = "NoAvailableBand: it requires band '" + name + "', which is not there since " +
                   std::to_string(config_.required_band_wait / std::chrono::seconds{1}) +
                   " s (start that worker again, or submit with --wait-for-resources)";
  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{subtask}];
  history.last = detail;
  history.lines.push_back(detail.message);
  job.hot[subtask].flags |= SubtaskFlag::kTroubled;
  fail_subtask(job, subtask, detail);
}

void SubtaskEnds::fail_external_input(Job& job, const ExternalInput& input, const std::string& why) {
  FailureDetail detail;
  detail.failure = FailureClass::InputLost;
  detail.code = ErrorCode::InputLost;
  detail.message = "subtask '" + job.graph.shape->name(input.subtask) + "' borrows " + name_of(input.datum) + ": " +
                   why + " (run that again, or keep replicas of it)";
  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{input.subtask}];
  history.last = detail;
  history.lines.push_back(detail.message);
  job.hot[input.subtask].flags |= SubtaskFlag::kTroubled;
  fail_subtask(job, input.subtask, detail);
}

}  // namespace penstock::supervisor
