// From a tensor program to a graph of subtasks on tiles.
#pragma once

#include <penstock/client.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/compiler/program.hpp"
#include "examples/compiler/tiles.hpp"

namespace example {

using Tile = penstock::engine::Handle<std::string>;

/// A value of a program, cut into tiles of `side` x `side`; those at the end are smaller.
struct Tiled {
  Extent extent;
  std::uint64_t side = 0;
  std::vector<Tile> tiles;  ///< Row after row.

  std::uint64_t down() const { return (extent.rows + side - 1) / side; }
  std::uint64_t across() const { return (extent.columns + side - 1) / side; }
  std::uint64_t rows_of(std::uint64_t row) const { return std::min(side, extent.rows - row * side); }
  std::uint64_t columns_of(std::uint64_t column) const { return std::min(side, extent.columns - column * side); }
  const Tile& at(std::uint64_t row, std::uint64_t column) const { return tiles[row * across() + column]; }
};

/// Adds to a graph what makes the values of a program, each node once. A product is a chain of `tensor_gemm` for each
/// tile; elementwise operations with one reader become steps of one subtask with it; a QR is a tree of small ones with
/// an output for each part of Q, and R (TSQR: Demmel et al., 2012).
class Lowering {
 public:
  Lowering(penstock::engine::GraphBuilder& graph, const Program& program, std::uint64_t side);

  /// The tiles of a value.
  const Tiled& lower(Value value);

 private:
  using Outputs = std::vector<Tiled>;  ///< Of a node.

  Outputs random(const Node& node);
  Outputs matmul(const Node& node);
  Outputs qr(const Node& node);
  Outputs elementwise(Value value);
  /// Appends the steps that compute a value; what is no elementwise operation, or has other readers, is an input.
  void add_steps(Value value, bool is_last, std::vector<ElementStep>& steps, std::vector<const Tiled*>& inputs);
  Tile gemm(const GemmTile& size, const std::vector<Tile>& inputs);
  std::vector<Tile> factors(const std::vector<Tile>& inputs, std::uint64_t columns);

  penstock::engine::GraphBuilder& graph_;
  const Program& program_;
  const std::uint64_t side_;
  const penstock::engine::Operation<std::string> random_;
  const penstock::engine::Operation<std::string> gemm_;
  const penstock::engine::Operation<std::string> elementwise_;
  const penstock::engine::Operation<std::string> qr_of_one_;
  const penstock::engine::Operation<std::string> qr_of_two_;
  std::map<std::uint32_t, Outputs> lowered_;  ///< By node.
};

}  // namespace example
