// Jobs, their results and their news, behind the C interface.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "client/abi/arguments.hpp"
#include "client/abi/cluster.hpp"
#include "client/abi/data.hpp"
#include "client/abi/graph.hpp"
#include "client/abi/last_error.hpp"
#include "client/abi/nesting.hpp"
#include "client/abi/results.hpp"
#include "common/base/attempt_id.hpp"
#include "common/protocol/policy_config.hpp"
#include "common/protocol/time_limit.hpp"

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
using penstock::abi::is_null;
using penstock::abi::job_of;
using penstock::abi::refuse;
using penstock::abi::texts_of;

namespace {

/// Longer than any wait, and short enough to be added to the time of day.
constexpr std::int64_t kForeverNs = std::int64_t{1000} * 24 * 3600 * 1'000'000'000;

Duration limit_of(int64_t timeout_ns) {
  return Duration{timeout_ns < 0 ? kForeverNs : std::min<std::int64_t>(timeout_ns, kForeverNs)};
}

penstock_bytes bytes_of(const std::string& text) { return {text.empty() ? nullptr : text.data(), text.size()}; }

penstock_counts counts_of(const penstock::JobCounts& counts) {
  return {counts.total, counts.succeeded, counts.failed, counts.cancelled, counts.assigned, counts.attempts};
}

/// News with all that their pointers point to.
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

/// The policy part of the options of a job. Error: InvalidArgument.
Result<penstock::JobPolicy> read_policy(const penstock_job_options& wanted) {
  const auto refused = [](const char* subject, const char* message) {
    return Error{ErrorCode::InvalidArgument, subject, message, {}};
  };
  penstock::JobPolicy policy;
  if (wanted.project != nullptr) policy.project = wanted.project;
  if (wanted.account != nullptr) policy.account = wanted.account;
  if (wanted.pool != nullptr && wanted.pool_count > 0)
    return refused("pools", "are there beside a pool: say one of them");
  if (wanted.pool != nullptr && *wanted.pool != '\0') policy.pools = {wanted.pool};
  Result<std::vector<std::string>> pools = texts_of(wanted.pools, wanted.pool_count, "pools");
  if (!pools) return std::move(pools).error();
  if (!pools->empty()) policy.pools = std::move(pools).value();
  Result<std::vector<std::string>> labels = texts_of(wanted.labels, wanted.label_count, "labels");
  if (!labels) return std::move(labels).error();
  policy.labels = std::move(labels).value();
  if (wanted.weight_thousandths > penstock::kPolicyAmountMax)
    return refused("weight_thousandths", "is above 1000000000");
  if (wanted.slots_max > penstock::kPolicyAmountMax) return refused("slots_max", "is above 1000000000");
  if (wanted.gang > penstock::kPolicyAmountMax) return refused("gang", "is above 1000000000");
  if (wanted.gang_max > penstock::kPolicyAmountMax) return refused("gang_max", "is above 1000000000");
  if (wanted.gang_groups > penstock::kPolicyAmountMax) return refused("gang_groups", "is above 1000000000");
  policy.weight = wanted.weight_thousandths;
  policy.slots_max = wanted.slots_max;
  policy.gang = wanted.gang;
  policy.gang_max = wanted.gang_max;
  if (wanted.together != nullptr) policy.together = wanted.together;
  policy.gang_groups = wanted.gang_groups;
  if (wanted.kind > static_cast<std::uint32_t>(penstock::JobKind::Inference))
    return refused("kind", "is not 0, 1 or 2");
  policy.kind = static_cast<penstock::JobKind>(wanted.kind);
  if (wanted.preemptible > static_cast<std::uint32_t>(penstock::Preemptible::No))
    return refused("preemptible", "is not 0, 1 or 2");
  policy.preemptible = static_cast<penstock::Preemptible>(wanted.preemptible);
  if (wanted.qos != nullptr) policy.qos = wanted.qos;
  if (wanted.queue != nullptr) policy.queue = wanted.queue;
  if (wanted.user_factor_lowered_thousandths > penstock::kUserFactorMax)
    return refused("user_factor_lowered_thousandths", "is above 1000");
  policy.user_factor = penstock::kUserFactorMax - wanted.user_factor_lowered_thousandths;
  return policy;
}

/// The size of the options in the first version of the interface.
constexpr std::size_t kJobOptionsBytesMin = offsetof(penstock_job_options, project);

Result<penstock::JobSpec> read_spec(const penstock_job_options* options) {
  penstock::JobSpec spec;
  if (options == nullptr) return spec;
  const Result<penstock_job_options> wanted =
      penstock::abi::whole(options, kJobOptionsBytesMin, "penstock_job_options");
  if (!wanted) return wanted.error();
  if (wanted->name != nullptr) spec.name = wanted->name;
  if (wanted->owner != nullptr) spec.owner = wanted->owner;
  spec.priority = wanted->priority;
  spec.wait_for_resources = wanted->wait_for_resources != 0;
  if (wanted->keep_nothing != 0) spec.keep = penstock::Keep::Nothing;
  constexpr Duration kMillisecond = std::chrono::milliseconds{1};
  constexpr auto kMillisecondsMax = static_cast<std::uint64_t>(Duration::max() / kMillisecond);
  spec.grace = kMillisecond * static_cast<std::int64_t>(std::min(wanted->grace_ms, kMillisecondsMax));
  spec.time_limit = Duration{wanted->time_limit_ns};
  if (spec.time_limit != Duration{0})
    if (const Result<void> good = penstock::check_time_limit("time_limit_ns", spec.time_limit); !good)
      return good.error();
  Result<penstock::JobPolicy> policy = read_policy(*wanted);
  if (!policy) return std::move(policy).error();
  spec.policy = std::move(policy).value();
  if (wanted->share != nullptr && *wanted->share != 0) spec.share = penstock::Seldom{std::string{wanted->share}};
  for (std::uint64_t i = 0; i < wanted->secret_count; ++i) {
    const std::string_view entry{wanted->secrets[i]};
    const std::size_t equals = std::min(entry.find('='), entry.size());
    spec.secrets.edit().push_back(
        {std::string{entry.substr(0, equals)}, std::string{entry.substr(std::min(equals + 1, entry.size()))}});
  }
  PENSTOCK_TRY(penstock::check_secrets(*spec.secrets));
  if (wanted->parent_attempt == nullptr) return spec;
  const auto attempt = penstock::parse_attempt_id(wanted->parent_attempt);
  if (!attempt || wanted->parent_job >= JobId::none().value())
    return Error{ErrorCode::InvalidArgument, "parent_attempt", "names no attempt with parent_job",
                 "give `attempt_id` and `job` of the run"};
  const JobId job{static_cast<std::uint32_t>(wanted->parent_job)};
  spec.parent = penstock::Seldom{penstock::ParentRun{{job, attempt->subtask}, attempt->attempt, attempt->identity}};
  return spec;
}

/// 0 of options of an earlier version.
std::uint64_t read_detached(const penstock_job_options& options) {
  constexpr std::size_t kEnd = offsetof(penstock_job_options, detached) + sizeof options.detached;
  return options.size < kEnd ? 0 : options.detached;
}

}  // namespace

