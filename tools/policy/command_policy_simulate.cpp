#include "tools/policy/command_policy_simulate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/jobfile/document.hpp"
#include "cli/show/render.hpp"
#include "cli/show/terminal.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "supervisor/policy/choose_parts.hpp"
#include "tools/plot/svg_plot.hpp"
#include "tools/policy/command_policy_site.hpp"
#include "tools/policy/distinct_files.hpp"
#include "tools/policy/replay/replay.hpp"
#include "tools/policy/replay/replay_site.hpp"

namespace penstock::tools {
namespace {

struct SimulateCommand {
  std::string trace;
  std::string bands_path;
  std::uint32_t bands = 10;
  std::int64_t devices = 8;
  std::vector<std::string> policies;
  std::int64_t period_s = 10;
  bool preemption = false;
  std::string csv;
  std::string svg;
  std::string jobs;
  std::int64_t lifetime_s = 0;
  std::string pool;
};

struct GenerateCommand {
  policy::TraceShape shape;
  std::string trace;
  std::string bands_path;
};

struct Played {
  std::string name;
  policy::ReplayReport report;
};

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

Value waits_value(const policy::ReplayWaits& waits) {
  return Value::Record{{"project", waits.project},
                       {"jobs", waits.jobs},
                       {"never_started", waits.never_started},
                       {"wait_mean_s", waits.mean_s},
                       {"wait_median_s", waits.median_s},
                       {"wait_p95_s", waits.p95_s},
                       {"wait_max_s", waits.max_s},
                       {"completion_mean_s", waits.completion.mean_s},
                       {"completion_median_s", waits.completion.median_s},
                       {"completion_p95_s", waits.completion.p95_s},
                       {"completion_max_s", waits.completion.max_s}};
}

Value while_arriving_value(const policy::ReplayReport& report) {
  if (!report.while_arriving) return Value{};
  const policy::ReplaySample& mean = *report.while_arriving;
  return Value::Record{{"used", mean.used}, {"fairness", mean.fairness}, {"fragmented", mean.fragmented}};
}

Value report_value(const Played& played) {
  const policy::ReplayReport& report = played.report;
  Value::List projects;
  for (const policy::ReplayWaits& each : report.projects) projects.push_back(waits_value(each));
  Value::List samples;
  for (const policy::ReplaySample& each : report.samples)
    samples.push_back(Value::Record{{"at_s", each.at_s},
                                    {"used", each.used},
                                    {"fragmented", each.fragmented},
                                    {"fairness", each.fairness},
                                    {"waiting", each.waiting}});
  return Value::Record{{"policy", played.name},
                       {"used", report.mean.used},
                       {"fairness", report.mean.fairness},
                       {"fragmented", report.mean.fragmented},
                       {"while_jobs_arrive", while_arriving_value(report)},
                       {"refused", report.refused},
                       {"first_refusal", report.first_refusal},
                       {"never_fits", report.never_fits},
                       {"never_whole", report.never_whole},
                       {"never_ended", report.never_ended},
                       {"preemptions", report.preemptions},
                       {"moves", report.moves},
                       {"passes", report.passes},
                       {"ended_s", report.ended_s},
                       {"all", waits_value(report.all)},
                       {"projects", projects},
                       {"samples", samples}};
}

/// The oddities of the trace, and their treatment; empty without oddities.
std::vector<std::pair<std::string, std::int64_t>> oddities(const policy::TraceOddities& odd) {
  std::vector<std::pair<std::string, std::int64_t>> all = {
      {"never deleted, so that they run to the last time that the trace names", odd.without_end},
      {"never started, so that they run for as long as they were there", odd.without_start},
      {"without a class, so that their project is `none`", odd.without_class},
      {"deleted before they came or started, so that they run for one second", odd.ends_early},
      {"that do not say when they came, so that they come at 0", odd.without_arrival},
      {"that do not say how many devices, processors or how much memory they want, so that they want none of it",
       odd.without_amount},
      {"with a part of 0 of a device, or none said, so that they have a whole one", odd.share_of_nothing},
      {"with a part of several devices, so that they have whole ones", odd.share_of_several},
      {"that ask for a model that no band has, and are left out", odd.unknown_models},
      {"with the name of an earlier one, so that the lines of `--jobs` do not tell them apart", odd.same_name},
  };
  std::erase_if(all, [](const auto& each) { return each.second == 0; });
  return all;
}

Value oddities_value(const policy::TraceOddities& odd) {
  return Value::Record{{"without_end", odd.without_end},           {"without_start", odd.without_start},
                       {"without_class", odd.without_class},       {"ends_early", odd.ends_early},
                       {"without_arrival", odd.without_arrival},   {"without_amount", odd.without_amount},
                       {"share_of_nothing", odd.share_of_nothing}, {"share_of_several", odd.share_of_several},
                       {"unknown_models", odd.unknown_models},     {"same_name", odd.same_name}};
}

void print_tables(const std::vector<Played>& all) {
  std::cout << "| policy | used % | while jobs arrive | fairness | fragmented % | wait mean s | median s | 95% s | "
               "longest s | done after mean s | median s | 95% s | preemptions | of them moves | ended at s | never "
               "started |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Played& played : all) {
    const policy::ReplayReport& report = played.report;
    const std::string arriving = report.while_arriving ? fixed(100 * report.while_arriving->used, 1) : "-";
    std::cout << "| `" << played.name << "` | " << fixed(100 * report.mean.used, 1) << " | " << arriving << " | "
              << fixed(report.mean.fairness, 3) << " | " << fixed(100 * report.mean.fragmented, 1) << " | "
              << fixed(report.all.mean_s, 0) << " | " << report.all.median_s << " | " << report.all.p95_s << " | "
              << report.all.max_s << " | " << fixed(report.all.completion.mean_s, 0) << " | "
              << report.all.completion.median_s << " | " << report.all.completion.p95_s << " | " << report.preemptions
              << " | " << report.moves << " | " << report.ended_s << " | " << report.all.never_started << " |\n";
  }
  std::cout << "\n| policy | project | jobs | wait mean s | median s | 95% s | longest s | done after mean s | median "
               "s | 95% s |\n"
               "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Played& played : all)
    for (const policy::ReplayWaits& each : played.report.projects)
      std::cout << "| `" << played.name << "` | " << each.project << " | " << each.jobs << " | "
                << fixed(each.mean_s, 0) << " | " << each.median_s << " | " << each.p95_s << " | " << each.max_s
                << " | " << fixed(each.completion.mean_s, 0) << " | " << each.completion.median_s << " | "
                << each.completion.p95_s << " |\n";
}

void print_unfinished(const std::vector<Played>& all) {
  for (const Played& played : all) {
    const policy::ReplayReport& report = played.report;
    if (const std::int64_t too_large = report.never_fits - report.never_whole; too_large > 0)
      std::cout << "\n"
                << too_large << " jobs that the bands could not hold if they were empty, under `" << played.name
                << "`.\n";
    if (report.refused > 0)
      std::cout << "\n"
                << report.refused << " jobs that are refused under `" << played.name
                << "`; the first: " << cli::harmless(report.first_refusal) << ".\n";
    if (report.never_whole > 0)
      std::cout << "\n"
                << report.never_whole << " gangs that fit neither on one band nor on whole bands of one size, under `"
                << played.name << "`, which places them so.\n";
    if (played.report.never_ended > 0)
      std::cout << "\n"
                << played.report.never_ended << " jobs that started and never ended under `" << played.name << "`.\n";
    for (const std::string& trouble : report.troubles)
      std::cout << "\nThe cluster under `" << played.name << "` complained: " << cli::harmless(trouble) << ".\n";
  }
}

std::string or_nothing(std::int64_t second) { return second < 0 ? std::string{} : std::to_string(second); }

/// As RFC 4180 requires: names may contain anything.
std::string csv_field(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string field = "\"";
  for (const char each : name) field += each == '"' ? std::string{"\"\""} : std::string{each};
  return field + "\"";
}

/// The outcome of each job; several bands, or times, are in one field with `;` between them.
std::string jobs_csv(const policy::ReplayTrace& trace, const std::vector<Played>& all) {
  std::string text = "policy,job,project,arrived_s,started_s,ended_s,bands,preempted_s,waited_s\n";
  for (const Played& played : all)
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      const policy::ReplayJob& job = trace.jobs[i];
      const policy::ReplayOutcome& outcome = played.report.jobs[i];
      std::string bands;
      for (const std::uint32_t band : outcome.bands) bands += (bands.empty() ? "" : ";") + trace.bands[band].name;
      std::string preempted;
      for (const std::int64_t each : outcome.preempted_s)
        preempted += (preempted.empty() ? "" : ";") + std::to_string(each);
      text += csv_field(played.name) + "," + csv_field(job.name) + "," + csv_field(trace.projects[job.project]) + "," +
              std::to_string(job.arrives_s) + "," + or_nothing(outcome.started_s) + "," + or_nothing(outcome.ended_s) +
              "," + csv_field(bands) + "," + preempted + "," + std::to_string(outcome.waited_s) + "\n";
    }
  return text;
}

