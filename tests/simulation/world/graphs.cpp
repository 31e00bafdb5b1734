#include "tests/simulation/world/graphs.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "common/protocol/external_input.hpp"

namespace penstock::simulation {
namespace {

using Edges = std::vector<std::vector<std::uint32_t>>;  // Predecessors of each subtask; all smaller than it.

Edges chain(std::uint32_t size) {
  Edges edges(size);
  for (std::uint32_t i = 1; i < size; ++i) edges[i] = {i - 1};
  return edges;
}

Edges fan(std::uint32_t size) {
  Edges edges(size);
  for (std::uint32_t i = 1; i + 1 < size; ++i) edges[i] = {0};
  for (std::uint32_t i = 1; size > 2 && i + 1 < size; ++i) edges[size - 1].push_back(i);
  return edges;
}

Edges reduction(std::uint32_t size) {
  Edges edges(size);
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i >= (size + 1) / 2 && open.size() >= 2) {
      edges[i] = {open[0], open[1]};
      open.erase(open.begin(), open.begin() + 2);
    }
    open.push_back(i);
  }
  return edges;
}

Edges stencil(std::uint32_t size, std::uint32_t width) {
  Edges edges(size);
  for (std::uint32_t i = width; i < size; ++i) {
    const std::uint32_t column = i % width;
    if (column > 0) edges[i].push_back(i - width - 1);
    edges[i].push_back(i - width);
    if (column + 1 < width) edges[i].push_back(i - width + 1);
  }
  return edges;
}

Edges anything(std::uint32_t size, Rng& rng) {
  Edges edges(size);
  for (std::uint32_t i = 1; i < size; ++i)
    for (std::uint64_t k = rng.below(4); k-- > 0;) edges[i].push_back(static_cast<std::uint32_t>(rng.below(i)));
  return edges;
}

Edges draw_edges(Rng& rng, std::uint32_t size) {
  switch (rng.below(7)) {
    case 0: return chain(size);
    case 1: return fan(size);
    case 2: return reduction(size);
    case 3: return stencil(size, static_cast<std::uint32_t>(1 + rng.below(8)));
    case 4: return Edges(size);
    default: return anything(size, rng);
  }
}

/// `tight`: it wants so much memory that few run at once.
Template draw_template(Rng& rng, std::uint32_t number, bool may_fail, bool tight) {
  Template entry;
  entry.name = "template-" + std::to_string(number);
  entry.program = "simulated";
  if (number % 2 == 1) entry.runner = RunnerKind::Process;  // Workers are to start runners before they are needed.
  if (rng.chance(1, 4)) entry.request.slots = MilliSlots{rng.chance(1, 2) ? 500 : 1000};
  if (tight || rng.chance(1, 3)) entry.request.memory = kMiB * rng.between(tight ? 40 : 1, 120);
  if (rng.chance(1, 5)) entry.expected_duration = std::chrono::milliseconds{rng.between(1, 50)};
  if (rng.chance(1, 5)) entry.priority = static_cast<std::int32_t>(rng.between(-3, 3));
  if (rng.chance(1, 4)) entry.output_count = static_cast<std::uint16_t>(rng.between(0, 3));
  if (entry.output_count == 1 && rng.chance(1, 5)) entry.replicas = static_cast<std::uint16_t>(rng.between(2, 3));
  if (entry.output_count == 1 && rng.chance(1, 5)) entry.checkpoint = true;
  if (rng.chance(1, 3)) entry.on_failure = OnFailure::Continue;
  if (may_fail && rng.chance(1, 6)) entry.time_limit = std::chrono::milliseconds{rng.between(5, 60)};
  if (may_fail && rng.chance(1, 8)) entry.attempts_max = static_cast<std::uint16_t>(rng.between(1, 5));
  if (may_fail && !entry.request.memory.is_zero() && rng.chance(1, 4))
    entry.memory_max = entry.request.memory * rng.between(1, 4);
  if (may_fail && rng.chance(1, 20)) entry.required = {"worker-1", ""};
  entry.kill_grace = std::chrono::milliseconds{rng.between(1, 30)};
  return entry;
}

}  // namespace

