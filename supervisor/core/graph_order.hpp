// In which order the subtasks of a graph are best run.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock::supervisor {

/// A permutation of the subtasks; both vectors are empty when it is the identity.
struct GraphOrder {
  std::vector<std::uint32_t> rank_of;
  std::vector<std::uint32_t> at_rank;
  std::uint64_t critical_path_ns = 0;
  std::uint64_t total_ns = 0;
};

/// Sorts by user priority (larger first), then by the length of the longest path to a sink in expected durations
/// (longer first; Coffman and Graham's levels with weights), then by position. `topological` is an order with producers
/// before their successors; empty if the graph already is in one. Linear but for the sort.
GraphOrder order_by_critical_path(const Graph& graph, const std::vector<std::uint32_t>& topological);

/// Fills the edges in the direction of the data. REQUIRES: every predecessor is in the graph.
void link_successors(const Graph& graph, std::vector<std::uint32_t>& offsets, std::vector<std::uint32_t>& successors);

}  // namespace penstock::supervisor
