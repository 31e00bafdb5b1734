// `penstock bench`: how fast it is, end to end, as a user's run would be.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/bench_cluster.hpp"
#include "cli/bench_figures.hpp"
#include "cli/command.hpp"
#include "cli/metg.hpp"
#include "cli/shapes.hpp"
#include "cli/wfformat.hpp"
#include "common/runtime/clock.hpp"

namespace penstock::cli {
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
};

/// One job from the call of submit to its last result.
struct BenchRun {
  double accept_s = 0;
  double total_s = 0;
  double first_start_s = 0;  ///< From accepted to the first start; traced runs on one host only.
  client::JobView view;
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Result<Graph> graph_of(const BenchCommand& command) {
  if (command.shape.starts_with("wfformat:")) {
    ReplayOptions replay;
    replay.time_scale = replay.data_scale = command.time_scale;
    Result<WorkflowImport> workflow = read_wfformat(command.shape.substr(9), replay);
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
  return make_graph(options);
}

enum class Submission : std::uint8_t { Whole, Again };

Result<BenchRun> run_once(client::Session& session, StopSignals& stop_signals, const Graph& graph, bool trace,
                          Submission submission = Submission::Whole) {
  JobSpec spec;
  spec.name = "bench-" + std::to_string(monotonic_now().time_since_epoch().count());
  spec.trace = trace;
  // A graph that is sent whole is given away; that copy is the benchmark's, not the engine's.
  Graph copy = submission == Submission::Whole ? graph : Graph{};
  BenchRun run;
  const Instant begin = monotonic_now();
  const Result<client::Session::Submitted> submitted =
      submission == Submission::Whole ? session.submit(spec, std::move(copy)) : session.submit_again(spec, graph);
  if (!submitted) return submitted.error();
  if (submission == Submission::Again && submitted->sent_whole)
    return Error{ErrorCode::UnknownGraph, spec.name, "was sent whole: the supervisor has not kept the graph",
                 "raise `supervisor.cached_graph_bytes_max` with --set"};
  const Instant accepted = monotonic_now();
  const Result<JobState> state = wait_unless_stopped(session, stop_signals, submitted->job);
  const Instant end = monotonic_now();
  if (!state) return state.error();
  run.accept_s = seconds(accepted - begin);
  run.total_s = seconds(end - begin);
  run.view = session.view(submitted->job);
  session.release(submitted->job);
  session.forget(submitted->job);
  if (*state != JobState::Succeeded || run.view.counts.succeeded != graph.size())
    return Error{ErrorCode::Internal, spec.name, "has not succeeded: " + to_string(run.view.error), {}};
  std::uint64_t first_us = UINT64_MAX;
  for (const SubtaskTrace& traced : run.view.traces) first_us = std::min(first_us, traced.run.started_us);
  if (trace) run.first_start_s = static_cast<double>(first_us) / 1e6 - seconds(accepted.time_since_epoch());
  return run;
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

Result<Value> measure(const BenchCommand& command, StopSignals& stop_signals) {
  const Result<Graph> graph = graph_of(command);
  if (!graph) return graph.error();
  Result<std::unique_ptr<BenchCluster>> cluster = BenchCluster::start(command.cluster);
  if (!cluster) return cluster.error();
  client::Session& session = (*cluster)->session();
  if (const Result<BenchRun> warm = run_once(session, stop_signals, *graph, false); !warm) return warm.error();
  const Submission submission = command.again ? Submission::Again : Submission::Whole;
  const std::vector<ProcessCost> before = (*cluster)->costs();
  std::vector<double> totals;
  std::vector<double> accepts;
  Value::List runs;
  for (std::uint32_t i = 0; i < command.repeat; ++i) {
    const Result<BenchRun> run = run_once(session, stop_signals, *graph, false, submission);
    if (!run) return run.error();
    totals.push_back(run->total_s);
    accepts.push_back(run->accept_s);
    runs.emplace_back(run->total_s);
  }
  const auto size = static_cast<double>(graph->size());
  const double median = median_of(totals);
  Value::Record fields{{"shape", command.shape},
                       {"subtasks", static_cast<std::uint64_t>(graph->size())},
                       {"edges", static_cast<std::uint64_t>(graph->edge_count())},
                       {"workers", command.cluster.embedded ? std::uint32_t{1} : command.cluster.workers},
                       {"slots", command.cluster.slots},
                       {"embedded", command.cluster.embedded},
                       {"again", command.again},
                       {"repeat", command.repeat},
                       {"seconds", median},
                       {"subtasks_per_s", size / median},
                       {"us_per_subtask", median / size * 1e6},
                       {"submit_to_accept_s", median_of(accepts)},
                       {"runs_s", std::move(runs)},
                       {"processes", costs_of(before, (*cluster)->costs(), size * command.repeat)}};
  if (command.latency) {
    const Result<BenchRun> traced = run_once(session, stop_signals, *graph, true);
    if (!traced) return traced.error();
    const SuccessorDelays delays = successor_delays(*graph, traced->view.traces);
    fields.emplace_back("accept_to_first_start_us", traced->first_start_s * 1e6);
    fields.emplace_back("successor_forwarded", to_value(delays.forwarded));
    fields.emplace_back("successor_through_supervisor", to_value(delays.through_supervisor));
  }
  return Value{std::move(fields)};
}

void add_cluster_options(CLI::App& command, BenchClusterOptions& options) {
  command.add_flag("--embedded", options.embedded, "In one process, without sockets");
  command.add_option("--workers", options.workers, "Worker processes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--slots", options.slots, "Slots of each worker")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_flag("--journal", options.journal, "With a journal, on the disk of the temporary files");
  command.add_option("--set", options.settings, "Change one setting of the daemons; may be repeated")
      ->type_name("SECTION.NAME=VALUE");
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure it: supervisor, workers and client as processes over loopback sockets");
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
  command->add_option("--time-scale", options->time_scale, "Of a workflow's recorded times and sizes")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Measured runs, after one to warm up; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_flag("--latency", options->latency,
                    "One more run, traced: from accepted to the first start, from an end to its successor's start");
  command->add_flag("--again", options->again,
                    "The measured runs submit the graph of the first one again, by one small message");
  add_cluster_options(*command, options->cluster);
  add_json_option(*command, invocation);
  command->callback([&invocation, options, command] {
    if (!command->get_subcommands().empty()) return;
    invocation.chosen = [&invocation, options]() -> Result<int> {
      PENSTOCK_TRY(begin_log(invocation, LogLevel::Error));
      const Result<Value> figures = measure(*options, invocation.stop_signals);
      if (!figures) return figures.error();
      print(invocation, *figures);
      return int{kSuccess};
    };
  });

  auto metg = std::make_shared<MetgOptions>();
  CLI::App* metg_command = command->add_subcommand(
      "metg", "Minimum effective granularity: the shortest subtasks that keep half of the slots' time useful");
  metg_command->add_option("--pattern", metg->pattern, "trivial, stencil, fft, tree or random")->capture_default_str();
  metg_command->add_option("--steps", metg->steps, "Rows of the graph")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  metg_command->add_option("--csv", metg->csv_path, "Write the curve there")->type_name("FILE");
  add_cluster_options(*metg_command, metg->cluster);
  add_json_option(*metg_command, invocation);
  metg_command->callback([&invocation, metg] {
    invocation.chosen = [&invocation, metg]() -> Result<int> {
      PENSTOCK_TRY(begin_log(invocation, LogLevel::Error));
      const Result<MetgCurve> curve = measure_metg(*metg, invocation.stop_signals);
      if (!curve) return curve.error();
      if (!invocation.json) std::cout << draw_metg(*curve);
      print(invocation, to_value(*curve));
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