std::string samples_csv(const std::vector<Played>& all) {
  std::string text = "policy,at_s,used,fragmented,fairness,waiting\n";
  for (const Played& played : all)
    for (const policy::ReplaySample& each : played.report.samples)
      text += csv_field(played.name) + "," + std::to_string(each.at_s) + "," + fixed(each.used, 5) + "," +
              fixed(each.fragmented, 5) + "," + fixed(each.fairness, 5) + "," + fixed(each.waiting, 3) + "\n";
  return text;
}

struct Figure {
  std::string name;
  std::string title;
  double y_max;
  double (*value)(const policy::ReplaySample&);
};

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = {
      {"used", "Devices in use, part of all", 1, [](const policy::ReplaySample& each) { return each.used; }},
      {"fairness", "Jain's index of devices held over entitlement", 1,
       [](const policy::ReplaySample& each) { return each.fairness; }},
      {"fragmented", "Free devices that a job of the trace could not use, part of those free", 1,
       [](const policy::ReplaySample& each) { return each.fragmented; }},
      {"waiting", "Jobs that wait", 0, [](const policy::ReplaySample& each) { return each.waiting; }},
  };
  return all;
}

std::string svg_path(const SimulateCommand& command, const Figure& figure) {
  return command.svg + figure.name + ".svg";
}

