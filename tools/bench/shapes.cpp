#include "tools/bench/shapes.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "cli/jobfile/job_program.hpp"
#include "common/base/nearest_name.hpp"
#include "common/protocol/config.hpp"

namespace penstock::tools {
namespace {

constexpr std::array<std::string_view, 9> kNames{"flat", "chain",    "chains",         "stencil", "fft",
                                                 "tree", "alltoall", "random_nearest", "trivial"};
constexpr std::uint32_t kNearest = 5;  // Columns that RandomNearest chooses from.

std::uint32_t width_of(const ShapeOptions& options) {
  if (options.shape == Shape::Chain) return 1;
  std::uint64_t width = options.width;
  if (width == 0)
    for (width = 1; (width + 1) * (width + 1) <= options.subtasks;) ++width;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(width, options.subtasks));
}

// Adds the edges of the subtasks one by one, in order.
class Edges {
 public:
  Edges(const ShapeOptions& options, Graph& graph)
      : options_(options),
        width_(width_of(options)),
        levels_(std::max<std::uint32_t>(std::bit_width(width_ - 1), 1)),
        graph_(graph) {}

  void add(std::uint32_t subtask) {
    const std::uint32_t row = subtask / width_;
    const std::uint32_t column = subtask % width_;
    if (options_.shape == Shape::Tree) {
      add_tree(subtask);
    } else if (row > 0) {
      add_row(row, column, subtask - column - width_);
    }
    graph_.input_offsets.push_back(static_cast<std::uint32_t>(graph_.predecessors.size()));
  }

 private:
  void edge(std::uint32_t predecessor) { graph_.predecessors.push_back(predecessor); }

  // Numbered from the root as in a heap, the children of k are 2k + 1 and 2k + 2; reversed, the leaves come first.
  void add_tree(std::uint32_t subtask) {
    const std::uint64_t place = options_.subtasks - 1 - subtask;
    for (const std::uint64_t child : {2 * place + 2, 2 * place + 1})
      if (child < options_.subtasks) edge(static_cast<std::uint32_t>(options_.subtasks - 1 - child));
  }

  // `before`: the first subtask of the row before, which is never the short row.
  void add_row(std::uint32_t row, std::uint32_t column, std::uint32_t before) {
    switch (options_.shape) {
      case Shape::Flat:
      case Shape::Trivial:
      case Shape::Tree: return;
      case Shape::Chain:
      case Shape::Chains: return edge(before + column);
      case Shape::Stencil:
        for (std::uint32_t c = column == 0 ? 0 : column - 1; c < std::min(column + 2, width_); ++c) edge(before + c);
        return;
      case Shape::Fft: {
        edge(before + column);
        const std::uint32_t partner = column ^ (1U << ((row - 1) % levels_));
        if (partner < width_) edge(before + partner);
        return;
      }
      case Shape::AllToAll:
        for (std::uint32_t c = 0; c < width_; ++c) edge(before + c);
        return;
      case Shape::RandomNearest: return add_nearest(row, column, before);
    }
  }

  void add_nearest(std::uint32_t row, std::uint32_t column, std::uint32_t before) {
    const std::uint32_t first = column < kNearest / 2 ? 0 : column - kNearest / 2;
    for (std::uint32_t c = first; c <= std::min(column + kNearest / 2, width_ - 1); ++c) {
      // A hash of the position instead of a stream: the edges of a subtask do not change with the size of the graph.
      const std::uint64_t place = (std::uint64_t{row} << 32U) | (std::uint64_t{column} << 3U) | (c - first);
      if ((mix_bits(mix_bits(place + 1) + options_.seed) & 1U) != 0) edge(before + c);
    }
  }

