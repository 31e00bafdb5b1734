// `penstock-lab policy simulate` and `generate`: traces through the production policy.
#pragma once

namespace CLI {
class App;
}

namespace penstock::cli {
struct Invocation;
}

namespace penstock::tools {

/// Adds both to the family `policy`.
void add_policy_simulation(CLI::App& family, cli::Invocation& invocation);

}  // namespace penstock::tools
