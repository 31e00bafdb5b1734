// The commands that `penstock` had before they moved to `penstock-lab`.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"

namespace penstock::cli {
namespace {

struct MovedCommand {
  const char* name;
  std::vector<std::string> parts;  ///< Its subcommands that moved with it.
};

/// The command as it was typed, without options and operands.
std::string typed_name(const MovedCommand& moved, const std::vector<std::string>& rest) {
  for (const std::string& part : moved.parts)
    if (!rest.empty() && rest.front() == part) return std::string{moved.name} + " " + part;
  return moved.name;
}

}  // namespace

void add_moved_commands(CLI::App& app, Invocation& invocation) {
  const std::vector<MovedCommand> all = {{"bench", {}}, {"sim", {}}, {"policy", {"check", "generate", "simulate"}}};
  for (const MovedCommand& moved : all) {
    // No group: help, manual and completion leave it out. No help of its own: `--help` has the same answer as the rest.
    CLI::App* command = app.add_subcommand(moved.name)->group("");
    command->set_help_flag();
    command->prefix_command();
    command->callback([&invocation, command, moved] {
      const std::string name = typed_name(moved, command->remaining());
      invocation.chosen = [name]() -> Result<int> {
        std::string answer = "'penstock " + name;
        answer += "' is now 'penstock-lab " + name + "'";
        return Error{ErrorCode::InvalidArgument, {}, std::move(answer), {}};
      };
    });
  }
}

}  // namespace penstock::cli
