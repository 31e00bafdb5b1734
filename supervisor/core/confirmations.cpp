// SupervisorCore: answers to cancels that wait until workers have carried them out. A worker starts cached successors by
// itself, also while the supervisor is away: only what it has said shows that it starts nothing more.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// Asks each worker that may hold something of the job; the answer leaves with the last of theirs. A worker that is lost
/// first, or does not come back after a restart, is named in it: what it began by itself counts for nothing, but runs.
/// False: there is nobody to wait for.
bool SupervisorCore::await_confirmations(ClientId client, const AdminRequest& request, const Value& answer) {
  const std::string* name = answer["job"].text();
  const Job* job = name == nullptr ? nullptr : find_job(job_selector_of(*name));
  if (job == nullptr) return false;
  if (job->held) {
    // Workers of before the restart are told when they are back, and asked then.
    questions_.push_back({next_question_++, WorkerId::none(), client, request.request, answer, Asked::Confirmed, job->id});
    return true;
  }
  return ask_for_confirmations(*job, client, request.request, answer);
}

bool SupervisorCore::ask_for_confirmations(const Job& job, ClientId client, std::uint64_t request,
                                           const Value& answer) {
  bool any = false;
  for (const WorkerId worker : job.known_workers) {
    const WorkerSlot slot = workers_.find(worker);
    if (!slot.valid()) continue;
    const std::uint64_t number = next_question_++;
    questions_.push_back({number, worker, client, request, answer, Asked::Confirmed, job.id});
    tell(slot, ExplainQuestion{number, {job.id, SubtaskIndex{0}}});
    any = true;
  }
  return any;
}

/// The workers of before the restart are back, or have had their time; cancels of the job have just been told.
void SupervisorCore::ask_who_came_back(const Job& job) {
  const auto waiting = std::stable_partition(questions_.begin(), questions_.end(), [&](const Question& question) {
    return question.worker.valid() || question.job != job.id;
  });
  std::vector<Question> theirs{std::make_move_iterator(waiting), std::make_move_iterator(questions_.end())};
  questions_.erase(waiting, questions_.end());
  std::vector<std::string> absent;
  for (const record::WorkerJoined& worker : expected_) absent.push_back(worker.name);
  for (Question& question : theirs) {
    PENSTOCK_COVERAGE_MARK("a cancel waited for workers of before a restart to confirm it");
    ask_for_confirmations(job, question.client, question.request, question.answer);
    confirmed(std::move(question), absent);
  }
}

/// A worker has confirmed it, or some will not. What is known gathers in the first question that is open.
void SupervisorCore::confirmed(Question question, const std::vector<std::string>& unconfirmed) {
  if (!unconfirmed.empty()) PENSTOCK_COVERAGE_MARK("a cancel was not confirmed by a worker");
  question.unconfirmed.insert(question.unconfirmed.end(), unconfirmed.begin(), unconfirmed.end());
  const auto open = std::find_if(questions_.begin(), questions_.end(), [&](const Question& other) {
    return other.asked == Asked::Confirmed && other.client == question.client && other.request == question.request;
  });
  if (open != questions_.end()) {
    open->unconfirmed.insert(open->unconfirmed.end(), question.unconfirmed.begin(), question.unconfirmed.end());
    return;
  }
  Value::Record fields = *question.answer.record();
  Value::List names;
  for (std::string& name : question.unconfirmed) names.emplace_back(std::move(name));
  if (!names.empty()) fields.emplace_back("unconfirmed", std::move(names));
  supervisor_action::SendToClient word{question.client, AdminAnswer{question.request, Value{std::move(fields)}, {}}};
  // The order may not be on the disk yet.
  if (durable() && issued_ > persisted_)
    held_.push_back(Held{issued_, std::move(word)});
  else
    out_->add(std::move(word));
}

}  // namespace penstock::supervisor
