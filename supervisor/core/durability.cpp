// SupervisorCore: what is written down, and what waits until it is.
#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

// Spec: design 4, accepted means durable: the action leaves when all that this event writes is on the disk.
void SupervisorCore::promise(SupervisorAction action) {
  if (durable())
    promises_.push_back(std::move(action));
  else
    out_->add(std::move(action));
}

/// Whether an action says something that a crash must not take back. Refusals change nothing, and answers to questions
/// only tell what is; those must come also while the disk is in trouble.
bool SupervisorCore::binds(const SupervisorAction& action) const {
  const auto* word = std::get_if<supervisor_action::SendToClient>(&action);
  if (word == nullptr) return true;
  if (const auto* reply = std::get_if<SubmitReply>(&word->message)) return reply->job.valid();
  if (std::holds_alternative<AdminAnswer>(word->message)) return !records_.empty() && !trouble_.has_value();
  return true;
}

/// News of subtasks and what is written of them leave together, and one commit of them is under way at a time: a slow
/// disk makes larger batches, not longer lines.
bool SupervisorCore::news_must_wait() {
  if (news_ticket_ > persisted_) return true;
  indices_.news_due = kNever;
  for (const JobId id : indices_.with_news) {
    if (!knows(id)) continue;
    if (news_are_due(*jobs_[id.value()])) return false;
    indices_.news_due = std::min(indices_.news_due, next_news_of(*jobs_[id.value()]));
  }
  return true;
}

void SupervisorCore::record_news(Job& job) {
  record::SubtasksEnded ended{job.id,
                              job.counts,
                              job.news->succeeded,
                              job.news->cancelled,
                              job.news->failures,
                              job.news->outputs,
                              std::exchange(job.made, {}),
                              std::exchange(job.new_checkpoints, {})};
  std::erase_if(ended.checkpoints, [&](const CheckpointPlace& place) {
    const Incarnation* writer = job.data.checkpoint(place.producer.value());
    return writer == nullptr || *writer != place.writer;  // It was dropped, or made again meanwhile.
  });
  if (job.state != JobState::Running) return;  // The record of its end says it all.
  const bool nothing = ended.succeeded.empty() && ended.cancelled.empty() && ended.failures.empty() &&
                       ended.outputs.empty() && ended.made.empty() && ended.checkpoints.empty();
  if (nothing) return;
  records_.push_back(std::move(ended));
  records_have_news_ = true;
}

void SupervisorCore::record_change(const Job& job) {
  policy_.agenda.look_at(job.id);  // Whoever has changed it wants to see what follows.
  if (!durable()) return;
  records_.push_back(record::JobChanged{
      job.id, job.spec.priority, job.cancelling, *job.error, true, job.spec.policy.weight, job.spec.policy.slots_max,
      job.shares == nullptr ? 0 : job.shares->position, job.spec.policy.qos, job.spec.policy.queue, job.on_hold,
      job.shares == nullptr ? "" : *job.shares->pool_kept, job.release_when_returned,
      job.shares == nullptr ? 0 : job.shares->preemptions, job.spec.policy.user_factor, job.scale.code()});
}

void SupervisorCore::record_change(const Job& job, std::uint32_t subtask) {
  if (!durable()) return;
  const SubtaskIndex index{subtask};
  record::SubtaskChanged changed;
  changed.job = job.id;
  changed.subtask = index;
  if (const SubtaskHistory* history = job.histories->find(index)) {
    changed.attempt = history->last_attempt;
    changed.charged = history->charged;
    changed.lost_workers = history->lost_workers;
    changed.failures = history->failures;
    changed.lines = history->lines;
  }
  if (const std::int32_t* priority = job.priority_changes->find(index)) changed.priority = *priority;
  changed.cancelled = job.cancel_orders->contains(index);
  records_.push_back(std::move(changed));
}

void SupervisorCore::record_end(const Job& job) {
  if (!durable()) return;
  record::JobEnded over{job.id,
                        job.spec,
                        everything_so_far(job),
                        unix_ms(job.submitted),
                        unix_ms(job.ended),
                        {},
                        job.release_when_returned};
  over.scale = job.scale.code();
  over.identity = job.identity;
  over.keys = kept_keys_of(job);
  for (const OutputLocation& output : job.outputs)
    if (const Incarnation* writer = job.data.checkpoint(output.producer.value()))
      over.checkpoints.push_back({output.producer, *writer});
  records_.push_back(std::move(over));
}

// Workers may forget what they reported only when it is on the disk; until then they are the ones who can say it again.
void SupervisorCore::acknowledge_reports() {
  if (!indices_.with_news.empty()) return;
  for (const WorkerSlot slot : std::exchange(owed_applied_, {})) {
    WorkerEntry& worker = workers_[slot];
    if (!std::exchange(worker.owed_applied, false) || !worker.alive) continue;
    worker.reports_applied_sent = worker.reports_received;
    promise(supervisor_action::SendToWorker{worker.id, ReportsApplied{worker.reports_received}});
  }
}

