#include "supervisor/core/admin/cluster_answers.hpp"
#include <algorithm>
#include <optional>
#include "common/base/pattern.hpp"
#include "common/base/quantity.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/driver/policy_answers.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/lookahead.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/dispatcher.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/results.hpp"
#include "common/base/utc_text.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {
namespace {

/// A word of each device, as `a,b`; said once if it is the same of all.
std::string words_of(const std::vector<DeviceDescription>& devices, std::string DeviceDescription::*word) {
  const bool same = std::all_of(devices.begin(), devices.end(),
                                [&](const DeviceDescription& each) { return each.*word == devices.front().*word; });
  std::string text;
  for (const DeviceDescription& each : devices)
    if (text.empty() || !same) text += (text.empty() ? "" : ",") + each.*word;
  return text;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

const char* state_of(const WorkerEntry& worker) {
  if (worker.suspected) return "suspected";
  if (!worker.draining) return "ready";
  return worker.drained ? "drained" : "draining";
}

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
  if (filter.state.has_value() && job.status.state != *filter.state) return false;
  if (!filter.owner.empty() && job.spec.owner != filter.owner) return false;
  return filter.name.empty() || matches(filter.name, job.spec.name);
}

Value describe_earlier(const JobRuns& runs) {
  Value::List rows;
  std::uint64_t number = runs.number - std::min<std::uint64_t>(runs.number, runs.earlier.size());
  for (const EarlierRun& run : runs.earlier)
    rows.emplace_back(Value::Record{{"run", number++},
                                    {"job", to_string(run.job)},
                                    {"state", std::string{to_string(run.state)}},
                                    {"submitted", utc_text(run.submitted_ms)},
                                    {"ended", utc_text(run.ended_ms)}});
  return rows;
}

}  // namespace

Value ClusterAnswers::describe_job(const Job& job) const {
  const Duration age = (job.status.ended == kNever ? event_.now : job.status.ended) - job.status.submitted;
  Value::Record fields = first_fields(job);
  if (job.spec.share.any()) fields.emplace_back("share", *job.spec.share);
  if (job.spec.parent.any()) {
    const ParentRun& run = *job.spec.parent;
    fields.emplace_back("parent", to_string(run.id) + ", attempt " + std::to_string(run.attempt.value()));
    fields.emplace_back("depth", run.depth);
  }
  fields.emplace_back("attempts", job.tally.counts.attempts);
  fields.emplace_back("forward_hits", job.tally.counts.forward_hits);
  fields.emplace_back("forward_misses", job.tally.counts.forward_misses);
  fields.emplace_back("work_s", static_cast<double>(job.tally.counts.run_us) / 1e6);
  fields.emplace_back("elapsed_s", seconds(age));
  if (job.spec.time_limit > Duration{0}) fields.emplace_back("time_limit_s", seconds(job.spec.time_limit));
  if (const std::optional<Duration> left = time_left_of(job, event_.now))
    fields.emplace_back("time_left_s", seconds(*left));
  if (job.outputs.kept_by_order) fields.emplace_back("kept", true);
  if (job.spec.content.valid()) fields.emplace_back("content", to_short_string(job.spec.content));
  if (job.spec.runs.any()) {
    fields.emplace_back("run", job.spec.runs->number);
    fields.emplace_back("earlier_runs", describe_earlier(*job.spec.runs));
  }
  if (!job.status.error->message.empty()) fields.emplace_back("error", to_string(*job.status.error));
  if (job.graph.shape != nullptr && job.status.state == JobState::Running) {
    std::uint64_t ready = 0;
    for (const SubtaskHot& hot : job.hot) ready += hot.phase == SubtaskPhase::Placeable && hot.missing == 0;
    fields.emplace_back("ready", ready);
    fields.emplace_back("critical_path_s", static_cast<double>(job.graph.shape->critical_path_ns()) / 1e9);
  }
  Value::List failures;
  for (const SubtaskFailure& failure : job.outbox.failures()) {
    Value::List history;
    for (const std::string& line : failure.history) history.emplace_back(line);
    failures.push_back(Value::Record{{"subtask", failure.subtask.value()},
                                     {"key", failure.name},
                                     {"class", std::string{to_string(failure.last.failure)}},
                                     {"message", failure.last.message},
                                     {"exit_code", failure.last.exit_code},
                                     {"signal", failure.last.signal},
                                     {"output_tail", failure.last.output_tail},
                                     {"history", std::move(history)}});
  }
  if (!failures.empty()) fields.emplace_back("failures", std::move(failures));
  return fields;
}

Value ClusterAnswers::describe_row(const Job& job, bool with_end) const {
  Value::Record row = first_fields(job);
  row.emplace_back("age_s", seconds(event_.now - job.status.submitted));
  if (with_end) {
    row.emplace_back().first = "ended_ago_s";  // In place: gcc 12 warns of a moved empty value.
    if (job.status.ended != kNever) row.back().second = seconds(event_.now - job.status.ended);
  }
  return row;
}

