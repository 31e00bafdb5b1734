#include "supervisor/core/admin/worker_questions.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "common/base/coverage_mark.hpp"

namespace penstock::supervisor {
namespace {

/// The lines that begin with `prefix`, and the notes about dropped lines.
std::string lines_of(const std::string& log, const std::string& prefix) {
  if (prefix.empty()) return log;
  std::string kept;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size() - 1) + 1;
    const std::string_view line = std::string_view{log}.substr(at, end - at);
    if (line.starts_with(prefix) || line.starts_with("... ")) kept += line;
    at = end;
  }
  return kept;
}

/// Sorts logs by the names of the workers. An answer is one frame: beyond `bytes_max` each entry has only the end of
/// its log.
Value::List ends_of(Value::List logs, Bytes bytes_max) {
  std::stable_sort(logs.begin(), logs.end(),
                   [](const Value& a, const Value& b) { return *a["worker"].text() < *b["worker"].text(); });
  for (Value& entry : logs) {
    const std::string& log = *entry["log"].text();
    const std::size_t each = static_cast<std::size_t>(bytes_max.value()) / logs.size();
    if (log.size() <= each) continue;
    PENSTOCK_COVERAGE_MARK("a log was cut to its part of the answer");
    entry = Value::Record{{"worker", entry["worker"]},
                          {"log", "... earlier lines were left out\n" + log.substr(log.size() - each)}};
  }
  return logs;
}

}  // namespace

void WorkerQuestions::ask_for_explanation(WorkerSlot worker, const SubtaskId& subtask, Asker asker, Value answer) {
  const std::uint64_t number = next_number_++;
  open_.push_back({number, workers_[worker].id, asker, std::move(answer)});
  mail_.tell(worker, ExplainQuestion{number, subtask});
}

bool WorkerQuestions::ask_for_logs(JobId job, const std::string& only, Asker asker) {
  const Value nothing{Value::Record{{"job", to_string(job)}, {"logs", Value::List{}}, {"only", only}}};
  bool any = false;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    const std::uint64_t number = next_number_++;
    open_.push_back({number, worker.id, asker, nothing, Kind::Log});
    any = true;
    if (worker.description.log_questions) {
      mail_.tell(WorkerSlot{i}, LogQuestion{number, job});
    } else {
      PENSTOCK_COVERAGE_MARK("a worker of protocol 1.0 was asked for a log");
      mail_.tell(WorkerSlot{i}, ExplainQuestion{number, {job, SubtaskIndex::none()}});
    }
  }
  return any;
}

bool WorkerQuestions::ask_for_confirmations(JobId job, std::span<const WorkerId> workers, Asker asker,
                                            const Value& answer) {
  bool any = false;
  for (const WorkerId worker : workers) {
    const WorkerSlot slot = workers_.find(worker);
    if (!slot.valid()) continue;
    const std::uint64_t number = next_number_++;
    open_.push_back({number, worker, asker, answer, Kind::Confirmation, job});
    mail_.tell(slot, ExplainQuestion{number, {job, SubtaskIndex{0}}});
    any = true;
  }
  return any;
}

void WorkerQuestions::ask_for_confirmations_later(JobId job, Asker asker, const Value& answer) {
  open_.push_back({next_number_++, WorkerId::none(), asker, answer, Kind::Confirmation, job});
}

void WorkerQuestions::workers_are_back(JobId job, std::span<const WorkerId> workers,
                                       const std::vector<std::string>& absent) {
  for (Question& question : take_all([&](const Question& each) { return !each.worker.valid() && each.job == job; })) {
    PENSTOCK_COVERAGE_MARK("a cancel waited for workers of before a restart to confirm it");
    ask_for_confirmations(job, workers, question.asker, question.answer);
    answer_confirmation(std::move(question), absent);
  }
}

void WorkerQuestions::answered(WorkerSlot worker, const ExplainAnswer& message) {
  std::optional<Question> question = take(worker, message.question);
  if (!question) return;
  switch (question->kind) {
    case Kind::Log: return answer_log(*question, message.reason);
    case Kind::Confirmation: return answer_confirmation(std::move(*question), {});
    case Kind::Explanation:
      return answer_explanation(*question,
                                message.known ? message.state : "unknown to the worker; a report is on its way",
                                message.known ? message.reason : "");
  }
}