int64_t penstock_submit(penstock_client* client, penstock_graph* given, const penstock_job_options* options) {
  return penstock_submit_told(client, given, options, nullptr);
}

int64_t penstock_submit_told(penstock_client* client, penstock_graph* given, const penstock_job_options* options,
                             penstock_submitted* told) try {
  const std::unique_ptr<penstock_graph> graph{given};
  if (client == nullptr) return fail(is_null("client"));
  if (graph == nullptr) return fail({ErrorCode::InvalidArgument, "graph", "is NULL", "a graph is submitted once"});
  if (told != nullptr)
    if (const auto sized = penstock::abi::whole(told, sizeof *told, "penstock_submitted"); !sized)
      return fail(sized.error());
  Result<penstock::JobSpec> spec = read_spec(options);
  if (!spec) return fail(std::move(spec).error());
  if (client->in_run && !spec->parent.any() && (options == nullptr || read_detached(*options) == 0)) {
    Result<penstock::ParentRun> run = penstock::abi::present_run();
    if (!run) return fail(std::move(run).error());
    spec->parent = penstock::Seldom{std::move(run).value()};
  }
  if (graph->wants && spec->keep != penstock::Keep::Nothing) spec->keep = penstock::Keep::Wanted;
  std::vector<std::uint16_t> kept = penstock::abi::kept_of(graph->graph, spec->keep);
  const Result<penstock::client::Session::Submitted> submitted =
      client->session().submit(std::move(*spec), std::move(graph->graph));
  if (!submitted) return fail(submitted.error());
  if (!submitted->existed || submitted->ours) {  // Otherwise the graph may be another one.
    const std::lock_guard lock{client->mutex};
    client->jobs[submitted->job].kept = std::move(kept);
  }
  if (told != nullptr) {
    const penstock_submitted all{told->size, submitted->job.value(), submitted->existed ? 1U : 0U,
                                 submitted->ours ? 1U : 0U};
    std::memcpy(told, &all, std::min<std::uint64_t>(told->size, sizeof all));
  }
  return submitted->job.value();
}
PENSTOCK_NOTHING_THROWN(fail)

