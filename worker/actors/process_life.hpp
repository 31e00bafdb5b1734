// How the process of a worker outlives native operators that crash.
#pragma once

#include <cstdint>
#include <optional>

#include "common/protocol/handshake.hpp"

namespace penstock::worker {

/// From now on this process begins again by itself when a native operator crashes, at most `crashes_max` times a
/// minute. `crash_note` is what the life before has left, or -1: this is the first. If there is one, whatever that life
/// has started is ended, and the answer is what brought it down, to be said to the supervisor. Before the first thread
/// that runs operators or programs.
std::optional<OperatorCrash> begin_process_life(int crash_note, std::uint32_t crashes_max);

/// For a process that cannot go on without what it holds: a crash ends it, but first it says which operator that was.
void name_crashing_operators();

}  // namespace penstock::worker
