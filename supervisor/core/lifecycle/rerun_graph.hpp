// The part of a graph that another run of its job runs.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/graph.hpp"
#include "supervisor/core/graph_table.hpp"

namespace penstock::supervisor {

/// The parts that can be taken from a run that has ended. Each column has one element for each subtask.
struct EndedRun {
  JobId job;
  JobIdentity identity{};
  std::vector<bool> succeeded;
  std::vector<bool> kept;                ///< Its only output is kept for clients, and a worker has it.
  std::vector<std::uint32_t> numbers{};  ///< Its number in that run; empty: the same.
};

/// The run of a part of a graph, as one of the whole: the part has the keys that `rerun_graph` gives. Subtasks that it
/// has not had succeeded before. Cost: linear, by the logarithm for each key.
EndedRun as_run_of_whole(const GraphShape& whole, const GraphShape& part, const EndedRun& ended);

struct RerunGraph {
  Graph graph;
  std::uint64_t again = 0;     ///< Subtasks that run again.
  std::uint64_t taken = 0;     ///< Subtasks with outputs that are borrowed from the ended run.
  std::uint64_t left_out = 0;  ///< Subtasks that had succeeded, and of which nothing is needed or kept.
};

/// The graph of another run: subtasks that had not succeeded run again, and so do all that depend on `from`, with it.
/// Their inputs that are kept no more are made again. Kept outputs of all others are borrowed, so that the new run has
/// the results of the whole; what has neither kept outputs nor readers is left out. Subtasks keep their keys; in a
/// graph without keys the key is the former number. REQUIRES: both columns are as long as the graph. Cost: linear.
RerunGraph rerun_graph(const GraphShape& shape, const EndedRun& ended, const std::vector<std::uint32_t>& from);

}  // namespace penstock::supervisor
