#include "cli/jobfile/bounds.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "cli/jobfile/graph_builder.hpp"
#include "common/base/check.hpp"

namespace penstock::cli {
namespace {

std::vector<std::int64_t> durations_of(const Graph& graph) {
  std::vector<std::int64_t> ns(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i) ns[i] = expected_duration(graph, i).count();
  return ns;
}

// The longest path from the start of each subtask to the end of the graph.
std::vector<std::int64_t> paths_to_end(const Graph& graph, const std::vector<std::int64_t>& ns) {
  const GraphSequence sequence = sequence_of(graph);
  PENSTOCK_CHECK(sequence.cycle.empty());
  std::vector<std::int64_t> path = ns;
  for (std::size_t at = sequence.order.size(); at > 0; --at) {
    // All successors came before, so that `path` of this one is complete.
    const std::uint32_t i = sequence.order[at - 1];
    for (std::uint32_t edge = graph.input_offsets[i]; edge < graph.input_offsets[i + 1]; ++edge) {
      const std::uint32_t predecessor = graph.predecessors[edge];
      path[predecessor] = std::max(path[predecessor], ns[predecessor] + path[i]);
    }
  }
  return path;
}

// Graham's list schedule: whenever a slot is free, the ready subtask with the longest path to the end takes it.
std::int64_t list_makespan(const Graph& graph, const std::vector<std::int64_t>& ns, std::uint32_t slots) {
  const std::vector<std::int64_t> path = paths_to_end(graph, ns);
  const SuccessorLists successors = successors_of(graph);
  std::vector<std::uint32_t> missing(graph.size());
  using Ready = std::pair<std::int64_t, std::uint32_t>;  // Path, and the complement of the index: earlier ones first.
  std::priority_queue<Ready> ready;
  const auto make_ready = [&](std::uint32_t i) { ready.emplace(path[i], ~i); };
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    missing[i] = graph.input_offsets[i + 1] - graph.input_offsets[i];
    if (missing[i] == 0) make_ready(i);
  }
  using Running = std::pair<std::int64_t, std::uint32_t>;  // End, and index.
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  std::int64_t now = 0;
  while (!ready.empty() || !running.empty()) {
    for (; !ready.empty() && running.size() < slots; ready.pop()) {
      const std::uint32_t i = ~ready.top().second;
      running.emplace(now + ns[i], i);
    }
    now = running.top().first;
    for (; !running.empty() && running.top().first == now; running.pop()) {
      const std::uint32_t i = running.top().second;
      for (std::uint32_t at = successors.offsets[i]; at < successors.offsets[i + 1]; ++at)
        if (--missing[successors.list[at]] == 0) make_ready(successors.list[at]);
    }
  }
  return now;
}

}  // namespace

Duration expected_duration(const Graph& graph, std::uint32_t subtask) {
  if (!graph.expected_ns.empty() && graph.expected_ns[subtask] > 0)
    return Duration{static_cast<std::int64_t>(graph.expected_ns[subtask])};
  return graph.templates[graph.template_of[subtask]].expected_duration;
}

Duration critical_path(const Graph& graph) {
  const std::vector<std::int64_t> path = paths_to_end(graph, durations_of(graph));
  return Duration{path.empty() ? 0 : *std::max_element(path.begin(), path.end())};
}

ScheduleBounds list_schedule_bound(const Graph& graph, std::uint32_t slots) {
  PENSTOCK_CHECK(slots > 0);
  ScheduleBounds bounds;
  const std::vector<std::int64_t> ns = durations_of(graph);
  for (const std::int64_t one : ns) bounds.work += Duration{one};
  bounds.critical_path = critical_path(graph);
  const Duration even{(bounds.work.count() + slots - 1) / slots};
  bounds.lower_bound = std::max(bounds.critical_path, even);
  bounds.list_schedule = Duration{list_makespan(graph, ns, slots)};
  return bounds;
}

}  // namespace penstock::cli
