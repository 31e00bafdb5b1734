// Results of jobs, behind the C interface.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock::abi {

/// The number of outputs of each subtask that are kept for the submitting client.
std::vector<std::uint16_t> kept_of(const Graph& graph, Keep keep);

}  // namespace penstock::abi
