#include "tools/bench/bench_shares.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "common/host/clock.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "tools/bench/bench_run.hpp"

namespace penstock::tools {
namespace {

double seconds_since(Instant begin) { return std::chrono::duration<double>(monotonic_now() - begin).count(); }

/// Number of succeeded subtasks at a time between the first and the last news.
double succeeded_at(const std::vector<NewsPoint>& news, double seconds) {
  std::size_t at = 0;
  while (at + 1 < news.size() && news[at].seconds < seconds) ++at;
  if (at == 0 || news[at].seconds <= news[at - 1].seconds) return static_cast<double>(news[at].succeeded);
  const double part =
      std::clamp((seconds - news[at - 1].seconds) / (news[at].seconds - news[at - 1].seconds), 0.0, 1.0);
  const auto before = static_cast<double>(news[at - 1].succeeded);
  return before + part * (static_cast<double>(news[at].succeeded) - before);
}

/// News of several jobs. The first news of a job precede the knowledge of its number, so all news are kept. The
/// transport's thread writes them, and is the last owner if a run is given up.
struct Heard {
  std::mutex mutex;  // Invariant: guards `news`, as tests/integration/cli under the thread sanitizer.
  std::map<JobId, std::vector<NewsPoint>> news;
};

struct JobsRun {
  double total_s = 0;
  CommonTime common;
};

/// One job of several, followed to its end by a thread of its own: submitting takes as long as checking a graph.
Result<JobId> run_job(client::Session& session, StopSignals& stop_signals, const JobSpec& spec, Graph graph) {
  const std::uint64_t size = graph.size();
  const Result<client::Session::Submitted> submitted = session.submit(spec, std::move(graph));
  if (!submitted) return submitted.error();
  const Result<JobState> state = wait_unless_stopped(session, stop_signals, submitted->job);
  if (!state) return state.error();
  const client::JobView view = session.view(submitted->job);
  session.release(submitted->job);
  session.forget(submitted->job);
  if (*state == JobState::Succeeded && view.counts.succeeded == size) return submitted->job;
  return Error{ErrorCode::Internal, spec.name, "has not succeeded: " + to_string(view.error), {}};
}

Result<JobsRun> run_jobs(client::Session& session, StopSignals& stop_signals, const std::vector<Graph>& graphs,
                         const std::vector<std::uint32_t>& weights) {
  std::vector<Graph> copies = graphs;
  std::vector<Result<JobId>> jobs(graphs.size(), JobId::none());
  const auto heard = std::make_shared<Heard>();
  const Instant begin = monotonic_now();
  session.set_on_news([heard, begin](const JobProgress& progress) {
    const std::lock_guard lock{heard->mutex};
    heard->news[progress.job].push_back({seconds_since(begin), progress.counts.succeeded});
  });
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < copies.size(); ++i)
    threads.emplace_back([&, i] {
      JobSpec spec;
      spec.name = "bench-" + std::to_string(begin.time_since_epoch().count()) + "-" + std::to_string(i);
      spec.policy.weight = weights[i] * 1000;
      jobs[i] = run_job(session, stop_signals, spec, std::move(copies[i]));
    });
  for (std::thread& thread : threads) thread.join();
  JobsRun run;
  run.total_s = seconds_since(begin);
  session.set_on_news({});
  std::vector<std::vector<NewsPoint>> news;
  for (const Result<JobId>& job : jobs) {
    if (!job) return job.error();
    const std::lock_guard lock{heard->mutex};
    news.push_back(heard->news[*job]);
  }
  run.common = common_time(news);
  return run;
}

Result<std::vector<Graph>> graphs_of(const SharesOptions& options) {
  const auto count = static_cast<std::uint32_t>(options.weights.size());
  if (options.shape.subtasks < count)
    return Error{ErrorCode::InvalidArgument, "--subtasks", "are fewer than the jobs", "raise them"};
  std::vector<Graph> graphs;
  for (std::uint32_t i = 0; i < count; ++i) {
    ShapeOptions each = options.shape;
    each.subtasks = options.shape.subtasks / count + (i < options.shape.subtasks % count ? 1 : 0);
    Result<Graph> graph = make_graph(each);
    if (!graph) return graph.error();
    graphs.push_back(std::move(graph).value());
  }
  return graphs;
}

/// All measured runs of one kind.
struct RunSeries {
  std::vector<double> total_s;
  double supervisor_cpu_s = 0;  ///< Of all runs.
  double workers_cpu_s = 0;

  void add(double seconds, const std::vector<ProcessCost>& before, const std::vector<ProcessCost>& after) {
    total_s.push_back(seconds);
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      const double cpu_s = after[i].cpu_s - before[i].cpu_s;
      if (after[i].name == "supervisor") supervisor_cpu_s += cpu_s;
      if (after[i].name.starts_with("worker")) workers_cpu_s += cpu_s;
    }
  }
};

struct SharesSeries {
  RunSeries alone;      ///< One job, no policy.
  RunSeries policed;    ///< One job under the policy.
  RunSeries together;   ///< All jobs under the policy.
  RunSeries unpoliced;  ///< All jobs, no policy.
  std::vector<double> common_s;
  std::vector<std::vector<double>> shares;  ///< By job.
};

Value cpu_of(std::string_view run, const RunSeries& series, double subtasks) {
  const double all = subtasks * static_cast<double>(series.total_s.size());
  return Value::Record{{"run", std::string{run}},
                       {"supervisor_us", series.supervisor_cpu_s / all * 1e6},
                       {"workers_us", series.workers_cpu_s / all * 1e6}};
}

