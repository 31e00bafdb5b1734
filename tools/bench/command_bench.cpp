// `penstock-lab bench`: measures speed end to end, as in a user's run.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <thread>

#include "cli/commands/command.hpp"
#include "cli/jobfile/wfformat.hpp"
#include "common/host/clock.hpp"
#include "tools/bench/bench_cluster.hpp"
#include "tools/bench/bench_figures.hpp"
#include "tools/bench/bench_jobs.hpp"
#include "tools/bench/bench_run.hpp"
#include "tools/bench/bench_shares.hpp"
#include "tools/bench/metg.hpp"
#include "tools/bench/shapes.hpp"
#include "tools/bench/spawn_bound.hpp"
#include "tools/commands.hpp"

namespace penstock::tools {
namespace {

struct BenchCommand {
  BenchClusterOptions cluster;
  std::string shape = "flat";
  std::uint32_t subtasks = 100000;
  std::uint32_t width = 0;
  std::uint64_t burn_ns = 0;
  std::uint32_t payload = 0;
  std::int64_t output = 0;
  double time_scale = 0.01;
  std::uint32_t repeat = 7;
  bool latency = false;
  bool again = false;
  bool alternate = false;
  std::string program;  ///< A command instead of a native operator; empty: none.
};

Result<Graph> graph_of(const BenchCommand& command) {
  if (command.shape.starts_with("wfformat:")) {
    cli::ReplayOptions replay;
    replay.time_scale = replay.data_scale = command.time_scale;
    Result<cli::WorkflowImport> workflow = cli::read_wfformat(command.shape.substr(9), replay);
    if (!workflow) return workflow.error();
    return std::move(workflow->graph);
  }
  const Result<Shape> shape = parse_shape(command.shape);
  if (!shape) return shape.error();
  ShapeOptions options;
  options.shape = *shape;
  options.subtasks = command.subtasks;
  options.width = command.width;
  options.burn = Duration{static_cast<std::int64_t>(command.burn_ns)};
  options.payload_bytes = command.payload;
  options.output_bytes = command.output;
  Result<Graph> graph = make_graph(options);
  if (graph && command.alternate) alternate_workers(*graph, command.cluster.workers);
  if (graph && !command.program.empty()) become_command(*graph, command.program);
  return graph;
}

Value::List costs_of(const std::vector<ProcessCost>& before, const std::vector<ProcessCost>& after, double subtasks) {
  Value::List rows;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double cpu = after[i].cpu_s - before[i].cpu_s;
    rows.push_back(Value::Record{{"process", after[i].name},
                                 {"cpu_s", cpu},
                                 {"cpu_us_per_subtask", cpu / subtasks * 1e6},
                                 {"peak_bytes", after[i].peak_bytes}});
  }
  return rows;
}

/// The first and last `edge` subtasks of each run.
struct EndRates {
  std::uint64_t edge = 0;
  std::vector<double> first;
  std::vector<double> last;
};

/// The results of the measured runs.
struct Series {
  std::vector<double> totals;
  std::vector<double> accepts;
  std::vector<EndRates> ends;
  std::vector<double> spawns;  ///< The lower bound, measured in turn with the runs.
  Value::List runs;
};

Result<Series> run_series(const BenchCommand& command, client::Session& session, StopSignals& stop_signals,
                          const Graph& graph) {
  const BenchRunOptions options{command.again ? Submission::Again : Submission::Whole, Tracing::Off};
  Series series;
  for (const std::uint64_t edge : {std::uint64_t{10'000}, std::uint64_t{100'000}})
    series.ends.push_back({edge, {}, {}});
  for (std::uint32_t i = 0; i < command.repeat; ++i) {
    const Result<BenchRun> run = run_once(session, stop_signals, graph, options);
    if (!run) return run.error();
    series.totals.push_back(run->total_s);
    series.accepts.push_back(run->accept_s);
    series.runs.emplace_back(run->total_s);
    for (EndRates& ends : series.ends) {
      const EdgeRates rates = edge_rates(run->news, ends.edge);
      if (rates.last_per_s <= 0) continue;
      ends.first.push_back(rates.first_per_s);
      ends.last.push_back(rates.last_per_s);
    }
    if (command.program.empty()) continue;
    const Result<double> bound = spawn_bound_per_s(command.program, command.cluster.slots_in_all(), command.subtasks);
    if (!bound) return bound.error();
    series.spawns.push_back(*bound);
  }
  return series;
}

void add_series(const BenchCommand& command, const Series& series, double size, Value::Record& fields) {
  const double median = median_of(series.totals);
  const double burn_s = static_cast<double>(command.burn_ns) / 1e9 / command.cluster.slots_in_all();
  fields.emplace_back("seconds", median);
  fields.emplace_back("subtasks_per_s", size / median);
  fields.emplace_back("us_per_subtask", median / size * 1e6);
  fields.emplace_back("overhead_us_per_subtask", (median / size - burn_s) * 1e6);
  fields.emplace_back("submit_to_accept", to_value(percentiles_of_seconds(series.accepts)));
  for (const EndRates& ends : series.ends) {
    if (ends.last.empty()) continue;
    const std::string edge = std::to_string(ends.edge);
    fields.emplace_back("first_" + edge + "_per_s", median_of(ends.first));
    fields.emplace_back("last_" + edge + "_per_s", median_of(ends.last));
    fields.emplace_back("last_against_first_" + edge, median_of(ends.last) / median_of(ends.first));
  }
  if (!series.spawns.empty()) {
    fields.emplace_back("spawn_bound_per_s", median_of(series.spawns));
    fields.emplace_back("of_spawn_bound", size / median / median_of(series.spawns));
  }
  fields.emplace_back("runs_s", series.runs);
}

/// As many traced runs as measured ones.
Result<void> add_latencies(const BenchCommand& command, client::Session& session, StopSignals& stop_signals,
                           const Graph& graph, Value::Record& fields) {
  const BenchRunOptions options{command.again ? Submission::Again : Submission::Whole, Tracing::On};
  std::vector<double> from_submit;
  std::vector<double> from_accept;
  SuccessorTimes times;
  for (std::uint32_t i = 0; i < command.repeat; ++i) {
    const Result<BenchRun> traced = run_once(session, stop_signals, graph, options);
    if (!traced) return traced.error();
    from_submit.push_back(traced->first_start_s);
    from_accept.push_back(traced->first_start_s - traced->accept_s);
    add_successor_times(graph, traced->view.traces, times);
  }
  fields.emplace_back("submit_to_first_start", to_value(percentiles_of_seconds(from_submit)));
  fields.emplace_back("accept_to_first_start", to_value(percentiles_of_seconds(from_accept)));
  fields.emplace_back("successor_forwarded", to_value(percentiles_of(std::move(times.forwarded_us))));
  fields.emplace_back("successor_through_supervisor", to_value(percentiles_of(std::move(times.through_supervisor_us))));
  return {};
}

Result<Value> measure(const BenchCommand& command, StopSignals& stop_signals) {
  const Result<Graph> graph = graph_of(command);
  if (!graph) return graph.error();
  Result<std::unique_ptr<BenchCluster>> cluster = BenchCluster::start(command.cluster);
  if (!cluster) return cluster.error();
  client::Session& session = (*cluster)->session();
  if (const Result<BenchRun> warm = run_once(session, stop_signals, *graph, {}); !warm) return warm.error();
  const std::vector<ProcessCost> before = (*cluster)->costs();
  const Result<WireBytes> bytes_before = (*cluster)->wire_bytes();
  const Result<Series> series = run_series(command, session, stop_signals, *graph);
  if (!series) return series.error();
  const Result<WireBytes> bytes_after = (*cluster)->wire_bytes();
  const auto size = static_cast<double>(graph->size());
  Value::Record fields{{"shape", command.shape},
                       {"subtasks", static_cast<std::uint64_t>(graph->size())},
                       {"edges", static_cast<std::uint64_t>(graph->edge_count())},
                       {"workers", command.cluster.embedded ? std::uint32_t{1} : command.cluster.workers},
                       {"bands", command.cluster.bands},
                       {"slots", command.cluster.slots},
                       {"idle_workers", command.cluster.idle_workers},
                       {"embedded", command.cluster.embedded},
                       {"journal", command.cluster.journal && !command.cluster.embedded},
                       {"again", command.again},
                       {"repeat", command.repeat}};
  add_series(command, *series, size, fields);
  if (bytes_before && bytes_after)
    fields.emplace_back("wire_bytes_per_subtask", static_cast<double>(bytes_after->sent + bytes_after->received -
                                                                      bytes_before->sent - bytes_before->received) /
                                                      (size * command.repeat));
  fields.emplace_back("processes", costs_of(before, (*cluster)->costs(), size * command.repeat));
  if (command.latency) PENSTOCK_TRY(add_latencies(command, session, stop_signals, *graph, fields));
  return Value{std::move(fields)};
}

/// The resources that a cluster uses without work.
Result<Value> measure_idle(const BenchClusterOptions& options, Duration duration, StopSignals& stop_signals) {
  Result<std::unique_ptr<BenchCluster>> cluster = BenchCluster::start(options);
  if (!cluster) return cluster.error();
  const std::vector<ProcessCost> before = (*cluster)->costs();
  const Instant begin = monotonic_now();
  const Instant end = later(begin, duration);
  while (monotonic_now() < end && !stop_signals.take())
    std::this_thread::sleep_for(std::chrono::milliseconds{100});  // tidy: allow call: idling is what is measured
  const double wall_s = std::chrono::duration<double>(monotonic_now() - begin).count();
  const std::vector<ProcessCost> after = (*cluster)->costs();
  Value::List rows;
  for (std::size_t i = 1; i < after.size(); ++i)
    rows.push_back(Value::Record{{"process", after[i].name},
                                 {"percent_of_a_core", (after[i].cpu_s - before[i].cpu_s) / wall_s * 100},
                                 {"peak_bytes", after[i].peak_bytes}});
  return Value{
      Value::Record{{"seconds", wall_s}, {"idle_workers", options.idle_workers}, {"processes", std::move(rows)}}};
}

void add_cluster_options(CLI::App& command, BenchClusterOptions& options) {
  command.add_flag("--embedded", options.embedded, "In one process, without sockets");
  command.add_option("--workers", options.workers, "Worker processes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--bands", options.bands, "Bands of each worker")->capture_default_str()->check(CLI::Range(1, 64));
  command.add_option("--slots", options.slots, "Slots of each band")->capture_default_str()->check(CLI::Range(1, 1000));
  command.add_option("--idle-workers", options.idle_workers, "Further workers that are connected and idle")
      ->check(CLI::Range(0, 10'000));
  command.add_flag("--journal,!--no-journal", options.journal,
                   "With a supervisor's journal, on the disk of the temporary files (default); or without it, "
                   "for comparison");
  command.add_option("--set", options.settings, "Change one setting of the daemons; may be repeated")
      ->type_name("SECTION.NAME=VALUE");
}

void add_metg_command(CLI::App& command, cli::Invocation& invocation) {
  auto metg = std::make_shared<MetgOptions>();
  CLI::App* metg_command = command.add_subcommand(
      "metg", "Minimum effective granularity: the shortest subtasks that keep half of the slots' time useful");
  metg_command->add_option("--pattern", metg->pattern, "trivial, stencil, fft, tree or random")->capture_default_str();
  metg_command->add_option("--steps", metg->steps, "Rows of the graph")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  metg_command->add_option("--csv", metg->csv_path, "Write the curve there")->type_name("FILE");
  add_cluster_options(*metg_command, metg->cluster);
  cli::add_json_option(*metg_command, invocation);
  metg_command->callback([&invocation, metg] {
    invocation.chosen = [&invocation, metg]() -> Result<int> {
      PENSTOCK_TRY(cli::begin_log(invocation, LogLevel::Error));
      const Result<MetgCurve> curve = measure_metg(*metg, invocation.stop_signals);
      if (!curve) return curve.error();
      if (!invocation.json) std::cout << draw_metg(*curve);
      cli::print(invocation, to_value(*curve));
      return int{cli::kSuccess};
    };
  });
}

void add_idle_command(CLI::App& command, cli::Invocation& invocation) {
  auto cluster = std::make_shared<BenchClusterOptions>();
  auto seconds = std::make_shared<std::uint32_t>(10);
  CLI::App* idle = command.add_subcommand("idle", "Measure the resources that an idle supervisor and idle workers use");
  idle->add_option("--seconds", *seconds, "Duration of the measurement")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  add_cluster_options(*idle, *cluster);
  cli::add_json_option(*idle, invocation);
  idle->callback([&invocation, cluster, seconds] {
    invocation.chosen = [&invocation, cluster, seconds]() -> Result<int> {
      PENSTOCK_TRY(cli::begin_log(invocation, LogLevel::Error));
      const Result<Value> figures = measure_idle(*cluster, std::chrono::seconds{*seconds}, invocation.stop_signals);
      if (!figures) return figures.error();
      cli::print(invocation, *figures);
      return int{cli::kSuccess};
    };
  });
}

void add_shares_command(CLI::App& command, cli::Invocation& invocation) {
  auto options = std::make_shared<SharesOptions>();
  options->shape.subtasks = 1'000'000;
  auto shape = std::make_shared<std::string>("flat");
  CLI::App* shares = command.add_subcommand("shares",
                                            "Several jobs at once under a policy: their shares, and the cost of "
                                            "dividing compared with one job of their size");
  shares->add_option("--weights", options->weights, "Weights of the jobs, one for each")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->expected(1, 64);
  shares->add_option("--shape", *shape, "flat, chain, chains, stencil, fft, tree, alltoall, random or trivial")
      ->capture_default_str();
  shares->add_option("--subtasks", options->shape.subtasks, "Subtasks of all jobs together")
      ->capture_default_str()
      ->check(CLI::Range(1, 50'000'000));
  auto burn_ns = std::make_shared<std::uint64_t>(0);
  shares->add_option("--burn", *burn_ns, "Nanoseconds that each subtask computes")->capture_default_str();
  shares->add_option("--preset", options->preset, "The policy: one pool with this preset")->capture_default_str();
  shares->add_option("--repeat", options->repeat, "Measured rounds, after one to warm up; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  add_cluster_options(*shares, options->cluster);
  cli::add_json_option(*shares, invocation);
  shares->callback([&invocation, options, shape, burn_ns] {
    invocation.chosen = [&invocation, options, shape, burn_ns]() -> Result<int> {
      PENSTOCK_TRY(cli::begin_log(invocation, LogLevel::Error));
      const Result<Shape> parsed = parse_shape(*shape);
      if (!parsed) return parsed.error();
      options->shape.shape = *parsed;
      options->shape.burn = Duration{static_cast<std::int64_t>(*burn_ns)};
      const Result<Value> figures = measure_shares(*options, invocation.stop_signals);
      if (!figures) return figures.error();
      cli::print(invocation, *figures);
      return int{cli::kSuccess};
    };
  });
}

void add_jobs_command(CLI::App& command, cli::Invocation& invocation) {
  auto options = std::make_shared<QueuedJobsOptions>();
  CLI::App* jobs = command.add_subcommand("jobs",
                                          "Many queued jobs of one subtask: the cost of submit and of the first page "
                                          "of `jobs`, and the memory of each job");
  jobs->add_option("--jobs", options->jobs, "Number of jobs")->capture_default_str()->check(CLI::Range(200, 1'000'000));
  jobs->add_option("--preset", options->preset, "The policy: one pool with this preset (default: no policy)");
  jobs->add_option("--submitters", options->submitters, "Threads that submit at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  add_cluster_options(*jobs, options->cluster);
  cli::add_json_option(*jobs, invocation);
  jobs->callback([&invocation, options] {
    invocation.chosen = [&invocation, options]() -> Result<int> {
      PENSTOCK_TRY(cli::begin_log(invocation, LogLevel::Error));
      const Result<Value> figures = measure_queued_jobs(*options, invocation.stop_signals);
      if (!figures) return figures.error();
      cli::print(invocation, *figures);
      return int{cli::kSuccess};
    };
  });
}

}  // namespace

void add_bench_command(CLI::App& app, cli::Invocation& invocation) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure a cluster: supervisor, workers and client as processes over loopback sockets");
  command
      ->add_option("--shape", options->shape,
                   "flat, chain, chains, stencil, fft, tree, alltoall, random, trivial or wfformat:FILE")
      ->capture_default_str();
  command->add_option("--subtasks", options->subtasks, "Size of the graph")
      ->capture_default_str()
      ->check(CLI::Range(1, 50'000'000));
  command->add_option("--width", options->width, "Subtasks of a row (default: the square root of the size)");
  command->add_option("--burn", options->burn_ns, "Nanoseconds that each subtask computes")->capture_default_str();
  command->add_option("--payload", options->payload, "Bytes of payload of each subtask")->capture_default_str();
  command->add_option("--output", options->output, "Bytes that each subtask makes")->capture_default_str();
  command->add_option("--time-scale", options->time_scale, "Factor for a workflow's recorded times and sizes")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Measured runs, after one to warm up; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_flag("--latency", options->latency,
                    "Add as many traced runs, and print the times from submit to the first start and from an end to "
                    "its successor's start");
  command->add_flag("--alternate", options->alternate,
                    "Each subtask requires another worker than the one before: every edge of a chain crosses");
  command
      ->add_option("--command", options->program,
                   "Subtasks are this program, without arguments; the rate of bare posix_spawn is measured in turn")
      ->type_name("FILE");
  command->add_flag("--again", options->again,
                    "The measured runs submit the graph of the first one again, by one small message");
  add_cluster_options(*command, options->cluster);
  cli::add_json_option(*command, invocation);
  command->callback([&invocation, options, command] {
    invocation.heeds_signals = true;
    if (!command->get_subcommands().empty()) return;
    invocation.chosen = [&invocation, options]() -> Result<int> {
      PENSTOCK_TRY(cli::begin_log(invocation, LogLevel::Error));
      const Result<Value> figures = measure(*options, invocation.stop_signals);
      if (!figures) return figures.error();
      cli::print(invocation, *figures);
      return int{cli::kSuccess};
    };
  });

  add_metg_command(*command, invocation);
  add_idle_command(*command, invocation);
  add_shares_command(*command, invocation);
  add_jobs_command(*command, invocation);
}

}  // namespace penstock::tools
