// Lower bounds of a graph's makespan, for comparison with a measured one.
#pragma once

#include <cstdint>

#include "common/protocol/graph.hpp"

namespace penstock::cli {

/// Bounds from the expected durations of a graph; a subtask without one counts as 0.
struct ScheduleBounds {
  Duration critical_path{0};  ///< The longest path.
  Duration work{0};           ///< The sum of all durations.
  Duration lower_bound{0};    ///< The larger of the critical path and work / slots: no order can be faster.
  Duration list_schedule{0};  ///< Makespan of a list schedule without any overhead, longest critical path first.
};

/// Each subtask takes one of `slots` slots. O(n log n). REQUIRES: slots > 0; the graph has no cycle.
ScheduleBounds list_schedule_bound(const Graph& graph, std::uint32_t slots);
/// REQUIRES: the graph has no cycle.
Duration critical_path(const Graph& graph);
/// The expected duration of a subtask: its own figure, or its template's.
Duration expected_duration(const Graph& graph, std::uint32_t subtask);

}  // namespace penstock::cli
