// Results of jobs, behind the C interface.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock::abi {

/// So many outputs of each subtask are kept for who submits the graph.
std::vector<std::uint16_t> kept_of(const Graph& graph, Keep keep);

}  // namespace penstock::abi
