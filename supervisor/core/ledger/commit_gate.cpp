#include "supervisor/core/ledger/commit_gate.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/check.hpp"

namespace penstock::supervisor {

void CommitGate::write_progress(record::SubtasksEnded progress) {
  write(std::move(progress));
  has_progress_ = true;
}

// Spec: design 4, accepted means durable.
void CommitGate::defer(SupervisorAction action) {
  if (durable())
    actions_.push_back(std::move(action));
  else
    event_.out->add(std::move(action));
}

void CommitGate::defer_until_written(SupervisorAction action) {
  if (issued_ > persisted_)
    deferred_.push_back({issued_, std::move(action)});
  else
    event_.out->add(std::move(action));
}

bool CommitGate::must_wait(const SupervisorAction& action) const {
  const auto* word = std::get_if<supervisor_action::SendToClient>(&action);
  if (word == nullptr) return true;
  if (const auto* reply = std::get_if<SubmitReply>(&word->message)) return reply->job.valid();
  if (std::holds_alternative<AdminAnswer>(word->message)) return !records_.empty() && !trouble_.has_value();
  return true;
}

void CommitGate::commit(bool job_is_active) {
  if (!durable()) return;
  if (!records_.empty() || job_is_active) {
    records_.insert(records_.begin(), std::make_move_iterator(with_next_.begin()),
                    std::make_move_iterator(with_next_.end()));
    with_next_.clear();
  }
  if (!records_.empty()) {
    ++issued_;
    if (has_progress_) progress_ticket_ = issued_;
  }
  for (SupervisorAction& action : actions_) {
    if (issued_ <= persisted_ || !must_wait(action))
      event_.out->add(std::move(action));
    else
      deferred_.push_back({issued_, std::move(action)});
  }
  actions_.clear();
  if (!records_.empty()) event_.out->add(supervisor_action::Persist{std::exchange(records_, {}), issued_});
  has_progress_ = false;
}

bool CommitGate::persisted(std::uint64_t ticket) {
  persisted_ = std::max(persisted_, std::min(ticket, issued_));
  for (; !deferred_.empty() && deferred_.front().ticket <= persisted_; deferred_.pop_front())
    event_.out->add(std::move(deferred_.front().action));
  return std::exchange(trouble_, std::nullopt).has_value();
}

bool CommitGate::fail(Error why) {
  const bool known = trouble_.has_value();
  trouble_ = std::move(why);
  return !known;
}

std::optional<SupervisorAction> CommitGate::refusal_of(const SupervisorAction& action, JobId job) const {
  const auto* word = std::get_if<supervisor_action::SendToClient>(&action);
  if (word == nullptr) return {};
  if (const auto* reply = std::get_if<SubmitReply>(&word->message); reply != nullptr && reply->job == job)
    return supervisor_action::SendToClient{word->client,
                                           SubmitReply{reply->submission, JobId::none(), false, *trouble_}};
  if (const auto* reply = std::get_if<AttachReply>(&word->message); reply != nullptr && reply->job == job)
    return supervisor_action::SendToClient{word->client, AttachReply{reply->request, JobId::none(), 0, *trouble_}};
  // Of an order that has made the job.
  if (const auto* answer = std::get_if<AdminAnswer>(&word->message); answer != nullptr)
    if (const std::string* made = answer->value["job"].text(); made != nullptr && *made == to_string(job))
      return supervisor_action::SendToClient{word->client, AdminAnswer{answer->request, Value{}, *trouble_}};
  return {};
}

void CommitGate::withdraw(JobId job) {
  PENSTOCK_CHECK(trouble_.has_value());
  std::erase_if(deferred_, [&](const Deferred& deferred) {
    if (std::optional<SupervisorAction> refusal = refusal_of(deferred.action, job)) {
      event_.out->add(std::move(*refusal));
      return true;
    }
    const auto* word = std::get_if<supervisor_action::SendToClient>(&deferred.action);
    const auto* progress = word == nullptr ? nullptr : std::get_if<JobProgress>(&word->message);
    return progress != nullptr && progress->job == job;
  });
}

}  // namespace penstock::supervisor
