// `penstock config`: every setting, its value, unit, range and meaning.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"

namespace penstock::cli {

void add_config_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("config", "Print every setting with its value and meaning, as a file that `--config` reads");
  add_config_options(*command, invocation);
  command->callback([&invocation] {
    invocation.chosen = [&invocation]() -> Result<int> {
      const Result<FileConfig> config = load_config(invocation);
      if (!config) return config.error();
      std::cout << print_config(*config);
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