// The last step of every event.
void SupervisorCore::issue_records() {
  acknowledge_reports();
  for (const JobId brought_by : graphs_.take_forgotten()) records_.push_back(record::GraphForgotten{brought_by});
  if (!records_.empty() || !active_.empty()) {
    records_.insert(records_.begin(), std::make_move_iterator(joined_.begin()), std::make_move_iterator(joined_.end()));
    joined_.clear();
  }
  if (!records_.empty()) {
    ++issued_;
    if (records_have_news_) news_ticket_ = issued_;
  }
  for (SupervisorAction& action : promises_) {
    if (issued_ <= persisted_ || !binds(action))
      out_->add(std::move(action));
    else
      held_.push_back(Held{issued_, std::move(action)});
  }
  promises_.clear();
  if (!records_.empty()) out_->add(supervisor_action::Persist{std::exchange(records_, {}), issued_});
  records_have_news_ = false;
}

void SupervisorCore::on(supervisor_event::Persisted& event) {
  persisted_ = std::max(persisted_, std::min(event.ticket, issued_));
  if (std::exchange(trouble_, std::nullopt).has_value()) note_trouble("promise again", "what had waited is written");
  for (; !held_.empty() && held_.front().ticket <= persisted_; held_.pop_front())
    out_->add(std::move(held_.front().action));
  std::size_t written = 0;
  for (; written < accepting_.size() && accepting_[written].ticket <= persisted_; ++written) {
    const JobId id = accepting_[written].job;
    if (!knows(id)) continue;
    Job& job = *jobs_[id.value()];
    job.waiting_for_disk = false;
    policy_changed();
    // It may have been cancelled in the meantime.
    if (job.state == JobState::Running && !job.cancelling) place_sources(job);
  }
  accepting_.erase(accepting_.begin(), accepting_.begin() + static_cast<std::ptrdiff_t>(written));
  for (; !being_written_.empty() && being_written_.front().ticket <= persisted_; being_written_.pop_front())
    graphs_.leave(*being_written_.front().graph);
  for (; !losses_.empty() && losses_.front().ticket <= persisted_; losses_.pop_front())
    if (const WorkerSlot slot = workers_.find(losses_.front().worker); slot.valid())
      lose_worker(slot, losses_.front().reason);
  if (reclaim_end_.ticket && *reclaim_end_.ticket <= persisted_) end_reclaiming();
}

// Faults F11, F12: nothing more is promised; what runs goes on, and its news wait.
void SupervisorCore::on(supervisor_event::StorageFailed& event) {
  if (!trouble_.has_value()) {
    out_->add(supervisor_action::Alert{event.error});
    note_trouble("promise nothing", to_string(event.error));
  }
  trouble_ = std::move(event.error);
  for (const Acceptance& acceptance : std::exchange(accepting_, {})) withdraw(acceptance.job);
}

/// A job whose acceptance could not be written, and was told to nobody, never was.
void SupervisorCore::withdraw(JobId id) {
  if (!knows(id)) return;
  Job& job = *jobs_[id.value()];
  job.waiting_for_disk = false;
  if (job.state != JobState::Running || job.cancelling) return;  // Its end is being written behind it.
  PENSTOCK_COVERAGE_MARK("an acceptance could not be written");
  ++counters_.jobs_refused;
  std::erase_if(held_, [&](Held& held) {
    auto* word = std::get_if<supervisor_action::SendToClient>(&held.action);
    if (word == nullptr) return false;
    if (auto* reply = std::get_if<SubmitReply>(&word->message); reply != nullptr && reply->job == id) {
      out_->add(supervisor_action::SendToClient{word->client,
                                                SubmitReply{reply->submission, JobId::none(), false, *trouble_}});
      return true;
    }
    if (auto* reply = std::get_if<AttachReply>(&word->message); reply != nullptr && reply->job == id) {
      out_->add(
          supervisor_action::SendToClient{word->client, AttachReply{reply->request, JobId::none(), 0, *trouble_}});
      return true;
    }
    const auto* progress = std::get_if<JobProgress>(&word->message);
    return progress != nullptr && progress->job == id;
  });
  active_.erase(id, job.spec.priority);
  leave_policy(job);
  if (active_.empty()) watch_at_ = kNever;
  forget_name(job);
  return_loans(job);
  leave_graph(job);
  erase_job(job);
  // Should the disk come back, both are written together, and nothing remains.
  records_.push_back(record::JobForgotten{id});
}

}  // namespace penstock::supervisor
