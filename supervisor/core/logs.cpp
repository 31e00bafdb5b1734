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

void SupervisorCore::answer_question(const Question& question, const std::string& state, const std::string& reason) {
  Value::Record fields = *question.answer.record();
  if (const Value::List* parts = question.answer["logs"].list(); parts != nullptr) {
    // Each worker was asked. What they say gathers in the first question of the request that is still open.
    Value::List logs = *parts;
    if (std::string log = lines_of(reason, *question.answer["only"].text()); !log.empty() && state != "lost")
      logs.emplace_back(Value::Record{{"worker", workers_[workers_.find(question.worker)].description.name},
                                      {"log", std::move(log)}});
    const auto open = std::find_if(questions_.begin(), questions_.end(), [&](const Question& other) {
      return other.client == question.client && other.request == question.request && other.number != question.number;
    });
    if (open != questions_.end()) {
      const Value::List gathered = *open->answer["logs"].list();
      logs.insert(logs.end(), gathered.begin(), gathered.end());
      open->answer =
          Value::Record{{"job", question.answer["job"]}, {"logs", std::move(logs)}, {"only", question.answer["only"]}};
      return;
    }
    fields = Value::Record{{"job", question.answer["job"]}, {"logs", ends_of(std::move(logs), config_.log_answer_bytes_max)}};
  } else {
    fields.emplace_back("worker_state", state);
    if (!reason.empty()) fields.emplace_back("worker_reason", reason);
  }
  AdminAnswer reply;
  reply.request = question.request;
  reply.value = Value{std::move(fields)};
  send_to_client(question.client, std::move(reply));
}

}  // namespace penstock::supervisor
