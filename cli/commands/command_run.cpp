// `penstock run`: runs a job at once, with supervisor and worker in this process and no open port.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/follow.hpp"
#include "cli/commands/job_source.hpp"
#include "cli/commands/worker_setup.hpp"
#include "cli/show/job_report.hpp"
#include "cli/show/render.hpp"
#include "cli/show/result_text.hpp"
#include "cli/show/terminal.hpp"
#include "cli/show/time_spent.hpp"
#include "cli/show/timeline.hpp"
#include "client/embedded/embedded_cluster.hpp"
#include "common/host/clock.hpp"
#include "common/json/json_text.hpp"
#include "worker/actors/process_life.hpp"

namespace penstock::cli {
namespace {

struct RunCommand {
  JobSource source;
  WorkerFlags flags;
  bool quiet = false;
  bool timeline = false;
};

std::string name_of(const Graph& graph, SubtaskIndex subtask) {
  if (graph.name_offsets.empty()) return std::to_string(subtask.value());
  const std::uint32_t begin = graph.name_offsets[subtask.value()];
  return graph.names.substr(begin, graph.name_offsets[subtask.value() + 1] - begin);
}

/// Outputs without a reader are the result; the text of a few printable ones is shown.
Value::List results_of(const client::JobView& view, const Graph& graph, const worker::ObjectStore& store) {
  Value::List results;
  for (const OutputLocation& output : view.outputs) {
    if (output.bytes == 0 || results.size() == kResultsShown) continue;
    const worker::BlobPtr blob = store.load_now(DataKey{{view.id, output.producer}, output.output});
    if (blob == nullptr) continue;
    results.emplace_back(
        describe_result(name_of(graph, output.producer), static_cast<std::uint64_t>(output.bytes), blob->bytes()));
  }
  return results;
}

/// Subtasks of a replay count with their recorded times; others with the measured ones.
ScheduleBounds bounds_of(Graph& graph, const client::JobView& view, std::uint32_t slots) {
  if (graph.expected_ns.empty()) {
    graph.expected_ns.resize(graph.size());
    for (const SubtaskTrace& trace : view.traces)
      graph.expected_ns[trace.run.subtask.value()] = (trace.run.ended_us - trace.run.started_us) * 1000;
  }
  return list_schedule_bound(graph, slots);
}

std::uint32_t slots_of(const worker::WorkerOptions& worker) {
  std::int64_t milli = 0;
  for (const BandDescription& band : worker.bands)
    if (band.kind == BandKind::Cpu) milli += band.capacity.slots.value();
  return static_cast<std::uint32_t>(std::max<std::int64_t>(1, milli / 1000));
}

void print_for_people(const Value& end, const Value::List& results, const RunCommand& command,
                      const client::JobView& view, const std::vector<std::pair<BandId, std::string>>& bands) {
  print_results(std::cout, results);
  std::cerr << describe_failures(view);
  std::cout << to_table(without_failures(end));
  if (command.timeline) {
    TimelineOptions timeline;
    timeline.columns = terminal_columns(1);
    timeline.band_names = bands;
    std::cout << "\n"
              << draw_timeline(view.traces, timeline) << "\n"
              << show_time_spent(measure_time_spent(view.traces));
  }
  std::cout << std::flush;
}

/// `'key' has not made PATH` for each output file that is missing although the job has succeeded. Files that another
/// subtask has read existed for it, and may have been cleaned up.
Value::List missing_files(const client::JobView& view, const Graph& graph, const std::vector<JobOutputFile>& promised) {
  Value::List missing;
  if (view.state != JobState::Succeeded) return missing;
  for (const JobOutputFile& file : promised) {
    std::error_code unreadable;
    if (file.is_read || std::filesystem::exists(file.path, unreadable)) continue;
    missing.emplace_back("'" + name_of(graph, SubtaskIndex{file.subtask}) + "' has not made its output file " +
                         file.path);
  }
  return missing;
}

Result<int> run(Invocation& invocation, const RunCommand& command) {
  Result<FileConfig> config = load_config(invocation);
  if (!config) return config.error();
  PENSTOCK_TRY(begin_log(invocation, LogLevel::Warn));
  Result<JobFile> job = load_job(command.source, "run");
  if (!job) return job.error();
  PENSTOCK_TRY(check_programs(job->graph));
  client::EmbeddedOptions options;
  options.supervisor = config->supervisor;
  Result<worker::WorkerOptions> worker = describe_worker(command.flags, *config);
  if (!worker) return worker.error();
  options.worker = std::move(worker).value();
  options.operator_libraries = job->operator_libraries;
  const Result<std::vector<std::string>> libraries = operator_libraries(command.flags);
  if (!libraries) return libraries.error();
  options.operator_libraries.insert(options.operator_libraries.end(), libraries->begin(), libraries->end());
  worker::name_crashing_operators();
  Result<std::unique_ptr<client::EmbeddedCluster>> cluster = client::EmbeddedCluster::start(options);
  if (!cluster) return cluster.error();

  job->spec.trace = command.timeline || job->graph.expected_ns.empty();
  Graph graph = job->graph;
  const Instant begin = monotonic_now();
  const Result<client::Session::Submitted> submitted = (*cluster)->session().submit(job->spec, std::move(job->graph));
  if (!submitted) return submitted.error();
  FollowOptions following;
  following.job = submitted->job;
  following.name = job->spec.name;
  following.subtasks = graph.size();
  following.quiet = command.quiet || invocation.json;
  following.cancel_on_signal = true;
  const Result<client::JobView> view = follow((*cluster)->session(), invocation.stop_signals, following);
  if (!view) return view.error();
  const Duration makespan = monotonic_now() - begin;

  Value end = describe_end(*view, makespan, bounds_of(graph, *view, slots_of(options.worker)));
  Value::List results = results_of(*view, graph, (*cluster)->store());
  Value::List missing = missing_files(*view, graph, job->output_files);
  const int code = missing.empty() ? exit_code_of(*view) : int{kJobFailed};
  for (const Value& file : missing) std::cerr << "penstock: error: " << *file.text() << std::endl;
  if (invocation.json) {
    Value::Record whole = *end.record();
    if (!missing.empty()) whole.emplace_back("missing_files", std::move(missing));
    whole.emplace_back("results", std::move(results));
    std::cout << to_json(whole, -1) << std::endl;
  } else {
    std::vector<std::pair<BandId, std::string>> bands;
    for (std::uint32_t i = 0; i < options.worker.bands.size(); ++i)
      bands.emplace_back(BandId{WorkerId{1}, BandIndex{static_cast<std::uint16_t>(i)}}, options.worker.bands[i].name);
    print_for_people(end, results, command, *view, bands);
  }
  return int{code};
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunCommand>();
  CLI::App* command = app.add_subcommand("run", "Run a job here, in one process and without a port");
  add_job_source(*command, options->source);
  add_worker_flags(*command, options->flags);
  command->add_flag("--timeline", options->timeline,
                    "Draw when and where the subtasks ran, and print how the time was spent");
  command->add_flag("-q,--quiet", options->quiet, "No progress");
  add_json_option(*command, invocation);
  add_config_options(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return run(invocation, *options); };
  });
}

}  // namespace penstock::cli
