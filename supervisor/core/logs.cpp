// SupervisorCore: what workers say to operators; logs, of which every worker has a part, are gathered.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// The lines that begin with `prefix`, and what is said about dropped ones.
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

/// In the order of the workers' names. An answer is one frame: with more than `bytes_max` each tells the end of its log.
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

// The question that this worker was asked under that number; it is open no longer.
std::optional<Question> SupervisorCore::take_question(WorkerSlot slot, std::uint64_t number) {
  const auto found = std::find_if(questions_.begin(), questions_.end(), [&](const Question& question) {
    return question.number == number && question.worker == workers_[slot].id;
  });
  if (found == questions_.end()) return {};
  std::optional<Question> taken{std::move(*found)};
  questions_.erase(found);
  return taken;
}

void SupervisorCore::receive(WorkerSlot slot, const ExplainAnswer& message) {
  std::optional<Question> question = take_question(slot, message.question);
  if (!question) return;
  if (question->asked == Asked::Log) return answer_log_question(*question, message.reason);
  if (question->asked == Asked::Confirmed) return confirmed(std::move(*question), {});
  answer_question(*question, message.known ? message.state : "unknown to the worker; a report is on its way",
                  message.known ? message.reason : "");
}

void SupervisorCore::receive(WorkerSlot slot, const LogAnswer& message) {
  std::optional<Question> question = take_question(slot, message.question);
  if (question && question->asked != Asked::Log) return questions_.push_back(std::move(*question));  // This is no answer to it.
  if (question) answer_log_question(*question, message.lines);
}

void SupervisorCore::answer_for_lost(WorkerId worker, const std::string& reason) {
  const auto theirs = std::stable_partition(questions_.begin(), questions_.end(),
                                            [&](const Question& question) { return question.worker != worker; });
  std::vector<Question> lost{std::make_move_iterator(theirs), std::make_move_iterator(questions_.end())};
  questions_.erase(theirs, questions_.end());
  for (Question& question : lost) {
    if (question.asked == Asked::Log)
      answer_log_question(question, {});
    else if (question.asked == Asked::Confirmed)
      confirmed(std::move(question), {workers_[workers_.find(worker)].description.name});
    else
      answer_question(question, "lost", reason);
  }
}

void SupervisorCore::answer_question(const Question& question, const std::string& state, const std::string& reason) {
  Value::Record fields = *question.answer.record();
  fields.emplace_back("worker_state", state);
  if (!reason.empty()) fields.emplace_back("worker_reason", reason);
  send_to_client(question.client, AdminAnswer{question.request, Value{std::move(fields)}, {}});
}

// Any of the workers may have run some of it, those too that have lost its data since.
void SupervisorCore::ask_for_logs(const Job& job, const std::string& only, ClientId client, const AdminRequest& request,
                                  bool& deferred) {
  const Value nothing{Value::Record{{"job", to_string(job.id)}, {"logs", Value::List{}}, {"only", only}}};
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    const std::uint64_t number = next_question_++;
    questions_.push_back({number, worker.id, client, request.request, nothing, Asked::Log});
    deferred = true;
    if (worker.description.log_questions) {
      tell(WorkerSlot{i}, LogQuestion{number, job.id});
    } else {
      PENSTOCK_COVERAGE_MARK("a worker of protocol 1.0 was asked for a log");
      tell(WorkerSlot{i}, ExplainQuestion{number, {job.id, SubtaskIndex::none()}});
    }
  }
}

// Each worker was asked. What they say gathers in the first question of the request that is still open.
void SupervisorCore::answer_log_question(const Question& question, const std::string& log) {
  Value::List logs = *question.answer["logs"].list();
  if (std::string lines = lines_of(log, *question.answer["only"].text()); !lines.empty())
    logs.emplace_back(Value::Record{{"worker", workers_[workers_.find(question.worker)].description.name},
                                    {"log", std::move(lines)}});
  const auto open = std::find_if(questions_.begin(), questions_.end(), [&](const Question& other) {
    return other.client == question.client && other.request == question.request;
  });
  Value::Record fields{{"job", question.answer["job"]}};
  if (open != questions_.end()) {
    const Value::List gathered = *open->answer["logs"].list();
    logs.insert(logs.end(), gathered.begin(), gathered.end());
    fields.emplace_back("logs", std::move(logs));
    fields.emplace_back("only", question.answer["only"]);
    open->answer = Value{std::move(fields)};
    return;
  }
  fields.emplace_back("logs", ends_of(std::move(logs), config_.log_answer_bytes_max));
  send_to_client(question.client, AdminAnswer{question.request, Value{std::move(fields)}, {}});
}

}  // namespace penstock::supervisor