Graph random_graph(Rng& rng, std::uint32_t subtasks_max, bool may_fail) {
  const auto size =
      static_cast<std::uint32_t>(1 + rng.below(rng.chance(1, 2) ? subtasks_max : std::min(subtasks_max, 12U)));
  const Edges edges = draw_edges(rng, size);
  // Renumbered, so that edges point forwards, too, and the intake has to sort.
  std::vector<std::uint32_t> number(size);
  for (std::uint32_t i = 0; i < size; ++i) number[i] = i;
  if (rng.chance(1, 3))
    for (std::uint32_t i = size; i > 1; --i) std::swap(number[i - 1], number[rng.below(i)]);
  std::vector<std::uint32_t> original(size);
  for (std::uint32_t i = 0; i < size; ++i) original[number[i]] = i;

  Graph graph;
  const auto templates = static_cast<std::uint32_t>(1 + rng.below(4));
  const bool tight = rng.chance(1, 5);
  for (std::uint32_t i = 0; i < templates; ++i) graph.templates.push_back(draw_template(rng, i, may_fail, tight));
  for (std::uint32_t i = 0; i < size; ++i)
    graph.template_of.push_back(static_cast<std::uint32_t>(rng.below(templates)));
  const bool plain_edges = rng.chance(1, 3);
  for (std::uint32_t i = 0; i < size; ++i) {
    for (const std::uint32_t predecessor : edges[original[i]]) {
      const std::uint32_t from = number[predecessor];
      graph.predecessors.push_back(from);
      if (plain_edges) continue;
      const std::uint16_t outputs = std::max<std::uint16_t>(graph.templates[graph.template_of[from]].output_count, 1);
      graph.edge_outputs.push_back(rng.chance(1, 4) ? EdgeKind::kOrderOnly
                                                    : static_cast<std::uint16_t>(rng.below(outputs)));
    }
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
  }
  return graph;
}

Graph referencing_graph(Rng& rng, JobId producer_job, const JobIdentity& identity, const Graph& produced) {
  std::vector<bool> read(produced.size());
  for (const std::uint32_t predecessor : produced.predecessors) read[predecessor] = true;
  std::vector<std::uint32_t> sinks;
  for (std::uint32_t i = 0; i < produced.size(); ++i)
    if (!read[i]) sinks.push_back(i);
  Graph graph;
  graph.templates = {draw_template(rng, 0, false, false), {}};
  graph.templates[0].output_count = 1;
  graph.templates[1].program = kAliasOperator;
  if (rng.chance(1, 2)) graph.templates[1].on_failure = OnFailure::Continue;
  graph.payload_offsets.push_back(0);
  const auto add = [&](std::uint32_t template_index, const std::vector<std::uint32_t>& inputs,
                       const std::string& payload) {
    graph.template_of.push_back(template_index);
    graph.predecessors.insert(graph.predecessors.end(), inputs.begin(), inputs.end());
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
    graph.payloads += payload;
    graph.payload_offsets.push_back(static_cast<std::uint32_t>(graph.payloads.size()));
    return static_cast<std::uint32_t>(graph.template_of.size() - 1);
  };
  std::vector<std::uint32_t> readers;
  for (std::uint64_t left = 1 + rng.below(4); left > 0; --left) {
    const std::uint32_t producer = sinks[rng.below(sinks.size())];
    const std::uint16_t outputs =
        std::max<std::uint16_t>(produced.templates[produced.template_of[producer]].output_count, 1);
    const ExternalDatum datum{
        {producer_job, SubtaskIndex{producer}}, static_cast<std::uint16_t>(rng.below(outputs)), identity};
    const std::uint32_t external = add(1, {}, external_datum_payload(datum));
    for (std::uint64_t count = rng.below(3); count > 0; --count) readers.push_back(add(0, {external}, {}));
  }
  if (!readers.empty()) add(0, readers, {});
  return graph;
}

void request_devices(Rng& rng, Graph& graph) {
  constexpr std::int64_t kParts[] = {100, 200, 250, 333, 500, 1000};
  for (Template& entry : graph.templates) {
    if (rng.chance(1, 3)) continue;
    const std::int64_t part = kParts[rng.below(std::size(kParts))];
    entry.request.gpu = MilliGpu{part};
    entry.request.slots = MilliSlots{rng.chance(1, 4) ? part / 2 : part};
    if (rng.chance(1, 3)) entry.request.device_memory = kGiB * rng.between(1, 8);
  }
}

void request_several(Rng& rng, std::uint32_t most, Graph& graph) {
  for (Template& entry : graph.templates) {
    if (most < 2 || entry.request.gpu == MilliGpu{0} || rng.chance(2, 3)) continue;
    const std::int64_t count = rng.between(2, most);
    entry.request.gpu = MilliGpu{1000} * count;
    entry.request.slots = kOneSlot * (rng.chance(1, 4) ? 1 : count);
  }
}

void request_whole(Graph& graph) {
  for (Template& entry : graph.templates)
    if (entry.request.gpu > MilliGpu{0}) entry.request.gpu = std::max(entry.request.gpu, MilliGpu{1000});
}

void forbid_overlap(Rng& rng, Graph& graph) {
  for (Template& entry : graph.templates)
    if (entry.runner != RunnerKind::Native && rng.chance(3, 4)) entry.overlap = Overlap::Never;
}

void request_amounts(Rng& rng, Graph& graph, bool gang) {
  for (Template& entry : graph.templates) {
    const std::int64_t most = gang ? entry.request.slots.value() : kLeastCpu.value();
    if (rng.chance(1, 2)) entry.request.cpu = MilliCpu{most / 10 * rng.between(1, 10)};
    if (rng.chance(1, 2)) entry.request.named = {{kLicence, rng.between(1, kLeastLicences)}};
  }
}

}  // namespace penstock::simulation
