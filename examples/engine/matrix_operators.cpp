// The native operators of the engine: a worker runs them in its own process.
//
// `matrix_block` makes a block of a defined matrix; its payload is a `Block`. `block_product` makes the sum of the
// products of its inputs, first those of a row of blocks, then those of a column; its payload is a `Shape` for each
// pair of them. Blocks are bytes, row after row.
#include <penstock/operator.h>

#include <cstring>
#include <exception>

#include "examples/engine/blocks.hpp"
#include "examples/engine/matrix.hpp"

namespace {

using example::Block;
using example::ConstMatrix;
using example::Matrix;
using example::Shape;

constexpr std::uint64_t kLargest = 1U << 20U;

bool sound(const Shape& shape) { return shape.rows - 1 < kLargest && shape.columns - 1 < kLargest; }

int matrix_block(penstock_call* call) {
  Block block;
  if (call->payload.bytes != sizeof block) return call->fail(call, "the payload of matrix_block is a Block");
  std::memcpy(&block, call->payload.data, sizeof block);
  if (!sound(block.shape)) return call->fail(call, "a block has between 1 and 2^20 rows and columns");
  auto* out = static_cast<float*>(call->output(call, 0, block.shape.bytes()));
  if (out == nullptr) return call->fail(call, "there is no memory for the block");
  example::fill(Matrix{out, block.shape.rows, block.shape.columns, block.shape.columns}, block.place);
  return 0;
}

int block_product(penstock_call* call) {
  const std::uint64_t count = call->payload.bytes / sizeof(Shape);
  if (count == 0 || count % 2 != 0 || call->payload.bytes % sizeof(Shape) != 0 || call->input_count != count)
    return call->fail(call, "the payload of block_product is a Shape for each input");
  const auto* shapes = static_cast<const Shape*>(call->payload.data);
  const std::uint64_t half = count / 2;
  ConstMatrix inputs[2];
  Matrix sum;
  for (std::uint64_t pair = 0; pair < half; ++pair) {
    for (std::uint64_t side = 0; side < 2; ++side) {
      Shape shape;
      std::memcpy(&shape, shapes + side * half + pair, sizeof shape);
      const penstock_view& bytes = call->inputs[side * half + pair];
      if (!sound(shape) || bytes.bytes != shape.bytes()) return call->fail(call, "an input is no block of its shape");
      inputs[side] = {static_cast<const float*>(bytes.data), shape.rows, shape.columns, shape.columns};
    }
    if (pair == 0) {
      const Shape made{inputs[0].rows, inputs[1].columns};
      auto* out = static_cast<float*>(call->output(call, 0, made.bytes()));
      if (out == nullptr) return call->fail(call, "there is no memory for the block");
      std::memset(out, 0, made.bytes());
      sum = {out, made.rows, made.columns, made.columns};
    }
    if (inputs[0].rows != sum.rows || inputs[1].columns != sum.columns || inputs[0].columns != inputs[1].rows)
      return call->fail(call, "blocks do not fit together");
    if (call->cancelled(call) != 0) return 0;
    example::add_product(inputs[0], inputs[1], sum);
  }
  return 0;
}

template <int (*Run)(penstock_call*)>
int guarded(penstock_call* call) {
  try {
    return Run(call);
  } catch (const std::exception& failure) {
    return call->fail(call, failure.what());
  }
}

constexpr penstock_operator kOperators[] = {{"matrix_block", guarded<matrix_block>},
                                            {"block_product", guarded<block_product>}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 2, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators() { return &kTable; }