/// One picture for each figure, with one curve for each policy.
Result<void> write_plots(const std::vector<Played>& all, const SimulateCommand& command) {
  if (command.svg.empty()) return {};
  for (const Figure& figure : figures()) {
    Plot plot{figure.title, "seconds", {}, figure.y_max, {}};
    for (const Played& played : all) {
      PlotCurve& curve = plot.curves.emplace_back();
      curve.name = played.name;
      for (const policy::ReplaySample& each : played.report.samples)
        curve.points.emplace_back(static_cast<double>(each.at_s), figure.value(each));
    }
    PENSTOCK_TRY(write_file(svg_path(command, figure), svg_plot(plot)));
  }
  return {};
}

/// The mistake of a list, with its file.
Error of_file(Error error, const std::string& path) {
  error.subject = path + ", " + error.subject;
  return error;
}

Result<policy::ReplayTrace> load_trace(const SimulateCommand& command) {
  const Result<std::string> text = cli::read_text_file(command.trace);
  if (!text) return text.error();
  policy::TraceBands bands = policy::equal_trace_bands(command.bands, command.devices);
  if (!command.bands_path.empty()) {
    const Result<std::string> list = cli::read_text_file(command.bands_path);
    if (!list) return list.error();
    Result<policy::TraceBands> read = policy::read_trace_bands(*list);
    if (!read) return of_file(read.error(), command.bands_path);
    bands = std::move(*read);
  }
  Result<policy::ReplayTrace> trace = policy::read_trace(*text, std::move(bands), command.lifetime_s);
  if (!trace) return of_file(trace.error(), command.trace);
  return trace;
}

/// One replay.
struct Contestant {
  std::string name;
  policy::ReplayOptions options;
};

/// The preset as a pool. `--preemption` is for those with a choice.
Result<PoolConfig> pool_of(const std::string& preset, const SimulateCommand& command) {
  PoolConfig pool{.name = "all", .preset = preset};
  PENSTOCK_TRY(policy::preset(preset));
  if (command.preemption && policy::choose_parts({.preset = preset, .preemption = true})) pool.preemption = true;
  return pool;
}

