// Tensor programs, before they are cut into tiles.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace example {

/// One of the outputs of a node of a program.
struct Value {
  std::uint32_t node = 0;
  std::uint16_t output = 0;
};

enum class Operation : std::uint8_t { Random, MatMul, Qr, Add, Scale, Relu };

struct Extent {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

struct Node {
  Operation operation = Operation::Random;
  std::vector<Value> inputs;
  std::vector<Extent> outputs;
  float factor = 0;        ///< Of `Scale`.
  std::uint64_t seed = 0;  ///< Of `Random`.
  std::uint32_t readers = 0;
};

/// Operations in an order in which each comes after those that it reads. REQUIRES: extents that fit.
class Program {
 public:
  Value random(Extent extent, std::uint64_t seed) { return add({Operation::Random, {}, {extent}, 0, seed}); }
  Value matmul(Value a, Value b) { return add({Operation::MatMul, {a, b}, {{extent(a).rows, extent(b).columns}}}); }
  Value sum(Value a, Value b) { return add({Operation::Add, {a, b}, {extent(a)}}); }
  Value scale(Value a, float factor) { return add({Operation::Scale, {a}, {extent(a)}, factor}); }
  Value relu(Value a) { return add({Operation::Relu, {a}, {extent(a)}}); }
  /// Q with orthonormal columns, and R; of a matrix with no more columns than a tile has.
  std::pair<Value, Value> qr(Value a) {
    const Extent of = extent(a);
    const Value q = add({Operation::Qr, {a}, {of, {of.columns, of.columns}}});
    return {q, {q.node, 1}};
  }

  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  Extent extent(Value value) const { return nodes_[value.node].outputs[value.output]; }

 private:
  Value add(Node node) {
    for (const Value& input : node.inputs) ++nodes_[input.node].readers;
    nodes_.push_back(std::move(node));
    return {static_cast<std::uint32_t>(nodes_.size() - 1), 0};
  }

  std::vector<Node> nodes_;
};

}  // namespace example
