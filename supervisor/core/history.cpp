// SupervisorCore: jobs that have ended, for as long as they can be asked about, and the list of all jobs.
#include <algorithm>
#include <optional>

#include "common/base/pattern.hpp"
#include "common/base/quantity.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// The jobs that a question selects.
struct JobFilter {
  bool ended = false;  ///< Ended jobs, too.
  bool running = true;
  std::optional<JobState> state;
  std::string name;                  ///< A pattern; empty: any.
  std::string owner;                 ///< Empty: any.
  Duration since = Duration::max();  ///< Running, or ended not longer ago than this.
  std::uint32_t limit = 0xffffffffU;
};

Result<JobState> parse_state(const std::string& text) {
  for (const JobState state : {JobState::Running, JobState::Succeeded, JobState::Failed, JobState::Cancelled})
    if (text == to_string(state)) return state;
  return bad_argument("--state", "'" + text + "' is none of running, succeeded, failed, cancelled");
}

Result<JobFilter> parse_filter(const AdminRequest& request) {
  JobFilter filter;
  filter.ended = has_flag(request, "all");
  filter.name = option(request, "name");
  filter.owner = option(request, "owner");
  if (const std::string text = option(request, "state"); !text.empty()) {
    const Result<JobState> state = parse_state(text);
    if (!state) return state.error();
    filter.state = *state;
    filter.running = *state == JobState::Running;
    filter.ended = !filter.running;
  }
  if (const std::string text = option(request, "since"); !text.empty()) {
    const Result<Duration> since = parse_duration(text);
    if (!since) return since.error();
    filter.since = *since;
  }
  if (const std::string text = option(request, "limit"); !text.empty() && !parse(text, filter.limit))
    return bad_argument("--limit", "'" + text + "' is no number of jobs");
  return filter;
}

bool fits(const JobFilter& filter, const Job& job) {
  if (filter.state.has_value() && job.state != *filter.state) return false;
  if (!filter.owner.empty() && job.spec.owner != filter.owner) return false;
  return filter.name.empty() || matches(filter.name, job.spec.name);
}

}  // namespace

void SupervisorCore::forget_old_jobs() {
  while (const Job* next = ended_.due(event_.now)) {
    Job& oldest = jobs_[next->id];
    const JobId id = oldest.id;
    release_job(oldest);
    jobs_.remove_name(oldest);
    ended_.remove(oldest);
    erase_job(oldest);
    gate_.write(record::JobForgotten{id});
  }
}

// The head of every answer about a job.
Value::Record SupervisorCore::first_fields(const Job& job) const {
  return {{"id", to_string(job.id)},
          {"name", job.spec.name},
          {"owner", job.spec.owner},
          {"state", std::string{to_string(job.state)}},
          {"priority", job.scale.written(job.spec.priority)},
          {"subtasks", job.counts.total},
          {"succeeded", job.counts.succeeded},
          {"failed", job.counts.failed},
          {"cancelled", job.counts.cancelled},
          {"assigned", job.in_flight}};
}

Value SupervisorCore::describe_row(const Job& job, bool with_end) const {
  Value::Record row = first_fields(job);
  row.emplace_back("age_s", seconds(event_.now - job.submitted));
  if (with_end) {
    row.emplace_back().first = "ended_ago_s";  // In place: gcc 12 warns of a moved empty value.
    if (job.ended != kNever) row.back().second = seconds(event_.now - job.ended);
  }
  return row;
}

/// Running jobs, best first; then those that have ended, the last one first.
Result<Value> SupervisorCore::list_jobs(const AdminRequest& request) const {
  const Result<JobFilter> filter = parse_filter(request);
  if (!filter) return filter.error();
  Value::List rows;
  for (const JobId id : indices_.active) {
    if (!filter->running || rows.size() >= filter->limit) break;
    if (fits(*filter, jobs_[id])) rows.push_back(describe_row(jobs_[id], filter->ended));
  }
  if (!filter->ended) return Value{std::move(rows)};
  for (auto id = ended_.in_order().rbegin(); id != ended_.in_order().rend() && rows.size() < filter->limit; ++id) {
    const Job& job = jobs_[*id];
    if (event_.now - job.ended > filter->since) break;  // The list is in the order of the ends.
    if (fits(*filter, job)) rows.push_back(describe_row(job, true));
  }
  return Value{std::move(rows)};
}

}  // namespace penstock::supervisor
