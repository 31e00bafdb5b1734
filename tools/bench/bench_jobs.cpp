#include "tools/bench/bench_jobs.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "common/host/clock.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock::tools {
namespace {

constexpr std::uint32_t kLists = 200;
constexpr Bytes kMoreThanAnyWorker = kGiB * (1 << 20);

double seconds_since(Instant begin) { return std::chrono::duration<double>(monotonic_now() - begin).count(); }

JobSpec spec_of(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  spec.wait_for_resources = true;
  return spec;
}

Result<Graph> one_subtask(bool fits) {
  Result<Graph> graph = make_graph(ShapeOptions{.shape = Shape::Flat, .subtasks = 1});
  if (graph && !fits) graph->templates[0].request.memory = kMoreThanAnyWorker;
  return graph;
}

/// One program on each slot that outlasts the measurement.
Result<void> fill_slots(client::Session& session, std::uint32_t slots) {
  Result<Graph> graph = make_graph(ShapeOptions{.shape = Shape::Flat, .subtasks = slots});
  if (!graph) return graph.error();
  become_command(*graph, "/bin/sleep");
  for (Template& each : graph->templates) each.arguments = {"infinity"};
  const Result<client::Session::Submitted> submitted =
      session.submit(spec_of("fills all slots"), std::move(graph).value());
  if (!submitted) return submitted.error();
  return {};
}

/// Shared by the submitting threads.
struct Submissions {
  // Invariant: a number is given once; tests/integration/tools under the thread sanitizer.
  std::atomic<std::uint32_t> begun{0};
  std::mutex mutex;  // Invariant: guards all below.
  std::vector<double> submit_s;
  std::vector<double> list_s;
  std::optional<Error> error;
};

Result<double> list_once(client::Session& session) {
  const Instant begin = monotonic_now();
  const Result<Value> page = session.ask("jobs", {"--limit=50"});
  if (!page) return page.error();
  return seconds_since(begin);
}

Result<double> submit_one(client::Session& session, std::uint32_t number) {
  Result<Graph> graph = one_subtask(number % 4 != 0);
  if (!graph) return graph.error();
  const Instant begin = monotonic_now();
  const Result<client::Session::Submitted> submitted =
      session.submit(spec_of("queued-" + std::to_string(number)), std::move(graph).value());
  if (!submitted) return submitted.error();
  const double seconds = seconds_since(begin);
  session.detach(submitted->job);
  return seconds;
}

/// Submits jobs in turn with the other threads. `kLists` times among all jobs the first page is asked for.
Result<void> submit_in_turn(client::Session& session, StopSignals& stop_signals, std::uint32_t jobs, Submissions& all) {
  for (std::uint32_t number = all.begun++; number < jobs; number = all.begun++) {
    if (stop_signals.take()) return Error{ErrorCode::Cancelled, "bench jobs", "was stopped by a signal", {}};
    const Result<double> submitted = submit_one(session, number);
    if (!submitted) return submitted.error();
    const bool lists = (number + 1) % (jobs / kLists) == 0;
    const Result<double> listed = lists ? list_once(session) : Result<double>{0.0};
    if (!listed) return listed.error();
    const std::lock_guard lock{all.mutex};
    all.submit_s.push_back(*submitted);
    if (lists) all.list_s.push_back(*listed);
  }
  return {};
}

std::int64_t supervisor_bytes(const BenchCluster& cluster) {
  for (const ProcessCost& cost : cluster.costs())
    if (cost.name == "supervisor") return cost.peak_bytes;
  return 0;
}

}  // namespace

Result<Value> measure_queued_jobs(const QueuedJobsOptions& options, StopSignals& stop_signals) {
  if (options.cluster.embedded)
    return Error{ErrorCode::InvalidArgument, "--embedded", "has no supervisor of its own", "leave it out"};
  BenchClusterOptions with_policy = options.cluster;
  if (!options.preset.empty()) {
    if (const auto known = supervisor::check_parts({PoolConfig{.name = "all", .preset = options.preset}}); !known)
      return known.error();
    with_policy.configuration = "[[policy.pool]]\nname = \"all\"\npreset = \"" + options.preset + "\"\n";
  }
  Result<std::unique_ptr<BenchCluster>> cluster = BenchCluster::start(with_policy);
  if (!cluster) return cluster.error();
  client::Session& session = (*cluster)->session();
  PENSTOCK_TRY(fill_slots(session, options.cluster.slots_in_all()));
  const std::int64_t bytes_before = supervisor_bytes(**cluster);
  const Instant begin = monotonic_now();
  Submissions submissions;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < options.submitters; ++i)
    threads.emplace_back([&] {
      const Result<void> done = submit_in_turn(session, stop_signals, options.jobs, submissions);
      if (done) return;
      const std::lock_guard lock{submissions.mutex};
      submissions.error = done.error();
      submissions.begun = options.jobs;  // The other threads end, too.
    });
  for (std::thread& thread : threads) thread.join();
  if (submissions.error) return *submissions.error;
  const double total_s = seconds_since(begin);
  const double bytes = static_cast<double>(supervisor_bytes(**cluster) - bytes_before) / options.jobs;
  return Value{Value::Record{{"jobs", options.jobs},
                             {"preset", options.preset.empty() ? std::string{"none"} : options.preset},
                             {"workers", options.cluster.workers},
                             {"slots", options.cluster.slots},
                             {"journal", options.cluster.journal},
                             {"seconds", total_s},
                             {"jobs_per_s", options.jobs / total_s},
                             {"submit", to_value(percentiles_of_seconds(submissions.submit_s))},
                             {"first_page", to_value(percentiles_of_seconds(submissions.list_s))},
                             {"bytes_per_job", bytes}}};
}

}  // namespace penstock::tools
