// SupervisorCore: attempts that failed, retries, and data that has to be made again.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/core/transfer_retry.hpp"

namespace penstock::supervisor {

// Spec: worker 9, the one table decides. The attempt has left its band.
void SupervisorCore::fail_attempt(Job& job, std::uint32_t subtask, const FailureDetail& detail,
                                  const std::string& where, Blame blame) {
  ++counters_.failed_attempts;
  SubtaskHot& hot = job.hot[subtask];
  hot.flags |= SubtaskFlag::kTroubled;
  SubtaskHistory& history = job.histories.edit()[SubtaskIndex{subtask}];
  const FailurePolicy policy = failure_policy(detail.failure);
  // A process runner serves many subtasks, and may have been killed for its own growth rather than for this one's.
  const bool innocent = detail.failure == FailureClass::RunnerCrash &&
                        history.failures < config_.runner_crashes_forgiven &&
                        job.shape->template_of(subtask).runner == RunnerKind::Process;
  const bool larger = detail.failure == FailureClass::OutOfMemory &&
                      ask_for_more_memory(job, subtask, Bytes{detail.peak_memory_bytes}, history);
  if (policy.charged && !innocent && !larger) ++history.charged;
  const bool unreachable = is_unreachable_input(detail);
  if (!unreachable) history.transfers = 0;
  if (blame == Blame::Open && !unreachable) {
    ++history.failures;
    if (detail.failure == FailureClass::WorkerLost) ++history.lost_workers;
  }
  history.last_attempt = std::max(history.last_attempt, hot.attempt);
  history.last = detail;
  if (history.lines.size() >= config_.history_lines_max) history.lines.erase(history.lines.begin());
  history.lines.push_back("attempt " + to_string(Attempt{hot.attempt}) + " on " + where + ": " +
                          std::string{to_string(detail.failure)} + ": " + detail.message);
  // A lost worker has no band left to rule out, and one that was cut off and is back did not fail the subtask.
  const bool not_there =
      (policy.response == FailureResponse::Reschedule && detail.failure != FailureClass::WorkerLost) ||
      where_to_try_again(detail.code) == TryAgain::OnOtherWorkers;
  if (not_there && !larger) rule_out_bands(job, subtask, detail, history);
  const bool stays_unreachable =
      unreachable && note_unreachable_input(history, workers_, workers_[hot.band].worker, config_, event_.now);
  if (job.cancelling || (hot.flags & SubtaskFlag::kCancelAsked) != 0) return requeue(job, subtask);
  if (!may_retry(job, subtask, history, detail.failure) || !is_retryable_elsewhere(job, subtask, detail)) {
    fail_subtask(job, subtask, detail);
    return;
  }
  if (larger)
    history.lines.back() += "; the next one may use " + std::to_string(job.memory_of(subtask).value()) + " bytes";
  // Its last failure is written with its end.
  if (policy.charged || detail.failure == FailureClass::WorkerLost) record_change(job, subtask);
  if (policy.response == FailureResponse::RecomputeInputs && detail.lost_producer.valid()) {
    const std::uint32_t producer = detail.lost_producer.value();
    const bool known = producer < job.total() && job.hot[producer].phase == SubtaskPhase::Succeeded;
    // The supposed holder does not have the data; copies that may be left elsewhere are given up as well.
    if (known && job.data.in_use() && !job.data.gone(producer)) {
      data_.drop(job, producer, true);
      data_.forget_checkpoint(job, producer);
    }
  }
  if (const ExternalInput* external = job.shape->external_input_of(subtask);
      external != nullptr && detail.failure == FailureClass::InputLost)
    lose_external_datum(*external, workers_[hot.band].worker);
  const Duration delay = unreachable
                             ? backoff_after_transfers(history.transfers, timers_.rng())
                             : backoff_before(detail.failure, std::max<std::uint32_t>(history.charged + 1U, 2U));
  if (stays_unreachable) make_elsewhere(job, detail.lost_producer.value());
  if (delay > Duration{0})
    wait_before_retry(job, subtask, delay);
  else
    requeue(job, subtask);
}

// Fault F26. The need is not known before, and the same amount would not do on any band. No such attempt is charged:
// each has more memory than the one before. After a restart the first of them may have had more than we know of.
bool SupervisorCore::ask_for_more_memory(Job& job, std::uint32_t subtask, Bytes used, SubtaskHistory& history) {
  const Template& own = job.shape->template_of(subtask);
  const Bytes had = job.memory_of(subtask);
  const bool asks = own.memory_max > had && own.retryable && !job.cancelling &&
                    (job.hot[subtask].flags & SubtaskFlag::kCancelAsked) == 0;
  if (!asks) return false;
  Bytes wanted = had * 2;
  while (wanted <= used && wanted < own.memory_max) wanted = wanted * 2;
  Bytes there_is;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.draining || !may_use(job, BandSlot{i})) continue;
    if (eligibility_.is_eligible(own, band) && eligibility_.knows_larger(band))
      there_is = std::max(there_is, Eligibility::memory_limit_of(band));
  }
  const LargerTemplate larger{job.shape->template_index(subtask), std::min({wanted, own.memory_max, there_is})};
  if (larger.memory <= had) return false;
  const auto number = static_cast<std::uint32_t>(job.shape->graph().templates.size() + job.larger_templates->size());
  const auto [known, is_new] = job.larger_numbers.edit().try_emplace(larger, TemplateIndex{number});
  if (is_new) job.larger_templates.edit().push_back(larger);
  if (is_new && job.shares != nullptr) measure_requests(job);  // Quotas count it.
  history.larger = known->second;
  return true;
}

