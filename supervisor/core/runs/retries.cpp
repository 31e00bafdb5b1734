#include "supervisor/core/runs/retries.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/runs/recomputation.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/transfer_retry.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

void Retries::fail_attempt(Job& job, std::uint32_t subtask, const FailureDetail& detail, const std::string& where,
                           Blame blame) {
  ++counters_.failed_attempts;
  SubtaskHot& hot = job.hot[subtask];
  hot.flags |= SubtaskFlag::kTroubled;
  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{subtask}];
  const FailurePolicy policy = failure_policy(detail.failure);
  // A process runner serves many subtasks, and may have been killed for its own growth rather than for this one's.
  const bool innocent = detail.failure == FailureClass::RunnerCrash &&
                        history.failures < config_.runner_crashes_forgiven &&
                        job.graph.shape->template_of(subtask).runner == RunnerKind::Process;
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
  if (job.status.cancelling || (hot.flags & SubtaskFlag::kCancelAsked) != 0)
    return recomputation_.requeue(job, subtask);
  if (!may_retry(job, subtask, history, detail.failure) || !is_retryable_elsewhere(job, subtask, detail)) {
    ends_.fail_subtask(job, subtask, detail);
    return;
  }
  if (larger)
    history.lines.back() += "; the next one may use " + std::to_string(job.memory_of(subtask).value()) + " bytes";
  // Its last failure is written with its end.
  if (policy.charged || detail.failure == FailureClass::WorkerLost) records_.record_change(job, subtask);
  if (policy.response == FailureResponse::RecomputeInputs && detail.lost_producer.valid()) {
    const std::uint32_t producer = detail.lost_producer.value();
    const bool known = producer < job.total() && job.hot[producer].phase == SubtaskPhase::Succeeded;
    // The supposed holder does not have the data; copies that may be left elsewhere are given up as well.
    if (known && job.data.in_use() && !job.data.gone(producer)) {
      data_.drop(job, producer, true);
      data_.forget_checkpoint(job, producer);
    }
  }
  if (const ExternalInput* external = job.graph.shape->external_input_of(subtask);
      external != nullptr && detail.failure == FailureClass::InputLost)
    recomputation_.lose_external_datum(*external, workers_[hot.band].worker);
  const Duration delay = unreachable
                             ? backoff_after_transfers(history.transfers, timers_.rng())
                             : backoff_before(detail.failure, std::max<std::uint32_t>(history.charged + 1U, 2U));
  if (stays_unreachable) make_elsewhere(job, detail.lost_producer.value());
  if (delay > Duration{0})
    wait_before_retry(job, subtask, delay);
  else
    recomputation_.requeue(job, subtask);
}

bool Retries::ask_for_more_memory(Job& job, std::uint32_t subtask, Bytes used, SubtaskHistory& history) {
  const Template& own = job.graph.shape->template_of(subtask);
  const Bytes had = job.memory_of(subtask);
  const bool asks = own.memory_max > had && own.retryable && !job.status.cancelling &&
                    (job.hot[subtask].flags & SubtaskFlag::kCancelAsked) == 0;
  if (!asks) return false;
  Bytes wanted = had * 2;
  while (wanted <= used && wanted < own.memory_max) wanted = wanted * 2;
  Bytes there_is;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.draining || !view_.may_use(job, BandSlot{i})) continue;
    if (eligibility_.is_eligible(own, band) && eligibility_.knows_larger(band))
      there_is = std::max(there_is, Eligibility::memory_limit_of(band));
  }
  const LargerTemplate larger{job.graph.shape->template_index(subtask), std::min({wanted, own.memory_max, there_is})};
  if (larger.memory <= had) return false;
  const auto number =
      static_cast<std::uint32_t>(job.graph.shape->graph().templates.size() + job.graph.larger_templates->size());
  const auto [known, is_new] = job.graph.larger_numbers.edit().try_emplace(larger, TemplateIndex{number});
  if (is_new) job.graph.larger_templates.edit().push_back(larger);
  if (is_new && job.shares != nullptr) units_.measure_requests(job);  // Quotas count it.
  history.larger = known->second;
  return true;
}

bool Retries::may_retry(Job& job, std::uint32_t subtask, const SubtaskHistory& history, FailureClass failure) const {
  const Template& wanted = job.graph.shape->template_of(subtask);
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

void Retries::wait_before_retry(Job& job, std::uint32_t subtask, Duration delay) {
  recomputation_.requeue(job, subtask);
  const SubtaskHot& hot = job.hot[subtask];
  if (hot.phase != SubtaskPhase::Placeable) return;  // The subtask waits for an input anyway, or was cancelled.
  machine_.transition(job, subtask, SubtaskPhase::Backoff);
  timers_.add(RetryTimer{later(event_.now, delay), job.id, subtask, hot.attempt});
}

void Retries::run_timers() {
  while (const std::optional<RetryTimer> timer = timers_.take_due(event_.now)) {
    if (!jobs_.knows(timer->job) || jobs_[timer->job].status.state != JobState::Running) continue;
    Job& job = jobs_[timer->job];
    const SubtaskHot& hot = job.hot[timer->subtask];
    if (hot.phase != SubtaskPhase::Backoff || hot.attempt != timer->attempt) continue;
    if (hot.unplaced == 0)
      placer_.become_placeable(job, timer->subtask);
    else
      machine_.transition(job, timer->subtask, SubtaskPhase::Waiting);
  }
}

void Retries::make_elsewhere(Job& job, std::uint32_t producer) {
  if (producer >= job.total()) return;
  const SubtaskHot& made = job.hot[producer];
  const bool there = made.phase == SubtaskPhase::Succeeded && job.data.in_use() && !job.data.gone(producer);
  if (!there || !job.graph.shape->template_of(producer).retryable) return;
  const WorkerSlot holder = workers_[made.band].worker;
  bool elsewhere = false;
  for (std::uint32_t i = 0; i < workers_.band_slots() && !elsewhere; ++i)
    elsewhere = workers_[BandSlot{i}].alive && workers_[BandSlot{i}].worker != holder &&
                placer_.may_run_on(job, producer, BandSlot{i});
  if (!elsewhere) return;
  PENSTOCK_COVERAGE_MARK("an unreachable input was made again elsewhere");
  job.hot[producer].flags |= SubtaskFlag::kTroubled;
  rule_out_worker(job.extras.histories.edit()[SubtaskIndex{producer}], workers_, holder);
  data_.drop(job, producer, true);
}

}  // namespace penstock::supervisor
