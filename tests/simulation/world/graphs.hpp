// Graphs for simulated jobs.
#pragma once

#include "common/base/rng.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::simulation {

/// A random graph of a random shape (chain, fan, tree, stencil, layers, any DAG) with at most `subtasks_max` subtasks,
/// templates with random requests, edges with and without data, some of them pointing forwards in the numbering.
Graph random_graph(Rng& rng, std::uint32_t subtasks_max, bool may_fail);

/// A graph that borrows outputs that another job keeps for its client: those of its sinks. None if it has none.
Graph referencing_graph(Rng& rng, JobId producer_job, const JobIdentity& identity, const Graph& produced);

/// A part of its templates takes a part of a device, or all of one.
void request_devices(Rng& rng, Graph& graph);
/// Templates that request a part of a device request a whole one: under a policy, bands of several give no parts.
void request_whole(Graph& graph);
/// A part of the templates that request a device request 2 to `most` whole ones.
void request_several(Rng& rng, std::uint32_t most, Graph& graph);

/// The resources that every simulated band has at least, beside slots and memory.
inline constexpr MilliCpu kLeastCpu{2000};
inline constexpr std::int64_t kLeastLicences = 2;
inline constexpr const char* kLicence = "licence";

/// A part of its templates takes processors, or licences, no more than every band has. Of a `gang` that is to begin in
/// a pool that counts processors no member takes more of them than a band has for its slots.
void request_amounts(Rng& rng, Graph& graph, bool gang);

/// A part of its templates that can be killed must never overlap.
void forbid_overlap(Rng& rng, Graph& graph);

}  // namespace penstock::simulation