Value::Record ClusterAnswers::first_fields(const Job& job) const {
  return {{"id", to_string(job.id)},
          {"name", job.spec.name},
          {"owner", job.spec.owner},
          {"state", std::string{to_string(job.status.state)}},
          {"priority", job.scale.written(job.spec.priority)},
          {"subtasks", job.tally.counts.total},
          {"succeeded", job.tally.counts.succeeded},
          {"failed", job.tally.counts.failed},
          {"cancelled", job.tally.counts.cancelled},
          {"assigned", job.tally.in_flight}};
}

Result<Value> ClusterAnswers::list_jobs(const AdminRequest& request) const {
  const Result<JobFilter> filter = parse_filter(request);
  if (!filter) return filter.error();
  Value::List rows;
  for (const JobId id : indices_.active) {
    if (!filter->running || rows.size() >= filter->limit) break;
    if (request.viewer.sees(jobs_[id].spec) && fits(*filter, jobs_[id]))
      rows.push_back(describe_row(jobs_[id], filter->ended));
  }
  if (!filter->ended) return Value{std::move(rows)};
  const std::vector<JobId> ended = ended_.in_order();
  for (auto id = ended.rbegin(); id != ended.rend() && rows.size() < filter->limit; ++id) {
    const Job& job = jobs_[*id];
    if (event_.now - job.status.ended > filter->since) break;  // The list is in the order of the ends.
    if (request.viewer.sees(job.spec) && fits(*filter, job)) rows.push_back(describe_row(job, true));
  }
  return Value{std::move(rows)};
}

Value ClusterAnswers::describe_workers() const {
  Value::List rows;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    std::uint64_t slots = 0;
    std::uint64_t running = 0;
    std::uint64_t assigned = 0;
    for (const BandSlot band : worker.bands) {
      slots += workers_[band].slots;
      running += workers_[band].load.running;
      assigned += workers_[band].in_flight;
    }
    std::string labels;
    for (const std::string& label : worker.description.labels) labels += (labels.empty() ? "" : ",") + label;
    rows.push_back(Value::Record{{"id", to_string(worker.id)},
                                 {"name", worker.description.name},
                                 {"host", worker.description.host},
                                 {"state", state_of(worker)},
                                 {"bands", static_cast<std::uint64_t>(worker.bands.size())},
                                 {"slots", slots},
                                 {"running", running},
                                 {"assigned", assigned},
                                 {"data_address", worker.description.data_address},
                                 {"labels", std::move(labels)}});
  }
  return rows;
}

Value ClusterAnswers::describe_bands() const {
  Value::List rows;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    const BandDescription& found = band.description;
    rows.push_back(Value::Record{{"band", to_string(band.id)},
                                 {"worker", workers_[band.worker].description.name},
                                 {"name", found.name},
                                 {"kind", found.kind == BandKind::Gpu ? "gpu" : "cpu"},
                                 {"slots", band.slots},
                                 {"milli_cpu", found.capacity.cpu.value()},
                                 {"milli_gpu", found.capacity.gpu.value()},
                                 {"memory_bytes", found.capacity.memory.value()},
                                 {"device_memory_bytes", found.capacity.device_memory.value()},
                                 {"device", words_of(found.devices, &DeviceDescription::name)},
                                 {"device_uuid", words_of(found.devices, &DeviceDescription::uuid)},
                                 {"running", band.load.running},
                                 {"quota_used_bytes", band.load.quota_used.value()},
                                 {"store_used_bytes", band.load.store_used.value()}});
  }
  return rows;
}

Value ClusterAnswers::describe_queues() const {
  Value::List rows;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    rows.push_back(Value::Record{{"band", to_string(band.id)},
                                 {"worker", workers_[band.worker].description.name},
                                 {"name", band.description.name},
                                 {"kept_here", band.ready_here},
                                 {"assigned", band.in_flight},
                                 {"runnable", band.runnable},
                                 {"cached", band.load.cached},
                                 {"queued", band.load.queued},
                                 {"preparing", band.load.preparing},
                                 {"ready", band.load.ready},
                                 {"running", band.load.running}});
  }
  return rows;
}

Result<Value> ClusterAnswers::complete_words(const AdminRequest& request) const {
  Value::List words;
  if (operand(request, 0) == "workers") {
    for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i)
      if (workers_[WorkerSlot{i}].alive) words.emplace_back(workers_[WorkerSlot{i}].description.name);
    return Value{std::move(words)};
  }
  for (const auto& job : jobs_.all()) {
    if (job == nullptr || !request.viewer.sees(job->spec)) continue;
    words.emplace_back(to_string(job->id));
    words.emplace_back(job->spec.name);
  }
  return Value{std::move(words)};
}

}  // namespace penstock::supervisor
