// Graphs for measurements; only their shape matters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/protocol/graph.hpp"

namespace penstock::bench {

enum class Shape : std::uint8_t {
  Flat,     ///< Independent subtasks.
  Chain,    ///< Each needs the one before.
  Chains,   ///< `width` independent chains.
  Stencil,  ///< Rows of `width`; each subtask needs three neighbours of the row before.
  Tree,     ///< Binary reduction: leaves first, each inner subtask needs two.
};

/// None for an unknown name.
std::optional<Shape> parse_shape(std::string_view name);
std::string_view to_string(Shape shape);

/// A graph of about `subtasks` no-op subtasks; `width` counts where the shape has rows or chains.
Graph build_graph(Shape shape, std::uint32_t subtasks, std::uint32_t width = 1000);

}  // namespace penstock::bench
