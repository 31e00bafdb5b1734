#include "cli/show/job_report.hpp"

#include "cli/jobfile/field_reader.hpp"
#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Value describe_failure(const SubtaskFailure& failure) {
  Value::List history;
  for (const std::string& line : failure.history) history.emplace_back(line);
  return Value::Record{{"subtask", failure.subtask.value()},
                       {"key", failure.name},
                       {"class", std::string{to_string(failure.last.failure)}},
                       {"message", failure.last.message},
                       {"exit_code", failure.last.exit_code},
                       {"signal", failure.last.signal},
                       {"output_tail", failure.last.output_tail},
                       {"history", std::move(history)}};
}

}  // namespace

Value describe_end(const client::JobView& view, Duration makespan, const std::optional<ScheduleBounds>& bounds) {
  const JobCounts& counts = view.counts;
  Value::Record fields{{"job", to_string(view.id)},
                       {"state", std::string{to_string(view.state)}},
                       {"subtasks", counts.total},
                       {"succeeded", counts.succeeded},
                       {"failed", counts.failed},
                       {"cancelled", counts.cancelled},
                       {"attempts", counts.attempts},
                       {"forward_hits", counts.forward_hits},
                       {"forward_misses", counts.forward_misses},
                       {"makespan_s", seconds(makespan)},
                       {"work_s", static_cast<double>(counts.run_us) / 1e6}};
  if (bounds) {
    fields.emplace_back("critical_path_s", seconds(bounds->critical_path));
    fields.emplace_back("lower_bound_s", seconds(bounds->lower_bound));
    fields.emplace_back("list_schedule_s", seconds(bounds->list_schedule));
  }
  if (!view.error.message.empty()) fields.emplace_back("error", to_string(view.error));
  if (!view.failures.empty()) {
    Value::List failures;
    for (const SubtaskFailure& failure : view.failures) failures.push_back(describe_failure(failure));
    fields.emplace_back("failures", std::move(failures));
  }
  return fields;
}

Value without_failures(const Value& end) {
  Value::Record fields;
  if (end.record() != nullptr)
    for (const auto& [name, field] : *end.record())
      if (name != "failures" && name != "error") fields.emplace_back(name, field);
  return fields;
}

std::string describe_failures(const client::JobView& view) {
  std::string text;
  for (const SubtaskFailure& failure : view.failures) {
    const std::string key =
        failure.name.empty() ? "subtask " + std::to_string(failure.subtask.value()) : in_quotes(failure.name);
    text += "failed: " + key + ": " + harmless(failure.last.message) + "\n";
    for (const std::string& line : failure.history) text += "    " + harmless(line) + "\n";
    if (failure.last.output_tail.empty()) continue;
    text += "    the end of its output:\n";
    std::size_t begin = 0;
    while (begin < failure.last.output_tail.size()) {
      const std::size_t end = std::min(failure.last.output_tail.find('\n', begin), failure.last.output_tail.size());
      text += "    | " + harmless(failure.last.output_tail.substr(begin, end - begin), "\t") + "\n";
      begin = end + 1;
    }
  }
  if (!view.error.message.empty()) text += harmless(to_string(view.error)) + "\n";
  return text;
}

}  // namespace penstock::cli
