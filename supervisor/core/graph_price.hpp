// An upper bound of the memory that a graph and its job take, known before the graph is held.
#pragma once

#include <cstdint>

#include "common/protocol/graph_chunks.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {

/// Bytes of memory that a graph of this size takes at most: while its chunks come and are checked, and as a job that
/// runs. Outputs beyond one for each subtask are not known yet: `outputs_price`.
std::uint64_t graph_price(const GraphTotals& totals);
/// The same for those outputs.
std::uint64_t outputs_price(const GraphShape& shape);
/// Bytes of memory that a job takes at most beside its graph.
std::uint64_t job_price(const GraphShape& shape);

}  // namespace penstock::supervisor
