#include "supervisor/core/graph_order.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

// Sums of absurd durations stay absurd instead of wrapping to small ones.
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

std::uint64_t duration_ns(const Graph& graph, std::uint32_t subtask) {
  if (!graph.expected_ns.empty() && graph.expected_ns[subtask] > 0) return graph.expected_ns[subtask];
  return static_cast<std::uint64_t>(graph.templates[graph.template_of[subtask]].expected_duration.count());
}

/// A subtask of unknown duration counts as one microsecond, so that depth decides where nothing else is known.
constexpr std::uint64_t kUnknown = 1000;

/// Length of the longest path from each subtask to a sink, itself included.
std::vector<std::uint64_t> path_lengths(const Graph& graph, const std::vector<std::uint32_t>& topological) {
  const auto count = static_cast<std::uint32_t>(graph.size());
  std::vector<std::uint64_t> behind(count, 0);
  for (std::uint32_t i = count; i-- > 0;) {
    const std::uint32_t subtask = topological.empty() ? i : topological[i];
    const std::uint64_t length = saturating_sum(behind[subtask], std::max(duration_ns(graph, subtask), kUnknown));
    behind[subtask] = length;
    for (std::uint32_t edge = graph.input_offsets[subtask]; edge < graph.input_offsets[subtask + 1]; ++edge) {
      std::uint64_t& predecessor = behind[graph.predecessors[edge]];
      predecessor = std::max(predecessor, length);
    }
  }
  return behind;
}

/// Equal subtasks without edges, as in a sweep over a million parameters: their order is that in the graph.
bool all_alike(const Graph& graph) {
  return graph.size() > 0 && graph.predecessors.empty() && graph.templates.size() == 1 && graph.priorities.empty() &&
         graph.expected_ns.empty();
}

}  // namespace

GraphOrder order_by_critical_path(const Graph& graph, const std::vector<std::uint32_t>& topological) {
  const auto count = static_cast<std::uint32_t>(graph.size());
  if (all_alike(graph)) {
    GraphOrder alike;
    const std::uint64_t each = duration_ns(graph, 0);
    alike.critical_path_ns = std::max(each, kUnknown);
    if (__builtin_mul_overflow(each, std::uint64_t{count}, &alike.total_ns)) alike.total_ns = ~std::uint64_t{0};
    return alike;
  }
  const std::vector<std::uint64_t> lengths = path_lengths(graph, topological);
  const auto priority = [&](std::uint32_t i) {
    return std::int64_t{graph.templates[graph.template_of[i]].priority} +
           (graph.priorities.empty() ? 0 : graph.priorities[i]);
  };
  GraphOrder order;
  bool sorted = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    order.total_ns = saturating_sum(order.total_ns, duration_ns(graph, i));
    order.critical_path_ns = std::max(order.critical_path_ns, lengths[i]);
    if (i == 0) continue;
    const bool after = priority(i - 1) != priority(i) ? priority(i - 1) > priority(i) : lengths[i - 1] >= lengths[i];
    sorted = sorted && after;
  }
  if (sorted) return order;
  order.at_rank.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) order.at_rank[i] = i;
  std::sort(order.at_rank.begin(), order.at_rank.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    if (lengths[a] != lengths[b]) return lengths[a] > lengths[b];
    return a < b;
  });
  order.rank_of.resize(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) order.rank_of[order.at_rank[rank]] = rank;
  return order;
}

void link_successors(const Graph& graph, std::vector<std::uint32_t>& offsets, std::vector<std::uint32_t>& successors) {
  const auto count = static_cast<std::uint32_t>(graph.size());
  offsets.assign(count + 1, 0);
  for (const std::uint32_t predecessor : graph.predecessors) ++offsets[predecessor + 1];
  for (std::uint32_t i = 0; i < count; ++i) offsets[i + 1] += offsets[i];
  successors.resize(graph.predecessors.size());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t edge = graph.input_offsets[i]; edge < graph.input_offsets[i + 1]; ++edge)
      successors[next[graph.predecessors[edge]]++] = i;
}

}  // namespace penstock::supervisor
