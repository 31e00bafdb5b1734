#include "bench/graphs/graphs.hpp"

#include <algorithm>

namespace penstock::bench {
namespace {

constexpr std::string_view kNames[] = {"flat", "chain", "chains", "stencil", "tree"};

void add_edges(Graph& graph, Shape shape, std::uint32_t i, std::uint32_t width, std::uint32_t leaves) {
  switch (shape) {
    case Shape::Flat: break;
    case Shape::Chain:
      if (i > 0) graph.predecessors.push_back(i - 1);
      break;
    case Shape::Chains:
      if (i >= width) graph.predecessors.push_back(i - width);
      break;
    case Shape::Stencil: {
      if (i < width) break;
      const std::uint32_t column = i % width;
      if (column > 0) graph.predecessors.push_back(i - width - 1);
      graph.predecessors.push_back(i - width);
      if (column + 1 < width) graph.predecessors.push_back(i - width + 1);
      break;
    }
    case Shape::Tree:
      // Inner subtask number k, counted from 0, joins the subtasks 2k and 2k + 1.
      if (i < leaves) break;
      graph.predecessors.push_back(2 * (i - leaves));
      graph.predecessors.push_back(2 * (i - leaves) + 1);
      break;
  }
}

}  // namespace

std::optional<Shape> parse_shape(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Shape>(found - std::begin(kNames));
}

std::string_view to_string(Shape shape) { return kNames[static_cast<std::size_t>(shape)]; }

Graph build_graph(Shape shape, std::uint32_t subtasks, std::uint32_t width) {
  Graph graph;
  Template noop;
  noop.name = noop.program = "noop";
  graph.templates.push_back(noop);
  const std::uint32_t leaves = (subtasks + 1) / 2;
  const std::uint32_t count = shape == Shape::Tree ? 2 * leaves - 1 : subtasks;
  graph.template_of.assign(count, 0);
  graph.input_offsets.reserve(count + 1);
  const std::uint32_t edges_each = shape == Shape::Flat      ? 0
                                   : shape == Shape::Stencil ? 3
                                   : shape == Shape::Tree    ? 2
                                                             : 1;
  graph.predecessors.reserve(std::size_t{count} * edges_each);
  for (std::uint32_t i = 0; i < count; ++i) {
    add_edges(graph, shape, i, width, leaves);
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
  }
  return graph;
}

}  // namespace penstock::bench