Value to_value(const SharesOptions& options, const SharesSeries& series) {
  const auto size = static_cast<double>(options.shape.subtasks);
  std::uint64_t weights = 0;
  for (const std::uint32_t weight : options.weights) weights += weight;
  Value::List rows;
  double off = 0;
  for (std::size_t i = 0; i < options.weights.size(); ++i) {
    const double entitled = static_cast<double>(options.weights[i]) / static_cast<double>(weights);
    const double share = median_of(series.shares[i]);
    off = std::max(off, std::abs(share - entitled));
    rows.push_back(Value::Record{{"job", static_cast<std::uint64_t>(i + 1)},
                                 {"weight", options.weights[i]},
                                 {"share", share},
                                 {"by_weight", entitled}});
  }
  const double alone = size / median_of(series.alone.total_s);
  const double policed = size / median_of(series.policed.total_s);
  const double together = size / median_of(series.together.total_s);
  Value::List cpu;
  cpu.push_back(cpu_of("one job without policy", series.alone, size));
  cpu.push_back(cpu_of("one job", series.policed, size));
  cpu.push_back(cpu_of("jobs without policy", series.unpoliced, size));
  cpu.push_back(cpu_of("jobs", series.together, size));
  return Value::Record{{"shape", std::string{to_string(options.shape.shape)}},
                       {"subtasks", options.shape.subtasks},
                       {"workers", options.cluster.workers},
                       {"slots", options.cluster.slots},
                       {"preset", options.preset},
                       {"repeat", options.repeat},
                       {"one_job_without_policy_per_s", alone},
                       {"one_job_per_s", policed},
                       {"jobs_without_policy_per_s", size / median_of(series.unpoliced.total_s)},
                       {"jobs_per_s", together},
                       {"jobs_against_one_job", together / policed},
                       {"jobs_against_one_job_without_policy", together / alone},
                       {"common_s", median_of(series.common_s)},
                       {"share_off_by_max", off},
                       {"cpu_per_subtask", std::move(cpu)},
                       {"jobs", std::move(rows)}};
}

}  // namespace

CommonTime common_time(const std::vector<std::vector<NewsPoint>>& news) {
  double begin = 0;
  double end = std::numeric_limits<double>::infinity();
  for (const std::vector<NewsPoint>& of_job : news) {
    const auto first =
        std::find_if(of_job.begin(), of_job.end(), [](const NewsPoint& point) { return point.succeeded > 0; });
    if (first == of_job.end()) return {};
    begin = std::max(begin, first->seconds);
    end = std::min(end, of_job.back().seconds);
  }
  CommonTime common;
  if (news.empty() || end <= begin) return common;
  common.seconds = end - begin;
  double sum = 0;
  for (const std::vector<NewsPoint>& of_job : news) {
    const double count = succeeded_at(of_job, end) - succeeded_at(of_job, begin);
    sum += count;
    common.jobs.push_back({static_cast<std::uint64_t>(count + 0.5), count});
  }
  for (JobsShare& job : common.jobs) job.share = sum > 0 ? job.share / sum : 0;
  return common;
}

Result<Value> measure_shares(const SharesOptions& options, StopSignals& stop_signals) {
  if (options.cluster.embedded) return Error{ErrorCode::InvalidArgument, "--embedded", "has no policy", "leave it out"};
  if (const auto known = supervisor::check_parts({PoolConfig{.name = "all", .preset = options.preset}}); !known)
    return known.error();
  const Result<Graph> whole = make_graph(options.shape);
  if (!whole) return whole.error();
  const Result<std::vector<Graph>> parts = graphs_of(options);
  if (!parts) return parts.error();
  Result<std::unique_ptr<BenchCluster>> free_cluster = BenchCluster::start(options.cluster);
  if (!free_cluster) return free_cluster.error();
  BenchClusterOptions with_policy = options.cluster;
  with_policy.configuration = "[[policy.pool]]\nname = \"all\"\npreset = \"" + options.preset + "\"\n";
  Result<std::unique_ptr<BenchCluster>> policed = BenchCluster::start(with_policy);
  if (!policed) return policed.error();
  SharesSeries series;
  series.shares.resize(options.weights.size());
  const auto one = [&](BenchCluster& cluster, RunSeries& runs, bool counts) -> Result<void> {
    const std::vector<ProcessCost> before = cluster.costs();
    const Result<BenchRun> run = run_once(cluster.session(), stop_signals, *whole, {});
    if (!run) return run.error();
    if (counts) runs.add(run->total_s, before, cluster.costs());
    return {};
  };
  const auto all = [&](BenchCluster& cluster, RunSeries& runs, bool counts) -> Result<CommonTime> {
    const std::vector<ProcessCost> before = cluster.costs();
    Result<JobsRun> run = run_jobs(cluster.session(), stop_signals, *parts, options.weights);
    if (!run) return run.error();
    if (counts) runs.add(run->total_s, before, cluster.costs());
    return std::move(run->common);
  };
  for (std::uint32_t round = 0; round <= options.repeat; ++round) {
    const bool counts = round > 0;  // The first round warms up.
    PENSTOCK_TRY(one(**free_cluster, series.alone, counts));
    PENSTOCK_TRY(one(**policed, series.policed, counts));
    if (const Result<CommonTime> run = all(**free_cluster, series.unpoliced, counts); !run) return run.error();
    const Result<CommonTime> common = all(**policed, series.together, counts);
    if (!common) return common.error();
    if (!counts) continue;
    series.common_s.push_back(common->seconds);
    for (std::size_t i = 0; i < common->jobs.size(); ++i) series.shares[i].push_back(common->jobs[i].share);
  }
  return to_value(options, series);
}

}  // namespace penstock::tools