int64_t penstock_attach(penstock_client* client, const char* name) try {
  if (client == nullptr || name == nullptr) return fail(is_null(client == nullptr ? "client" : "name"));
  const Result<JobId> job = client->session().attach(penstock::job_selector_of(name));
  return job ? static_cast<int64_t>(job->value()) : fail(job.error());
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_job_identity(penstock_client* client, int64_t number, penstock_identity* identity) try {
  if (identity == nullptr) return fail(is_null("identity"));
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const Result<JobState> state = client->session().wait(*job, Duration{0});
  if (!state && state.error().code == ErrorCode::NotFound) return fail(state.error());
  const penstock::JobIdentity known = client->session().identity_of(*job);
  *identity = {known.high, known.low};
  return 0;
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_wait(penstock_client* client, int64_t number, int64_t timeout_ns) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const Result<JobState> state = client->session().wait(*job, limit_of(timeout_ns));
  return state ? static_cast<int32_t>(*state) : fail(state.error());
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_wait_subtask(penstock_client* client, int64_t number, uint32_t subtask, int64_t timeout_ns) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const Result<JobState> state = client->session().wait_subtask(*job, SubtaskIndex{subtask}, limit_of(timeout_ns));
  return state ? static_cast<int32_t>(*state) : fail(state.error());
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_job_counts(penstock_client* client, int64_t number, penstock_counts* counts) try {
  if (counts == nullptr) return fail(is_null("counts"));
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const Result<JobState> state = client->session().wait(*job, Duration{0});
  if (!state && state.error().code == ErrorCode::NotFound) return fail(state.error());
  *counts = counts_of(client->session().counts(*job));
  return 0;
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_job_error(penstock_client* client, int64_t number) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const penstock::client::JobView view = client->session().view(*job);
  return view.error.message.empty() ? 0 : fail(view.error);
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_cancel(penstock_client* client, int64_t number) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const Result<penstock::Value> answer = client->session().ask("cancel", {to_string(*job)});
  return answer ? 0 : fail(answer.error());
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_cancel_subtask(penstock_client* client, int64_t number, uint32_t subtask) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  const Result<penstock::Value> answer = client->session().ask("cancel", {to_string(*job), std::to_string(subtask)});
  return answer ? 0 : fail(answer.error());
}
PENSTOCK_NOTHING_THROWN(fail)

void penstock_detach(penstock_client* client, int64_t number) {
  if (const Result<JobId> job = job_of(client, number)) client->session().detach(*job);
}

void penstock_release(penstock_client* client, int64_t number) {
  if (const Result<JobId> job = job_of(client, number)) client->session().release(*job);
}

int32_t penstock_release_outputs(penstock_client* client, int64_t number, const uint32_t* subtasks,
                                 uint64_t count) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return fail(job.error());
  if (subtasks == nullptr && count > 0) return fail(is_null("subtasks"));
  std::vector<penstock::SubtaskIndex> released;
  released.reserve(count);
  for (uint64_t i = 0; i < count; ++i) released.push_back(penstock::SubtaskIndex{subtasks[i]});
  if (client->session().release_outputs(*job, released)) client->forget_outputs(*job, released);
  return 0;
}
PENSTOCK_NOTHING_THROWN(fail)

void penstock_want_news(penstock_client* client) {
  if (client == nullptr) return;
  const std::lock_guard lock{client->mutex};
  client->wants_news = true;
}

const penstock_news* penstock_next_news(penstock_client* client, int64_t timeout_ns) try {
  if (client == nullptr) return refuse(is_null("client"));
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
PENSTOCK_NOTHING_THROWN(refuse)

void penstock_news_free(const penstock_news* news) { delete static_cast<const NewsBox*>(news); }

void penstock_wake_news(penstock_client* client) {
  if (client == nullptr) return;
  const std::lock_guard lock{client->mutex};
  client->woken = true;
  client->changed.notify_all();
}

const char* penstock_failure_code(const penstock_news* news, uint32_t failure) {
  const std::vector<SubtaskFailure>& failures = static_cast<const NewsBox*>(news)->progress.failures;
  if (failure >= failures.size() || !failures[failure].last.code) return "";
  return to_string(*failures[failure].last.code).data();  // A string literal.
}

const penstock_news* penstock_job_failures(penstock_client* client, int64_t number) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return refuse(job.error());
  penstock::client::JobView view = client->session().view(*job);
  if (view.failures.empty()) return nullptr;
  JobProgress progress;
  progress.job = *job;
  progress.state = view.state;
  progress.counts = view.counts;
  progress.failures = std::move(view.failures);
  return box_up(std::move(progress));
}
PENSTOCK_NOTHING_THROWN(refuse)