  const ShapeOptions& options_;
  const std::uint32_t width_;
  const std::uint32_t levels_;  ///< Steps of the butterfly before it begins anew.
  Graph& graph_;
};

std::uint64_t edges_at_most(const ShapeOptions& options) {
  switch (options.shape) {
    case Shape::Flat:
    case Shape::Trivial: return 0;
    case Shape::AllToAll: return std::uint64_t{options.subtasks} * width_of(options);
    case Shape::RandomNearest: return std::uint64_t{options.subtasks} * kNearest;
    default: return std::uint64_t{options.subtasks} * 3;
  }
}

Result<void> check_options(const ShapeOptions& options, const GraphLimits& limits) {
  const auto refuse = [](std::string message) {
    return Error{ErrorCode::InvalidArgument, "shape", std::move(message), {}};
  };
  const auto over = [](std::string message) {
    return Error{ErrorCode::LimitExceeded, "shape", std::move(message), {}};
  };
  if (options.subtasks == 0) return refuse("a graph has at least one subtask");
  if (options.burn < Duration{0} || options.output_bytes < 0) return refuse("a duration or amount is negative");
  if (options.subtasks > limits.subtasks_max)
    return over("more than " + std::to_string(limits.subtasks_max) + " subtasks");
  if (edges_at_most(options) > limits.edges_max)
    return over("more than " + std::to_string(limits.edges_max) + " edges");
  if (options.payload_bytes > limits.subtask_payload_bytes_max)
    return over("more than " + std::to_string(limits.subtask_payload_bytes_max) + " bytes of payload for each subtask");
  if (std::uint64_t{std::max(options.payload_bytes, 16U)} * options.subtasks > 0xffffffffU && options.payload_bytes > 0)
    return over("more than 4 GiB of payload");
  return {};
}

}  // namespace

std::string_view to_string(Shape shape) { return kNames[static_cast<std::size_t>(shape)]; }

Result<Shape> parse_shape(std::string_view name) {
  if (name == "random") return Shape::RandomNearest;
  NearestName nearest{name};
  std::string all;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Shape>(i);
    nearest.offer(kNames[i]);
    all += (i == 0 ? "" : ", ") + std::string{kNames[i]};
  }
  return Error{ErrorCode::InvalidArgument, cli::in_quotes(name), "is no shape; there are " + all, nearest.remedy()};
}

Result<Graph> make_graph(const ShapeOptions& options) {
  PENSTOCK_TRY(check_options(options, GraphLimits{}));
  Graph graph;
  const bool burns = options.burn > Duration{0};
  const std::string payload = cli::burn_payload(options.burn, options.output_bytes);
  Template& content = graph.templates.emplace_back();
  content.name = std::string{to_string(options.shape)};
  content.program = burns ? "burn" : "noop";
  content.expected_duration = options.burn;
  if (burns || options.output_bytes > 0) content.payload = payload;
  graph.template_of.assign(options.subtasks, 0);
  graph.input_offsets.reserve(options.subtasks + std::size_t{1});
  Edges edges{options, graph};
  for (std::uint32_t i = 0; i < options.subtasks; ++i) edges.add(i);
  if (options.payload_bytes > 0) {
    // The operators read their numbers from the beginning of the subtask's payload, if there is one.
    const auto bytes = std::max<std::uint32_t>(options.payload_bytes, static_cast<std::uint32_t>(payload.size()));
    std::string each = payload;
    each.resize(bytes, '\0');
    graph.payloads.reserve(std::size_t{bytes} * options.subtasks);
    graph.payload_offsets.reserve(options.subtasks + std::size_t{1});
    graph.payload_offsets = {0};
    for (std::uint32_t i = 0; i < options.subtasks; ++i) {
      graph.payloads += each;
      graph.payload_offsets.push_back(static_cast<std::uint32_t>(graph.payloads.size()));
    }
  }
  return graph;
}

void alternate_workers(Graph& graph, std::uint32_t count) {
  const std::vector<Template> before = std::move(graph.templates);
  graph.templates.clear();
  for (const Template& content : before)
    for (std::uint32_t worker = 1; worker <= count; ++worker)
      graph.templates.emplace_back(content).required.worker = "worker-" + std::to_string(worker);
  for (std::size_t i = 0; i < graph.size(); ++i)
    graph.template_of[i] = graph.template_of[i] * count + static_cast<std::uint32_t>(i % count);
}

void become_command(Graph& graph, const std::string& program) {
  for (Template& content : graph.templates) {
    content.runner = RunnerKind::Command;
    content.program = program;
    content.payload.clear();
  }
  graph.payloads.clear();
  graph.payload_offsets.clear();
}

}  // namespace penstock::tools
