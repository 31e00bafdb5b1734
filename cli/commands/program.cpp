#include "cli/commands/program.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands/command.hpp"
#include "cli/show/render.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock::cli {
namespace {

/// Makes a repeatable option take one value each time: the words after it belong to the command.
void take_one_value_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (!option->get_positional()) option->allow_extra_args(false);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) take_one_value_each(*command);
}

int parse_and_run(CLI::App& app, Invocation& invocation, int argc, char** argv) {
  if (argc < 2) {  // Without a command the program prints the list of commands.
    std::cerr << app.help() << std::flush;
    return kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    const int code = app.exit(wish);
    invocation.chosen = [code]() -> Result<int> { return code; };
    return finish(invocation);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_command(app, argv[1]);
    std::cerr << invocation.program << ": error: " << harmless(unknown.empty() ? error.what() : unknown) << " (see `"
              << invocation.program << " --help`)" << std::endl;
    return kBadInput;
  }
  if (!invocation.heeds_signals) invocation.stop_signals.unblock();
  return finish(invocation);
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  StopSignals stop_signals;  // Before the first thread.
  Invocation invocation{stop_signals, program.name};
  CLI::App app{program.introduction, program.name};
  app.require_subcommand(1);
  app.set_version_flag("--version", program.name + " " + std::string{kSoftwareVersion});
  program.add_commands(app, invocation);
  add_completion_command(app, invocation);
  add_manual_command(app, invocation, program);
  take_one_value_each(app);
  return parse_and_run(app, invocation, argc, argv);
}

}  // namespace penstock::cli
