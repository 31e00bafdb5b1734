// One of the two binaries, from its command line to its exit code.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace penstock::cli {

struct Invocation;

struct Program {
  std::string name;          ///< The name of the binary.
  std::string summary;       ///< Half a line for the head of the manual page.
  std::string introduction;  ///< Above the list of commands.
  std::string manual_end;    ///< The sections of the manual page behind the commands, as roff.
  void (*add_commands)(CLI::App& app, Invocation& invocation);
};

/// Runs the command that the words name; returns the exit code. The program's own commands come first, then
/// `completion` and `manual`. REQUIRES: no other thread has begun.
int run_program(const Program& program, int argc, char** argv);

/// `completion` and the hidden `complete-words`, which its scripts call.
void add_completion_command(CLI::App& app, Invocation& invocation);
/// `manual`. REQUIRES: `program` outlives `app`.
void add_manual_command(CLI::App& app, Invocation& invocation, const Program& program);

}  // namespace penstock::cli
