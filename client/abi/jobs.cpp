// Jobs, their results and their news, behind the C interface.
#include <algorithm>
#include <cstring>

#include "client/abi/cluster.hpp"
#include "client/abi/data.hpp"
#include "client/abi/graph.hpp"
#include "client/abi/last_error.hpp"
#include "client/embedded/embedded_cluster.hpp"

using penstock::Duration;
using penstock::Error;
using penstock::ErrorCode;
using penstock::JobId;
using penstock::JobProgress;
using penstock::JobState;
using penstock::Result;
using penstock::SubtaskFailure;
using penstock::SubtaskIndex;
using penstock::SubtaskRange;
using penstock::abi::fail;
using penstock::abi::refuse;
using penstock::worker::BlobPtr;

namespace {

JobId job_of(int64_t job) { return JobId{static_cast<std::uint32_t>(job)}; }

/// Longer than anybody waits, and short enough to be added to the time of day.
constexpr std::int64_t kForeverNs = std::int64_t{1000} * 24 * 3600 * 1'000'000'000;

Duration limit_of(int64_t timeout_ns) {
  return Duration{timeout_ns < 0 ? kForeverNs : std::min<std::int64_t>(timeout_ns, kForeverNs)};
}

penstock_bytes bytes_of(const std::string& text) { return {text.empty() ? nullptr : text.data(), text.size()}; }

penstock_counts counts_of(const penstock::JobCounts& counts) {
  return {counts.total, counts.succeeded, counts.failed, counts.cancelled, counts.assigned, counts.attempts};
}

/// News with what they point to.
struct NewsBox : penstock_news {
  JobProgress progress;
  std::vector<penstock_range> succeeded_ranges;
  std::vector<penstock_range> cancelled_ranges;
  std::vector<std::vector<const char*>> histories;
  std::vector<penstock_failure> shown_failures;
};

void show(const std::vector<SubtaskRange>& ranges, std::vector<penstock_range>& out) {
  for (const SubtaskRange& range : ranges) out.push_back({range.first.value(), range.last.value()});
}

void show(NewsBox& box, const SubtaskFailure& failure) {
  std::vector<const char*>& lines = box.histories.emplace_back();
  for (const std::string& line : failure.history) lines.push_back(line.c_str());
  penstock_failure& out = box.shown_failures.emplace_back();
  out = {};
  out.subtask = failure.subtask.value();
  out.failure_class = static_cast<std::uint32_t>(failure.last.failure);
  out.exit_code = failure.last.exit_code;
  out.signal = failure.last.signal;
  out.peak_memory_bytes = failure.last.peak_memory_bytes;
  out.name = failure.name.c_str();
  out.message = bytes_of(failure.last.message);
  out.output_tail = bytes_of(failure.last.output_tail);
  out.detail = bytes_of(failure.last.detail);
  out.history = lines.data();
  out.history_count = lines.size();
}

const penstock_news* box_up(JobProgress&& progress) {
  auto box = std::make_unique<NewsBox>();
  static_cast<penstock_news&>(*box) = {};
  box->progress = std::move(progress);
  show(box->progress.succeeded, box->succeeded_ranges);
  show(box->progress.cancelled, box->cancelled_ranges);
  box->histories.reserve(box->progress.failures.size());
  for (const SubtaskFailure& failure : box->progress.failures) show(*box, failure);
  box->job = box->progress.job.value();
  box->state = static_cast<std::int32_t>(box->progress.state);
  box->counts = counts_of(box->progress.counts);
  box->succeeded = box->succeeded_ranges.data();
  box->succeeded_count = box->succeeded_ranges.size();
  box->cancelled = box->cancelled_ranges.data();
  box->cancelled_count = box->cancelled_ranges.size();
  box->failures = box->shown_failures.data();
  box->failure_count = static_cast<std::uint32_t>(box->shown_failures.size());
  return box.release();
}

Error not_there(JobId job, std::uint32_t subtask) {
  return {ErrorCode::NotFound,
          to_string(penstock::SubtaskId{job, SubtaskIndex{subtask}}),
          "has no result here: it has not succeeded, was not to be kept, or its job was released",
          {}};
}

Result<void> take_from_store(penstock_client& client, const std::vector<penstock::DataKey>& keys, penstock_data& data) {
  penstock::worker::ObjectStore& store = client.embedded->store();
  for (const penstock::DataKey& key : keys) data.blobs.push_back(store.load_now(key));  // Null: it is empty.
  return {};
}

Result<void> take_from_workers(penstock_client& client, const std::vector<penstock::DataKey>& keys,
                               penstock_data& data) {
  std::vector<penstock::abi::ResultFetcher::Wanted> wanted;
  std::vector<std::size_t> places;
  {
    const std::lock_guard lock{client.mutex};
    const auto& outputs = client.jobs[keys.front().producer.job].outputs;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto found = outputs.find((std::uint64_t{keys[i].producer.index.value()} << 16U) | keys[i].output);
      if (found == outputs.end()) continue;  // It is empty.
      wanted.push_back({keys[i], found->second.data_address});
      places.push_back(i);
    }
  }
  data.blobs.resize(keys.size());
  Result<std::vector<BlobPtr>> blobs = client.fetcher->fetch(wanted);
  if (!blobs) return std::move(blobs).error();
  for (std::size_t i = 0; i < places.size(); ++i) data.blobs[places[i]] = std::move((*blobs)[i]);
  return {};
}

}  // namespace

