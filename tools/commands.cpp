#include "tools/commands.hpp"

namespace penstock::tools {

void add_lab_commands(CLI::App& app, cli::Invocation& invocation) {
  add_bench_command(app, invocation);
  add_sim_command(app, invocation);
  add_policy_command(app, invocation);
}

}  // namespace penstock::tools
