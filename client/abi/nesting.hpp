// The run in which this process submits jobs of its own.
#pragma once

#include <optional>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::abi {

/// The runner in this process has begun a run, or ended it. From the thread of the runner; readers may be any.
void set_present_run(const std::optional<ParentRun>& run);

/// The run of the runner in this process, or of the command of which this process is a part, as its environment says.
/// Error: WrongState, if neither is there.
Result<ParentRun> present_run();

}  // namespace penstock::abi