int64_t penstock_submit(penstock_client* client, penstock_graph* given, const penstock_job_options* options) {
  return penstock_submit_told(client, given, options, nullptr);
}

int64_t penstock_submit_told(penstock_client* client, penstock_graph* given, const penstock_job_options* options,
                             penstock_submitted* told) {
  const std::unique_ptr<penstock_graph> graph{given};
  if (graph == nullptr) return fail({ErrorCode::InvalidArgument, "graph", "is NULL", "a graph is submitted once"});
  penstock_job_options wanted{};
  if (options != nullptr) std::memcpy(&wanted, options, std::min<std::uint64_t>(options->size, sizeof wanted));
  penstock::JobSpec spec;
  if (wanted.name != nullptr) spec.name = wanted.name;
  if (wanted.owner != nullptr) spec.owner = wanted.owner;
  spec.priority = wanted.priority;
  spec.wait_for_resources = wanted.wait_for_resources != 0;
  if (wanted.project != nullptr) spec.policy.project = wanted.project;
  if (wanted.account != nullptr) spec.policy.account = wanted.account;
  if (wanted.pool != nullptr && wanted.pool_count > 0)
    return fail({penstock::ErrorCode::InvalidArgument, "pools", "are there beside a pool", "say one of them"});
  if (wanted.pool != nullptr && *wanted.pool != '\0') spec.policy.pools = {wanted.pool};
  if (wanted.pool_count > 0) spec.policy.pools = {wanted.pools, wanted.pools + wanted.pool_count};
  if (wanted.label_count > 0) spec.policy.labels = {wanted.labels, wanted.labels + wanted.label_count};
  spec.policy.weight = wanted.weight_thousandths;
  spec.policy.slots_max = wanted.slots_max;
  spec.policy.gang = wanted.gang;
  if (wanted.kind > static_cast<std::uint32_t>(penstock::JobKind::Inference))
    return fail({penstock::ErrorCode::InvalidArgument, "kind", "is not 0, 1 or 2", {}});
  spec.policy.kind = static_cast<penstock::JobKind>(wanted.kind);
  if (wanted.qos != nullptr) spec.policy.qos = wanted.qos;
  if (wanted.queue != nullptr) spec.policy.queue = wanted.queue;
  if (wanted.user_factor_lowered_thousandths > penstock::kUserFactorMax)
    return fail({penstock::ErrorCode::InvalidArgument, "user_factor_lowered_thousandths", "is above 1000", {}});
  spec.policy.user_factor = penstock::kUserFactorMax - wanted.user_factor_lowered_thousandths;
  constexpr Duration kMillisecond = std::chrono::milliseconds{1};
  constexpr auto kMillisecondsMax = static_cast<std::uint64_t>(Duration::max() / kMillisecond);
  spec.policy.grace = kMillisecond * static_cast<std::int64_t>(std::min(wanted.grace_ms, kMillisecondsMax));
  if (graph->wants) spec.keep = penstock::Keep::Wanted;
  if (wanted.keep_nothing != 0) spec.keep = penstock::Keep::Nothing;
  const Result<penstock::client::Session::Submitted> submitted =
      client->session().submit(std::move(spec), std::move(graph->graph));
  if (!submitted) return fail(submitted.error());
  if (told != nullptr) {
    const penstock_submitted all{told->size, submitted->job.value(), submitted->existed ? 1U : 0U,
                                 submitted->ours ? 1U : 0U};
    std::memcpy(told, &all, std::min<std::uint64_t>(told->size, sizeof all));
  }
  return submitted->job.value();
}

int64_t penstock_attach(penstock_client* client, const char* name) {
  const Result<JobId> job = client->session().attach(penstock::job_selector_of(name));
  return job ? static_cast<int64_t>(job->value()) : fail(job.error());
}

int32_t penstock_wait(penstock_client* client, int64_t job, int64_t timeout_ns) {
  const Result<JobState> state = client->session().wait(job_of(job), limit_of(timeout_ns));
  return state ? static_cast<int32_t>(*state) : fail(state.error());
}

int32_t penstock_job_counts(penstock_client* client, int64_t job, penstock_counts* counts) {
  *counts = counts_of(client->session().counts(job_of(job)));
  return 0;
}

