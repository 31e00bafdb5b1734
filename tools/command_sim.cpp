// `penstock-lab sim`: the production cores in a virtual cluster, with faults drawn from a seed.
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/jobfile/wfformat.hpp"
#include "tests/simulation/world/sim_command.hpp"
#include "tools/commands.hpp"

namespace penstock::tools {
namespace {

struct SimCommand {
  simulation::SimOptions options;
  std::string seeds = "1..100";
  std::vector<std::string> workflows;
  double time_scale = 1;
};

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// `7`, `1..100` or `fresh`.
Result<void> parse_seeds(const std::string& text, simulation::SimOptions& options) {
  if (text == "fresh") {
    simulation::take_fresh_seeds(options);
    return {};
  }
  const std::size_t dots = text.find("..");
  const bool good = parse_number(text.substr(0, dots), options.first_seed) &&
                    parse_number(dots == std::string::npos ? text : text.substr(dots + 2), options.last_seed);
  if (good && options.first_seed <= options.last_seed) return {};
  return Error{ErrorCode::InvalidArgument, "--seeds", "'" + text + "' is no range of seeds",
               "give one seed, a range like 1..100, or `fresh`"};
}

Result<int> simulate(const cli::Invocation& invocation, SimCommand& command) {
  PENSTOCK_TRY(parse_seeds(command.seeds, command.options));
  command.options.json = invocation.json;
  for (const std::string& path : command.workflows) {
    cli::ReplayOptions replay;
    replay.time_scale = command.time_scale;
    Result<cli::WorkflowImport> imported = cli::read_wfformat(path, replay);
    if (!imported) return imported.error();
    auto workflow = std::make_shared<simulation::Workflow>();
    workflow->name = imported->title.empty() ? path : imported->title;
    workflow->graph = std::move(imported->graph);
    command.options.workflows.push_back(std::move(workflow));
  }
  return simulation::run_simulation(command.options, std::cout);
}

}  // namespace

void add_sim_command(CLI::App& app, cli::Invocation& invocation) {
  auto options = std::make_shared<SimCommand>();
  CLI::App* command =
      app.add_subcommand("sim", "Run the production cores in a virtual cluster with faults, and check every promise");
  command
      ->add_option("--seeds", options->seeds,
                   "One seed, a range like 1..100, or `fresh`: random ones, for --seconds (60)")
      ->capture_default_str()
      ->type_name("A..B");
  command->add_option("--seconds", options->options.seconds_max, "Begin no further seed after so long; 0: run all")
      ->capture_default_str();
  command->add_option("--faults", options->options.fault_level, "0: none, to 3: everything that can go wrong")
      ->capture_default_str()
      ->check(CLI::Range(std::uint32_t{0}, simulation::Faults::kLevelMax));
  command
      ->add_option("--without", options->options.without,
                   "Leave out kinds of faults, e.g. crashes,hangs; may be repeated")
      ->delimiter(',');
  command->add_option("--subtasks", options->options.subtasks_max, "Largest number of subtasks of a job")
      ->capture_default_str();
  command->add_option("--jobs", options->options.jobs_max, "Largest number of jobs")->capture_default_str();
  command->add_option("--workers", options->options.workers_max, "Largest number of workers")->capture_default_str();
  command->add_option("--wfformat", options->workflows, "Run this workflow instead of drawn graphs; may be repeated")
      ->type_name("FILE");
  command->add_option("--time-scale", options->time_scale, "Factor for the workflow's recorded times")
      ->capture_default_str();
  command->add_flag("--policy", options->options.policy, "Let a random policy divide each cluster between its jobs");
  command->add_flag("--trace", options->options.trace, "Print a line for each event");
  command->add_flag("!--no-shrink", options->options.shrink, "Do not search for a smaller run that fails as well");
  cli::add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.chosen = [&invocation, options] { return simulate(invocation, *options); };
  });
}

}  // namespace penstock::tools