/// `of_site`: a pool of a configuration takes part as well.
Result<std::vector<Contestant>> chosen_presets(const SimulateCommand& command, const policy::ReplayTrace& trace,
                                               bool of_site) {
  std::vector<std::string> names = command.policies;
  if (names.empty() && !of_site)
    for (const policy::Preset* each = policy::presets(); !each->name.empty(); ++each) names.emplace_back(each->name);
  std::vector<Contestant> all;
  for (const std::string& name : names) {
    Result<PoolConfig> pool = pool_of(name, command);
    if (!pool) return pool.error();
    all.push_back({name, {}});
    all.back().options.supervisor.policy = policy::policy_of_equals(trace, std::move(pool).value());
  }
  return all;
}

/// Warnings are written like messages: the figures are for programs.
Result<Contestant> chosen_pool(const cli::Invocation& invocation, const SupervisorConfig& config,
                               const std::string& pool, const policy::ReplayTrace& trace) {
  Result<SitePool> site = site_pool(config.policy, pool, trace.projects);
  if (!site) return site.error();
  for (const std::string& warning : supervisor::warnings_of(config.policy))
    std::cerr << invocation.program << ": warning: " << cli::harmless(warning) << std::endl;
  Contestant contestant{"pool " + site->name, {.supervisor = config}};
  contestant.options.supervisor.policy = std::move(site->policy);
  return contestant;
}

/// Whether a pool of a configuration is requested.
bool is_of_site(const cli::Invocation& invocation, const SimulateCommand& command) {
  return !invocation.config_path.empty() || !invocation.settings.empty() || !command.pool.empty();
}

/// Checks that no output file is an input, or is named twice.
Result<void> check_files(const cli::Invocation& invocation, const SimulateCommand& command) {
  std::vector<NamedFile> files{{"--csv", command.csv}, {"--jobs", command.jobs}};
  for (const Figure& figure : figures())
    if (!command.svg.empty()) files.push_back({"--svg", svg_path(command, figure)});
  const std::string config = is_of_site(invocation, command) ? cli::config_path_of(invocation) : std::string{};
  return check_distinct({{"--trace", command.trace}, {"--nodes", command.bands_path}, {"--config", config}}, files);
}

/// Opens all output files before the replay, so that a replay of minutes cannot fail at the end.
Result<void> try_files(const SimulateCommand& command) {
  if (!command.csv.empty()) PENSTOCK_TRY(write_file(command.csv, ""));
  if (!command.jobs.empty()) PENSTOCK_TRY(write_file(command.jobs, ""));
  PENSTOCK_TRY(write_plots({}, command));
  return {};
}

/// On a terminal, prints the progress: replays of large traces take a minute each.
std::function<void(std::int64_t)> progress_of(const std::string& policy, std::size_t jobs) {
  if (!cli::is_terminal(2)) return {};
  return [policy, jobs, shown = std::int64_t{-1}](std::int64_t ended) mutable {
    const std::int64_t percent = ended * 100 / static_cast<std::int64_t>(std::max<std::size_t>(jobs, 1));
    if (percent == shown) return;
    shown = percent;
    std::cerr << "\r" << policy << ": " << percent << "% of " << jobs << " jobs\x1b[K" << std::flush;
  };
}

Result<int> simulate(const cli::Invocation& invocation, const SimulateCommand& command) {
  PENSTOCK_TRY(check_files(invocation, command));
  const bool of_site = is_of_site(invocation, command);
  for (const std::string& name : command.policies) PENSTOCK_TRY(policy::preset(name));
  Result<FileConfig> config = of_site ? cli::load_config(invocation) : FileConfig{};
  if (!config) return config.error();
  Result<policy::ReplayTrace> trace = load_trace(command);
  if (trace && of_site) trace = with_priorities_of(config->supervisor.policy, command.pool, std::move(trace).value());
  if (!trace) return trace.error();
  Result<std::vector<Contestant>> policies = chosen_presets(command, *trace, of_site);
  if (!policies) return policies.error();
  if (of_site) {
    Result<Contestant> pool = chosen_pool(invocation, config->supervisor, command.pool, *trace);
    if (!pool) return pool.error();
    policies->insert(policies->begin(), std::move(pool).value());
  }
  PENSTOCK_TRY(try_files(command));
  std::vector<Played> all;
  Value::List values;
  for (Contestant& each : *policies) {
    policy::ReplayOptions& options = each.options;
    options.supervisor.policy.period = std::chrono::seconds{command.period_s};
    options.progress = progress_of(each.name, trace->jobs.size());
    all.push_back({each.name, policy::replay(*trace, options)});
    if (options.progress) std::cerr << "\r\x1b[K" << std::flush;
    values.push_back(report_value(all.back()));
  }
  if (!command.csv.empty()) PENSTOCK_TRY(write_file(command.csv, samples_csv(all)));
  if (!command.jobs.empty()) PENSTOCK_TRY(write_file(command.jobs, jobs_csv(*trace, all)));
  PENSTOCK_TRY(write_plots(all, command));
  if (invocation.json) {
    cli::print(invocation, Value::Record{{"policies", values}, {"oddities", oddities_value(trace->odd)}});
    return int{cli::kSuccess};
  }
  print_tables(all);
  for (const auto& [what, count] : oddities(trace->odd)) std::cout << "\n" << count << " jobs " << what << ".\n";
  print_unfinished(all);
  return int{cli::kSuccess};
}

