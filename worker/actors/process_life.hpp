// The process of a worker outlives crashes of native operators.
#pragma once

#include <cstdint>
#include <optional>

#include "common/protocol/handshake.hpp"

namespace penstock::worker {

/// From now on this process starts again by itself when a native operator crashes, at most `crashes_max` times a
/// minute. `crash_note` is the descriptor of the previous incarnation's note, or -1 for the first one. With a note, all
/// processes of the previous incarnation are ended, and the result is the crash to report to the supervisor. Called
/// before the first thread that runs operators or programs.
std::optional<OperatorCrash> begin_process_life(int crash_note, std::uint32_t crashes_max);

/// For a process that cannot start again without losing state: a crash ends it, after it has named the operator.
void name_crashing_operators();

}  // namespace penstock::worker
