#include "supervisor/actors/job_log.hpp"

#include <string_view>
#include <variant>

#include "common/host/log.hpp"

namespace penstock::supervisor {
namespace {

/// In quotation marks; users choose what is in them, and must not write further fields or lines.
std::string quoted(std::string_view text) {
  std::string all = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') all += '\\';
    all += each == '\n' || each == '\r' ? ' ' : each;
  }
  return all + '"';
}

std::string name_and_owner(const JobSpec& spec) { return " name=" + quoted(spec.name) + " owner=" + spec.owner; }

std::string seconds_text(std::int64_t from_ms, std::int64_t until_ms) {
  const std::int64_t ms = until_ms > from_ms ? until_ms - from_ms : 0;
  return std::to_string(ms / 1000) + "." + std::to_string(1000 + ms % 1000).substr(1);
}

}  // namespace

std::string cause_of(const JobProgress& end) {
  if (end.failures.empty()) return end.error.message.empty() ? "" : to_string(end.error);
  const SubtaskFailure& first = end.failures.front();
  std::string text =
      first.name + " failed for good: " + std::string{to_string(first.last.failure)} + ": " + first.last.message;
  const std::uint64_t others = end.counts.failed > 1 ? end.counts.failed - 1 : 0;
  return others == 0 ? text : text + "; and " + std::to_string(others) + " more";
}

void JobLog::recovered(const RecoveredState& state) {
  for (const RecoveredJob& job : state.jobs)
    if (!job.is_over) running_.insert(job.id);
}

void JobLog::note(const Record& record) {
  if (const auto* accepted = std::get_if<record::JobAccepted>(&record)) note(*accepted);
  if (const auto* ended = std::get_if<record::JobEnded>(&record)) note(*ended);
}

void JobLog::note(const record::JobAccepted& accepted) {
  running_.insert(accepted.job);
  log_line(LogLevel::Info, "job accepted", "job=" + to_string(accepted.job) + name_and_owner(accepted.spec));
}

void JobLog::note(const record::JobEnded& ended) {
  if (running_.erase(ended.job) == 0) return;
  const JobProgress& end = ended.everything;
  std::string fields = "job=" + to_string(ended.job) + name_and_owner(ended.spec) +
                       " state=" + std::string{to_string(end.state)} + " subtasks=" + std::to_string(end.counts.total) +
                       " seconds=" + seconds_text(ended.submitted_ms, ended.ended_ms);
  if (const std::string cause = cause_of(end); !cause.empty()) fields += " cause=" + quoted(cause);
  log_line(end.state == JobState::Failed ? LogLevel::Warn : LogLevel::Info, "job ended", fields);
}

}  // namespace penstock::supervisor
