// The commands of `penstock-lab`.
#pragma once

namespace CLI {
class App;
}

namespace penstock::cli {
struct Invocation;
}

namespace penstock::tools {

// Each adds one command, or a family of them.
void add_bench_command(CLI::App& app, cli::Invocation& invocation);
void add_sim_command(CLI::App& app, cli::Invocation& invocation);
void add_policy_command(CLI::App& app, cli::Invocation& invocation);

/// All of them.
void add_lab_commands(CLI::App& app, cli::Invocation& invocation);

}  // namespace penstock::tools