void WorkerQuestions::answered(WorkerSlot worker, const LogAnswer& message) {
  std::optional<Question> question = take(worker, message.question);
  if (!question) return;
  if (question->kind != Kind::Log) return open_.push_back(std::move(*question));  // The message does not answer it.
  answer_log(*question, message.lines);
}

void WorkerQuestions::worker_lost(WorkerId worker, const std::string& reason) {
  for (Question& question : take_all([worker](const Question& each) { return each.worker == worker; })) {
    switch (question.kind) {
      case Kind::Log: answer_log(question, {}); break;
      case Kind::Confirmation: answer_confirmation(std::move(question), {name_of(worker)}); break;
      case Kind::Explanation: answer_explanation(question, "lost", reason); break;
    }
  }
}

void WorkerQuestions::client_gone(ClientId client) {
  std::erase_if(open_, [client](const Question& question) { return question.asker.client == client; });
}

std::optional<WorkerQuestions::Question> WorkerQuestions::take(WorkerSlot worker, std::uint64_t number) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Question& question) {
    return question.number == number && question.worker == workers_[worker].id;
  });
  if (found == open_.end()) return {};
  std::optional<Question> taken{std::move(*found)};
  open_.erase(found);
  return taken;
}

template <class Wanted>
std::vector<WorkerQuestions::Question> WorkerQuestions::take_all(Wanted wanted) {
  const auto theirs = std::stable_partition(open_.begin(), open_.end(), std::not_fn(wanted));
  std::vector<Question> taken{std::make_move_iterator(theirs), std::make_move_iterator(open_.end())};
  open_.erase(theirs, open_.end());
  return taken;
}

WorkerQuestions::Question* WorkerQuestions::gatherer(const Question& question) {
  const auto open = std::find_if(open_.begin(), open_.end(), [&](const Question& other) {
    return other.kind == question.kind && other.asker.client == question.asker.client &&
           other.asker.request == question.asker.request;
  });
  return open == open_.end() ? nullptr : &*open;
}

void WorkerQuestions::answer_explanation(const Question& question, const std::string& state,
                                         const std::string& reason) {
  Value::Record fields = *question.answer.record();
  fields.emplace_back("worker_state", state);
  if (!reason.empty()) fields.emplace_back("worker_reason", reason);
  gate_.defer(supervisor_action::SendToClient{question.asker.client,
                                              AdminAnswer{question.asker.request, Value{std::move(fields)}, {}}});
}

void WorkerQuestions::answer_log(const Question& question, const std::string& log) {
  Value::List logs = *question.answer["logs"].list();
  if (std::string lines = lines_of(log, *question.answer["only"].text()); !lines.empty())
    logs.emplace_back(Value::Record{{"worker", name_of(question.worker)}, {"log", std::move(lines)}});
  Value::Record fields{{"job", question.answer["job"]}};
  if (Question* open = gatherer(question)) {
    const Value::List gathered = *open->answer["logs"].list();
    logs.insert(logs.end(), gathered.begin(), gathered.end());
    fields.emplace_back("logs", std::move(logs));
    fields.emplace_back("only", question.answer["only"]);
    open->answer = Value{std::move(fields)};
    return;
  }
  fields.emplace_back("logs", ends_of(std::move(logs), log_answer_bytes_max_));
  gate_.defer(supervisor_action::SendToClient{question.asker.client,
                                              AdminAnswer{question.asker.request, Value{std::move(fields)}, {}}});
}

void WorkerQuestions::answer_confirmation(Question question, const std::vector<std::string>& unconfirmed) {
  if (!unconfirmed.empty()) PENSTOCK_COVERAGE_MARK("a cancel was not confirmed by a worker");
  question.unconfirmed.insert(question.unconfirmed.end(), unconfirmed.begin(), unconfirmed.end());
  if (Question* open = gatherer(question)) {
    open->unconfirmed.insert(open->unconfirmed.end(), question.unconfirmed.begin(), question.unconfirmed.end());
    return;
  }
  Value::Record fields = *question.answer.record();
  Value::List names;
  for (std::string& name : question.unconfirmed) names.emplace_back(std::move(name));
  if (!names.empty()) fields.emplace_back("unconfirmed", std::move(names));
  // The order may not be on the disk yet.
  gate_.defer_until_written(supervisor_action::SendToClient{
      question.asker.client, AdminAnswer{question.asker.request, Value{std::move(fields)}, {}}});
}

}  // namespace penstock::supervisor