bool SupervisorCore::may_retry(Job& job, std::uint32_t subtask, const SubtaskHistory& history,
                               FailureClass failure) const {
  const Template& wanted = job.shape->template_of(subtask);
  const FailurePolicy policy = failure_policy(failure);
  if (policy.response == FailureResponse::FailSubtask || history.failures >= config_.failures_max) return false;
  // Such attempts never began to run, so even a subtask that must not run twice may be tried again; one that found no
  // room for its outputs did run.
  const bool had_outputs = history.last.code == ErrorCode::LimitExceeded || history.last.code == ErrorCode::StorageFull;
  const bool never_ran = failure == FailureClass::InputLost || failure == FailureClass::Transport ||
                         (failure == FailureClass::Refused && !had_outputs) || failure == FailureClass::Exhausted;
  if (!wanted.retryable && !never_ran) return false;
  if (history.lost_workers >= config_.lost_workers_max) return false;
  const std::uint16_t attempts_max = wanted.attempts_max > 0 ? wanted.attempts_max : config_.attempts_max;
  return history.charged < attempts_max;
}

void SupervisorCore::fail_subtask(Job& job, std::uint32_t subtask, const FailureDetail& detail) {
  end_subtask(job, subtask, SubtaskPhase::Failed);
  note_failed(job, subtask, job.histories->find(SubtaskIndex{subtask})->lines, detail);
  if ((job.hot[subtask].flags & SubtaskFlag::kVisible) != 0 && job.error->message.empty()) {
    PENSTOCK_COVERAGE_MARK("a repeated subtask failed after an earlier success");
    // Its success was reported and stays so; only its lost output cannot be made again.
    job.error = Seldom{Error{ErrorCode::InputLost, job.shape->name(subtask),
                             "its outputs were lost and it failed when it ran again", {}}};
  }
  if (job.shape->template_of(subtask).on_failure == OnFailure::Continue) {
    std::vector<std::uint32_t> dependents;
    for (const std::uint32_t successor : job.shape->successors(subtask)) dependents.push_back(successor);
    cancel_subtasks(job, std::move(dependents), Duration{0});
    return;
  }
  const ErrorCode code = detail.code.value_or(ErrorCode::UserError);
  cancel_job(job, Error{code, job.shape->name(subtask),
                        "failed for good: " + std::string{to_string(detail.failure)} + ": " + detail.message,
                        "see the history of its attempts; on_failure = \"continue\" would let the rest go on"},
             kDefaultGrace);
}