Result<int> generate(const GenerateCommand& command) {
  PENSTOCK_TRY(check_distinct({}, {{"--trace", command.trace}, {"--nodes", command.bands_path}}));
  const policy::TraceText text = policy::generate_trace(command.shape);
  PENSTOCK_TRY(write_file(command.trace, text.pods));        // tidy: foreign
  PENSTOCK_TRY(write_file(command.bands_path, text.nodes));  // tidy: foreign
  return int{cli::kSuccess};
}

void add_simulate(CLI::App& family, cli::Invocation& invocation) {
  auto options = std::make_shared<SimulateCommand>();
  CLI::App* command = family.add_subcommand(
      "simulate", "Replay a trace of jobs through the production policy in virtual time, and report the results");
  command->add_option("--trace", options->trace, "Jobs: our CSV, or the Alibaba GPU 2023 list of pods")->required();
  CLI::Option* nodes =
      command->add_option("--nodes", options->bands_path, "Bands: a CSV with sn,cpu_milli,memory_mib,gpu,model");
  command->add_option("--bands", options->bands, "Or: this many equal bands")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000))
      ->excludes(nodes);
  command->add_option("--devices", options->devices, "Devices of each band")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024))
      ->excludes(nodes);
  command->add_option("--policy", options->policies, "A preset; may be given several times (default: each in turn)");
  command->add_option("--period", options->period_s, "Seconds between passes while nothing changes (`policy.period`)")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  command->add_flag("--preemption", options->preemption, "Let `priority` preempt");
  command->add_option("--lifetime", options->lifetime_s, "Run time of jobs in seconds, if the list has no times")
      ->check(CLI::Range(1, 1'000'000'000));
  command->add_option("--csv", options->csv, "Write the figures over time to this file");
  command->add_option("--jobs", options->jobs, "Write the outcome of each job to this file");
  command->add_option("--svg", options->svg, "Write plots to files with this prefix");
  command
      ->add_option("--config", invocation.config_path,
                   "Replay under a pool of these settings; with `--pool` or `--set` the default is PENSTOCK_CONFIG, or "
                   "penstock.toml here. Without any of the three only presets are used")
      ->type_name("FILE");
  command->add_option("--pool", options->pool, "Pool of the settings; not needed if there is only one");
  cli::add_set_option(*command, invocation);
  cli::add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.chosen = [&invocation, options] { return simulate(invocation, *options); };
  });
}

}  // namespace

void add_policy_simulation(CLI::App& family, cli::Invocation& invocation) {
  add_simulate(family, invocation);
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = family.add_subcommand("generate", "Generate a trace in the Alibaba GPU 2023 format from a seed");
  command->add_option("--trace", options->trace, "File for the jobs")->required();
  command->add_option("--nodes", options->bands_path, "File for the bands")->required();
  command->add_option("--jobs", options->shape.jobs, "Number of jobs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--bands", options->shape.bands, "Number of bands")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("--load", options->shape.load_percent, "Percent of the devices in use if no job waits")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--seed", options->shape.seed, "The same seed gives the same trace")->capture_default_str();
  command->callback([&invocation, options] { invocation.chosen = [options] { return generate(*options); }; });
}

}  // namespace penstock::tools
