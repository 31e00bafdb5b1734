#include "common/protocol/graph_chunks.hpp"

#include <algorithm>
#include <string>

namespace penstock {
namespace {

template <class Column>
void copy_part(const Column& from, Column& to, std::size_t first, std::size_t count) {
  if (!from.empty())
    to.assign(from.begin() + static_cast<std::ptrdiff_t>(first),
              from.begin() + static_cast<std::ptrdiff_t>(first + count));
}

void copy_offsets(const std::vector<std::uint32_t>& from, std::vector<std::uint32_t>& to, std::uint32_t first,
                  std::uint32_t count) {
  if (from.empty()) return;
  to.resize(std::size_t{count} + 1);
  for (std::uint32_t i = 0; i <= count; ++i) to[i] = from[first + i] - from[first];
}

/// Bytes of subtasks `first` to `until` in a message.
std::size_t columns_cost(const Graph& graph, std::uint32_t first, std::uint32_t until) {
  const std::size_t count = until - first;
  std::size_t sum = count * 8;
  sum += std::size_t{graph.input_offsets[until] - graph.input_offsets[first]} * (graph.edge_outputs.empty() ? 4 : 6);
  if (!graph.priorities.empty()) sum += count * 4;
  if (!graph.expected_ns.empty()) sum += count * 8;
  if (!graph.payload_offsets.empty()) sum += count * 4 + graph.payload_offsets[until] - graph.payload_offsets[first];
  if (!graph.name_offsets.empty()) sum += count * 4 + graph.name_offsets[until] - graph.name_offsets[first];
  return sum;
}

std::size_t template_cost(const Template& content) {
  constexpr std::size_t kFixed = 256;  // For numbers, and the ends of lists and texts.
  std::size_t sum =
      kFixed + content.name.size() + content.program.size() + content.payload.size() + content.working_directory.size();
  for (const std::string& argument : content.arguments) sum += argument.size() + 16;
  for (const std::string& variable : content.environment) sum += variable.size() + 16;
  return sum;
}

/// Bytes of a message beside the graph: its header, the job's specification.
constexpr std::size_t kMessageOverhead = 1024;

}  // namespace

GraphTotals totals_of(const Graph& graph) {
  return {graph.size(),          graph.edge_count(), graph.templates.size(),
          graph.payloads.size(), graph.names.size(), graph.wanted.size()};
}

Graph chunk_of(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  Graph chunk;
  if (first == 0) {
    chunk.templates = graph.templates;
    chunk.wanted = graph.wanted;
  }
  copy_part(graph.template_of, chunk.template_of, first, count);
  copy_offsets(graph.input_offsets, chunk.input_offsets, first, count);
  const std::uint32_t first_edge = graph.input_offsets[first];
  const std::uint32_t edges = graph.input_offsets[first + count] - first_edge;
  copy_part(graph.predecessors, chunk.predecessors, first_edge, edges);
  copy_part(graph.edge_outputs, chunk.edge_outputs, first_edge, edges);
  copy_part(graph.priorities, chunk.priorities, first, count);
  copy_part(graph.expected_ns, chunk.expected_ns, first, count);
  copy_offsets(graph.payload_offsets, chunk.payload_offsets, first, count);
  if (!graph.payload_offsets.empty())
    chunk.payloads = graph.payloads.substr(graph.payload_offsets[first],
                                           graph.payload_offsets[first + count] - graph.payload_offsets[first]);
  copy_offsets(graph.name_offsets, chunk.name_offsets, first, count);
  if (!graph.name_offsets.empty())
    chunk.names =
        graph.names.substr(graph.name_offsets[first], graph.name_offsets[first + count] - graph.name_offsets[first]);
  return chunk;
}

std::uint32_t chunk_size(const Graph& graph, std::uint32_t first, std::size_t bytes) {
  const auto total = static_cast<std::uint32_t>(graph.size());
  // The cost grows with the end: bisection finds the last end that fits.
  std::uint32_t low = first + 1;
  std::uint32_t high = total;
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (columns_cost(graph, first, middle) <= bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return std::min(low, total) - first;
}

Result<void> check_chunks(const Graph& graph, std::size_t bytes, std::size_t message_bytes_max) {
  if (message_bytes_max <= kMessageOverhead) return {};
  const std::size_t room = message_bytes_max - kMessageOverhead;
  std::size_t shared = graph.wanted.size() * sizeof(std::uint32_t);
  for (const Template& content : graph.templates) shared += template_cost(content);
  const auto too_large = [&](std::string subject, std::size_t cost) {
    return Error{
        ErrorCode::LimitExceeded, std::move(subject),
        "takes " + std::to_string(cost) + " bytes, more than the " + std::to_string(room) +
            " that travel in one message (wire.frame_bytes_max)",
        "let subtasks load or make large data where they are needed, or raise wire.frame_bytes_max on all sides"};
  };
  if (shared > room) return too_large("what the graph's subtasks share", shared);
  const auto total = static_cast<std::uint32_t>(graph.size());
  for (std::uint32_t first = 0; first < total;) {
    const std::uint32_t count = chunk_size(graph, first, bytes);
    const std::size_t cost = columns_cost(graph, first, first + count) + (first == 0 ? shared : 0);
    if (cost > room) return too_large("subtask " + std::to_string(first), cost);
    first += count;
  }
  return {};
}

}  // namespace penstock
