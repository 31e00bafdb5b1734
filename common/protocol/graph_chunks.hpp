// Cuts a graph into chunks for the wire and the journal, and computes their totals.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"

namespace penstock {

/// The amounts that limits of a graph count; of a whole graph or of a chunk.
struct GraphTotals {
  std::uint64_t subtasks = 0;
  std::uint64_t edges = 0;
  std::uint64_t templates = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t name_bytes = 0;
  std::uint64_t wanted = 0;
  friend bool operator==(const GraphTotals&, const GraphTotals&) = default;
};

GraphTotals totals_of(const Graph& graph);

/// Subtasks `first` to `first + count - 1` with their edges; the first chunk has the templates and `wanted`, too.
Graph chunk_of(const Graph& graph, std::uint32_t first, std::uint32_t count);
/// The number of subtasks from `first` on that make about `bytes` on the wire; at least one.
std::uint32_t chunk_size(const Graph& graph, std::uint32_t first, std::size_t bytes);
/// Whether each chunk of about `bytes` fits into a message; a larger message would break its connection each time that
/// it is sent. Error: LimitExceeded, which names the first subtask that is too large.
Result<void> check_chunks(const Graph& graph, std::size_t bytes, std::size_t message_bytes_max);

}  // namespace penstock