int32_t penstock_job_error(penstock_client* client, int64_t job) {
  const penstock::client::JobView view = client->session().view(job_of(job));
  return view.error.message.empty() ? 0 : fail(view.error);
}

penstock_data* penstock_job_log(penstock_client* client, int64_t job, int64_t subtask) {
  std::vector<std::string> arguments{to_string(job_of(job))};
  if (subtask >= 0) arguments.push_back(std::to_string(subtask));
  const Result<penstock::Value> answer = client->session().ask("logs", arguments);
  if (!answer) return refuse(answer.error());
  std::string all;
  if (const penstock::Value::List* logs = (*answer)["logs"].list(); logs != nullptr)
    for (const penstock::Value& entry : *logs)
      if (const std::string* log = entry["log"].text(); log != nullptr) all += *log;
  auto data = std::make_unique<penstock_data>();
  if (all.empty()) {
    data->views.push_back({nullptr, 0});
    return data.release();
  }
  const std::shared_ptr<penstock::worker::Blob> blob = penstock::worker::Blob::allocate(all.size());
  if (blob == nullptr) return refuse({ErrorCode::ResourceExhausted, "the log", "there is no memory for it", {}});
  std::memcpy(blob->data(), all.data(), all.size());
  data->blobs.push_back(blob);
  data->views.push_back({blob->bytes().data(), blob->bytes().size()});
  return data.release();
}

int32_t penstock_cancel(penstock_client* client, int64_t job) {
  const Result<penstock::Value> answer = client->session().ask("cancel", {to_string(job_of(job))});
  return answer ? 0 : fail(answer.error());
}

int32_t penstock_cancel_subtask(penstock_client* client, int64_t job, uint32_t subtask) {
  const Result<penstock::Value> answer =
      client->session().ask("cancel", {to_string(job_of(job)), std::to_string(subtask)});
  return answer ? 0 : fail(answer.error());
}

void penstock_detach(penstock_client* client, int64_t job) { client->session().detach(job_of(job)); }

void penstock_release(penstock_client* client, int64_t job) { client->session().release(job_of(job)); }

penstock_data* penstock_fetch(penstock_client* client, int64_t job, const uint32_t* subtasks, uint64_t count,
                              uint32_t output) {
  std::vector<penstock::DataKey> keys;
  {
    const std::lock_guard lock{client->mutex};
    const auto known = client->jobs.find(job_of(job));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t subtask = subtasks == nullptr ? static_cast<std::uint32_t>(i) : subtasks[i];
      const bool succeeded =
          known != client->jobs.end() && subtask < known->second.succeeded.size() && known->second.succeeded[subtask];
      if (!succeeded) return refuse(not_there(job_of(job), subtask));
      keys.push_back({{job_of(job), SubtaskIndex{subtask}}, static_cast<std::uint16_t>(output)});
    }
  }
  auto data = std::make_unique<penstock_data>();
  if (keys.empty()) return data.release();
  const Result<void> taken =
      client->embedded != nullptr ? take_from_store(*client, keys, *data) : take_from_workers(*client, keys, *data);
  if (!taken) return refuse(taken.error());
  for (const BlobPtr& blob : data->blobs)
    data->views.push_back(blob == nullptr ? penstock_bytes{nullptr, 0}
                                          : penstock_bytes{blob->bytes().data(), blob->bytes().size()});
  return data.release();
}

const penstock_bytes* penstock_data_views(const penstock_data* data) { return data->views.data(); }
void penstock_data_free(penstock_data* data) { delete data; }

void penstock_want_news(penstock_client* client) {
  const std::lock_guard lock{client->mutex};
  client->wants_news = true;
}

const penstock_news* penstock_next_news(penstock_client* client, int64_t timeout_ns) {
  std::unique_lock lock{client->mutex};
  client->changed.wait_for(lock, limit_of(timeout_ns),
                           [&] { return !client->news.empty() || client->woken || client->interrupted; });
  if (client->news.empty()) {
    client->woken = false;
    return nullptr;
  }
  JobProgress progress = std::move(client->news.front());
  client->news.pop_front();
  lock.unlock();
  return box_up(std::move(progress));
}

void penstock_news_free(const penstock_news* news) { delete static_cast<const NewsBox*>(news); }

void penstock_wake_news(penstock_client* client) {
  const std::lock_guard lock{client->mutex};
  client->woken = true;
  client->changed.notify_all();
}

const penstock_news* penstock_job_failures(penstock_client* client, int64_t job) {
  penstock::client::JobView view = client->session().view(job_of(job));
  if (view.failures.empty()) return nullptr;
  JobProgress progress;
  progress.job = job_of(job);
  progress.state = view.state;
  progress.counts = view.counts;
  progress.failures = std::move(view.failures);
  return box_up(std::move(progress));
}
