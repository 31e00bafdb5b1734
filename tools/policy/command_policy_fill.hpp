// `penstock-lab policy fill`: how full a cluster gets that is left by none.
#pragma once

namespace CLI {
class App;
}

namespace penstock::cli {
struct Invocation;
}

namespace penstock::tools {

/// Adds it to the family `policy`.
void add_policy_fill(CLI::App& family, cli::Invocation& invocation);

}  // namespace penstock::tools