void SupervisorCore::note_failed(Job& job, std::uint32_t subtask, std::vector<std::string> history,
                                 const FailureDetail& detail) {
  progress_.failed(job, {SubtaskIndex{subtask}, job.shape->name(subtask), std::move(history), detail});
}

// Makes the subtask assignable again. Successors that were kept for being assigned after it must wait again. A subtask
// that is being cancelled ends instead; but while workers from before a restart may come back with a later attempt of
// it, it waits for `let_go` like all the others.
void SupervisorCore::requeue(Job& job, std::uint32_t subtask) {
  SubtaskHot& hot = job.hot[subtask];
  if (!job.recovering && (job.cancelling || (hot.flags & SubtaskFlag::kCancelAsked) != 0)) {
    end_subtask(job, subtask, SubtaskPhase::Cancelled);
    return;
  }
  machine_.transition(job, subtask, SubtaskPhase::Waiting);
  if (job.data.in_use() && !job.recovering) {
    const auto predecessors = job.shape->predecessors(subtask);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (job.shape->edge_output(job.shape->first_edge(subtask) + k) != EdgeKind::kOrderOnly &&
          DataDirectory::is_gone(job, predecessors[k]))
        find_again(job, predecessors[k]);
  }
  if (hot.phase == SubtaskPhase::Waiting && hot.unplaced == 0) become_placeable(job, subtask);
}

// The one place where a subtask becomes final.
void SupervisorCore::end_subtask(Job& job, std::uint32_t subtask, SubtaskPhase phase) {
  const FailureDetail* lost = phase == SubtaskPhase::Cancelled ? lost_external_input_of(job, subtask) : nullptr;
  if (lost != nullptr) {
    PENSTOCK_COVERAGE_MARK("an external input was lost before it was read");
    phase = SubtaskPhase::Failed;
    note_failed(job, subtask, {lost->message}, *lost);
  }
  machine_.transition(job, subtask, phase);
  if (!job.thieves->empty()) job.thieves.edit().erase(SubtaskIndex{subtask});
  if (job.open == 0) maybe_done_.push_back(job.id);
  awaited_.changed({job.id, SubtaskIndex{subtask}});
  if (phase == SubtaskPhase::Cancelled) progress_.cancelled(job, subtask);
  if (phase != SubtaskPhase::Succeeded) data_.release_inputs(job, subtask);
}

void SupervisorCore::wait_before_retry(Job& job, std::uint32_t subtask, Duration delay) {
  requeue(job, subtask);
  const SubtaskHot& hot = job.hot[subtask];
  if (hot.phase != SubtaskPhase::Placeable) return;  // The subtask waits for an input anyway, or was cancelled.
  machine_.transition(job, subtask, SubtaskPhase::Backoff);
  timers_.add(RetryTimer{later(event_.now, delay), job.id, subtask, hot.attempt});
}

void SupervisorCore::run_timers() {
  while (const std::optional<RetryTimer> timer = timers_.take_due(event_.now)) {
    if (!jobs_.knows(timer->job) || jobs_[timer->job].state != JobState::Running) continue;
    Job& job = jobs_[timer->job];
    const SubtaskHot& hot = job.hot[timer->subtask];
    if (hot.phase != SubtaskPhase::Backoff || hot.attempt != timer->attempt) continue;
    if (hot.unplaced == 0)
      become_placeable(job, timer->subtask);
    else
      machine_.transition(job, timer->subtask, SubtaskPhase::Waiting);
  }
}

