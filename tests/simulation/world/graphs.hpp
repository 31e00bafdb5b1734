// Graphs for simulated jobs.
#pragma once

#include "common/base/rng.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::simulation {

/// A random graph of a random shape (chain, fan, tree, stencil, layers, any DAG) with at most `subtasks_max` subtasks,
/// templates with random requests, edges with and without data, some of them pointing forwards in the numbering.
Graph random_graph(Rng& rng, std::uint32_t subtasks_max, bool may_fail);

/// A graph that borrows outputs that another job keeps for its client: those of its sinks. None if it has none.
Graph borrowing_graph(Rng& rng, JobId lender, const Graph& lent);

/// Some of its templates take a part of a device, or all of one.
void request_devices(Rng& rng, Graph& graph);

}  // namespace penstock::simulation
