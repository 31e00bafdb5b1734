#include "tools/policy/command_policy_fill.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include "cli/commands/command.hpp"
#include "cli/jobfile/document.hpp"
#include "supervisor/policy/choose_parts.hpp"
#include "tools/policy/distinct_files.hpp"
#include "tools/policy/replay/estimated_shapes.hpp"
#include "tools/policy/replay/fill.hpp"

namespace penstock::tools {
namespace {

struct FillCommand {
  std::string trace;
  std::string bands_path;
  std::int64_t percent = 110;
  std::uint64_t seed = 1;
  std::int64_t period_s = 100;
  std::vector<std::string> fittings{"fragmentation", "binpack"};
};

struct ShapesCommand {
  std::string trace;
  std::string bands_path;
  std::uint32_t jobs = 8152;
  std::uint32_t bands = 1213;
  std::uint64_t seed = 1;
};

Error of_file(Error error, const std::string& path) {
  error.subject = path + ", " + error.subject;
  return error;
}

/// A list without times is as good as others: a filling has its own.
Result<policy::ReplayTrace> load(const FillCommand& command) {
  const Result<std::string> jobs = cli::read_text_file(command.trace);
  if (!jobs) return jobs.error();
  const Result<std::string> list = cli::read_text_file(command.bands_path);
  if (!list) return list.error();
  Result<policy::TraceBands> bands = policy::read_trace_bands(*list);
  if (!bands) return of_file(bands.error(), command.bands_path);
  Result<policy::ReplayTrace> trace = policy::read_trace(*jobs, std::move(bands).value(), 1);
  if (!trace) return of_file(trace.error(), command.trace);
  const auto wants_devices = [](const policy::ReplayJob& job) { return job.devices > 0; };
  if (std::none_of(trace->jobs.begin(), trace->jobs.end(), wants_devices))
    return Error{ErrorCode::InvalidArgument, command.trace, "has no job with devices", "name another list of jobs"};
  if (std::any_of(trace->jobs.begin(), trace->jobs.end(), [](const auto& job) { return job.members != 1; }))
    return Error{ErrorCode::InvalidArgument, command.trace, "has gangs, which the references cannot place",
                 "name a list with jobs of one member"};
  return trace;
}

std::string fixed(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

Value value_of(const policy::FillResult& result) {
  return Value::Record{{"name", result.name},
                       {"devices", result.devices},
                       {"asked_for", result.asked_for},
                       {"allocated", result.allocated},
                       {"unplaced", result.unplaced}};
}

Result<int> fill(const cli::Invocation& invocation, const FillCommand& command) {
  const Result<policy::ReplayTrace> trace = load(command);
  if (!trace) return trace.error();
  const policy::ReplayTrace filling = policy::filling_trace(*trace, command.percent, command.seed);
  std::vector<policy::FillResult> all;
  for (const std::string& fitting : command.fittings) {
    const Result<policy::Parts> parts = policy::choose_parts({.preset = "quota", .fitting = fitting});
    if (!parts) return parts.error();
    all.push_back(policy::fill_by_policy(filling, *parts, command.period_s));
    all.back().name = "`quota`, " + fitting;
  }
  for (const auto& [reference, name] :
       {std::pair{policy::FillReference::BestFit, "best fit"}, std::pair{policy::FillReference::Packing, "packing"},
        std::pair{policy::FillReference::Gradient, "fragmentation gradient descent"}}) {
    all.push_back(policy::fill_by_reference(filling, *trace, reference));
    all.back().name = name;
  }
  if (invocation.json) {
    Value::List values;
    for (const policy::FillResult& each : all) values.push_back(value_of(each));
    cli::print(invocation, Value::Record{{"jobs", std::ssize(filling.jobs)}, {"fillings", values}});
    return int{cli::kSuccess};
  }
  std::cout
      << "| placed by | jobs | devices | allocated | allocated % | jobs not placed |\n|---|---|---|---|---|---|\n";
  for (const policy::FillResult& each : all)
    std::cout << "| " << each.name << " | " << filling.jobs.size() << " | " << each.devices / 1000 << " | "
              << fixed(static_cast<double>(each.allocated) / 1000) << " | " << fixed(each.percent()) << " | "
              << each.unplaced << " |\n";
  return int{cli::kSuccess};
}

Result<int> shapes(const ShapesCommand& command) {
  PENSTOCK_TRY(check_distinct({}, {{"--trace", command.trace}, {"--nodes", command.bands_path}}));
  const policy::TraceText text = policy::estimated_shapes(command.jobs, command.bands, command.seed);
  PENSTOCK_TRY(write_file(command.trace, text.pods));        // tidy: foreign
  PENSTOCK_TRY(write_file(command.bands_path, text.nodes));  // tidy: foreign
  return int{cli::kSuccess};
}

void add_shapes(CLI::App& family, cli::Invocation& invocation) {
  auto options = std::make_shared<ShapesCommand>();
  CLI::App* command = family.add_subcommand(
      "shapes", "Write jobs and bands without times, in proportions that are estimated from the Alibaba 2023 list");
  command->add_option("--trace", options->trace, "File for the jobs")->required();
  command->add_option("--nodes", options->bands_path, "File for the bands")->required();
  command->add_option("--jobs", options->jobs, "Number of jobs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--bands", options->bands, "Number of bands")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("--seed", options->seed, "The same seed gives the same jobs")->capture_default_str();
  command->callback([&invocation, options] { invocation.chosen = [options] { return shapes(*options); }; });
}

}  // namespace

void add_policy_fill(CLI::App& family, cli::Invocation& invocation) {
  add_shapes(family, invocation);
  auto options = std::make_shared<FillCommand>();
  CLI::App* command = family.add_subcommand(
      "fill",
      "Draw jobs of a list until they ask for more devices than there are, and report how many of these are "
      "allocated when no job leaves: by the preset `quota` and by three references");
  command->add_option("--trace", options->trace, "Jobs: our CSV, or the Alibaba GPU 2023 list of pods")->required();
  command->add_option("--nodes", options->bands_path, "Bands: a CSV with sn,cpu_milli,memory_mib,gpu,model")
      ->required();
  command->add_option("--percent", options->percent, "Part of all devices that the jobs ask for")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--seed", options->seed, "The same seed draws the same jobs")->capture_default_str();
  command->add_option("--period", options->period_s, "Jobs that come between two passes")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  command->add_option("--fitting", options->fittings, "A fitting of `quota`; may be given several times")
      ->capture_default_str();
  cli::add_json_option(*command, invocation);
  command->callback(
      [&invocation, options] { invocation.chosen = [&invocation, options] { return fill(invocation, *options); }; });
}

}  // namespace penstock::tools