// Runs a subtask again that must remake its outputs, after those that make what it needs itself. No recursion: a
// lineage may be as long as the graph.
void SupervisorCore::recompute(Job& job, std::uint32_t subtask) {
  // An earlier one of several losses may have ended the job; subtasks opened now would never be cancelled. While
  // workers from before a restart may still bring the missing data, nothing is made again.
  if (job.cancelling || job.recovering) return;
  std::vector<std::uint32_t> pending{subtask};
  std::vector<std::uint32_t> reopened;
  while (!pending.empty()) {
    const std::uint32_t next = pending.back();
    pending.pop_back();
    if (job.hot[next].phase != SubtaskPhase::Succeeded) continue;
    if (reopened.size() >= config_.lineage_depth_max) {
      PENSTOCK_COVERAGE_MARK("a lineage was too long");
      for (const std::uint32_t done : reopened)
        if (job.hot[done].phase == SubtaskPhase::Waiting && job.hot[done].unplaced == 0) become_placeable(job, done);
      cancel_job(job, Error{ErrorCode::InputLost, job.shape->name(subtask),
                            "its outputs are lost, and more than " + std::to_string(config_.lineage_depth_max) +
                                " subtasks would have to run again",
                            "raise `supervisor.lineage_depth_max`, or keep replicas or checkpoints"},
                 kDefaultGrace);
      return;
    }
    reopen(job, next, pending);
    reopened.push_back(next);
  }
  cancel_what_cannot_run(job, reopened);
  for (const std::uint32_t done : reopened) {
    if (is_final(job.hot[done].phase)) continue;
    SubtaskMachine::recount(job, done);
    if (job.hot[done].phase == SubtaskPhase::Waiting && job.hot[done].unplaced == 0) become_placeable(job, done);
  }
  raise_to_readers(job, reopened);
}

// A repeated subtask gets the highest priority of its readers: they had been next.
void SupervisorCore::raise_to_readers(Job& job, const std::vector<std::uint32_t>& reopened) {
  std::int32_t urgent = INT32_MIN;
  for (const std::uint32_t subtask : reopened)
    for (const std::uint32_t reader : job.shape->successors(subtask))
      if (!is_final(job.hot[reader].phase)) urgent = std::max(urgent, job.user_priority(reader));
  for (const std::uint32_t subtask : reopened)
    if (!is_final(job.hot[subtask].phase) && job.user_priority(subtask) < urgent)
      change_subtask_priority(job, subtask, urgent);
}

// Cancels repeated subtasks with a predecessor that was cancelled or has failed: they cannot run.
void SupervisorCore::cancel_what_cannot_run(Job& job, const std::vector<std::uint32_t>& reopened) {
  std::vector<std::uint32_t> doomed;
  for (const std::uint32_t subtask : reopened)
    for (const std::uint32_t predecessor : job.shape->predecessors(subtask)) {
      const SubtaskHot& hot = job.hot[predecessor];
      // A predecessor that is being cancelled has taken its unfinished successors with it: nothing would cancel this
      // one later.
      const bool leaves = hot.phase == SubtaskPhase::Assigned && (hot.flags & SubtaskFlag::kCancelAsked) != 0;
      if (!leaves && (!is_final(hot.phase) || hot.phase == SubtaskPhase::Succeeded)) continue;
      doomed.push_back(subtask);
      break;
    }
  if (doomed.empty()) return;
  if (job.error->message.empty())
    job.error = Seldom{
        Error{ErrorCode::InputLost, job.shape->name(doomed.front()),
              "its outputs were lost, and a predecessor that would have to run again was cancelled or failed", {}}};
  cancel_subtasks(job, std::move(doomed), Duration{0});
}

// One subtask from Succeeded back to Waiting; appends the producers that it needs and that are gone.
void SupervisorCore::reopen(Job& job, std::uint32_t subtask, std::vector<std::uint32_t>& pending) {
  PENSTOCK_COVERAGE_MARK("a lost output is made again");
  ++counters_.recomputed;
  machine_.transition(job, subtask, SubtaskPhase::Waiting);
  const auto predecessors = job.shape->predecessors(subtask);
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    if (job.shape->edge_output(job.shape->first_edge(subtask) + k) == EdgeKind::kOrderOnly) continue;
    ++job.data.readers(predecessors[k]);
    if (DataDirectory::is_gone(job, predecessors[k]) && !read_again(job, predecessors[k]))
      pending.push_back(predecessors[k]);
  }
}

}  // namespace penstock::supervisor
