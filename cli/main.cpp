// The one binary: every command of Penstock.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.hpp"
#include "cli/render.hpp"
#include "common/protocol/handshake.hpp"

namespace {

using penstock::cli::Invocation;

constexpr const char* kIntroduction =
    "Penstock runs the task graphs of dataframe and tensor engines.\n"  // tidy: foreign
    "`penstock run FILE` runs a job file here; `penstock supervisor` and `penstock worker` make a cluster;\n"
    "`penstock admin` is a shell for whoever operates it.";

/// What may be said several times takes one value each time: what follows is the command's own.
void take_one_value_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (!option->get_positional()) option->allow_extra_args(false);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) take_one_value_each(*command);
}

int parse_and_run(CLI::App& app, Invocation& invocation, int argc, char** argv) {
  if (argc < 2) {  // Who types the bare name wants to know what there is.
    std::cerr << app.help() << std::flush;
    return penstock::cli::kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    const int code = app.exit(wish);
    invocation.chosen = [code]() -> penstock::Result<int> { return code; };
    return penstock::cli::finish(invocation);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = penstock::cli::unknown_command(app, argv[1]);
    std::cerr << "penstock: error: " << penstock::cli::harmless(unknown.empty() ? error.what() : unknown)
              << " (see `penstock --help`)" << std::endl;
    return penstock::cli::kBadInput;
  }
  if (!invocation.heeds_signals) invocation.stop_signals.unblock();
  return penstock::cli::finish(invocation);
}

}  // namespace

int main(int argc, char** argv) {
  penstock::StopSignals stop_signals;  // Before the first thread.
  Invocation invocation{stop_signals};
  CLI::App app{kIntroduction, "penstock"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "penstock " + std::string{penstock::kSoftwareVersion});
  add_run_command(app, invocation);
  add_supervisor_command(app, invocation);
  add_worker_command(app, invocation);
  add_session_commands(app, invocation);
  add_admin_command(app, invocation);
  add_config_command(app, invocation);
  add_state_command(app, invocation);
  add_bench_command(app, invocation);
  add_sim_command(app, invocation);
  add_policy_command(app, invocation);
  add_completion_command(app, invocation);
  add_manual_command(app, invocation);
  take_one_value_each(app);
  return parse_and_run(app, invocation, argc, argv);
}
