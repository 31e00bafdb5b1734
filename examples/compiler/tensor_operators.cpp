// The native operators of the compiler: a worker runs them in its own process. `tiles.hpp` has their payloads.
#include <penstock/operator.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <vector>

#include "examples/compiler/tiles.hpp"

namespace {

using example::ElementStep;
using example::GemmTile;
using example::QrTile;
using example::RandomTile;
using example::Step;

constexpr std::uint64_t kLargest = 1U << 16U;  ///< Rows or columns of a tile.

template <class T>
bool read_payload(const penstock_call* call, T& payload) {
  if (call->payload.bytes != sizeof payload) return false;
  std::memcpy(&payload, call->payload.data, sizeof payload);
  return true;
}

const float* input(const penstock_call* call, std::uint64_t index) {
  return static_cast<const float*>(call->inputs[index].data);
}
std::uint64_t numbers_of(const penstock_call* call, std::uint64_t index) {
  return call->inputs[index].bytes / sizeof(float);
}
float* output(penstock_call* call, std::uint32_t index, std::uint64_t numbers) {
  return static_cast<float*>(call->output(call, index, numbers * sizeof(float)));
}

int random_tile(penstock_call* call) {
  RandomTile tile;
  if (!read_payload(call, tile) || tile.rows > kLargest || tile.columns > kLargest)
    return call->fail(call, "the payload of tensor_random is a RandomTile");
  float* out = output(call, 0, tile.rows * tile.columns);
  if (out == nullptr) return call->fail(call, "there is no memory for the tile");
  for (std::uint64_t row = 0; row < tile.rows; ++row)
    for (std::uint64_t column = 0; column < tile.columns; ++column)
      *out++ = example::random_entry(tile.seed, tile.row + row, tile.column + column);
  return 0;
}

int gemm_tile(penstock_call* call) {
  GemmTile size;
  if (!read_payload(call, size) || call->input_count < 2 || call->input_count > 3)
    return call->fail(call, "tensor_gemm has a GemmTile, and two or three inputs");
  const std::uint64_t made = size.rows * size.columns;
  if (size.rows > kLargest || size.columns > kLargest || size.inner > kLargest ||
      numbers_of(call, 0) != size.rows * size.inner || numbers_of(call, 1) != size.inner * size.columns ||
      (call->input_count == 3 && numbers_of(call, 2) != made))
    return call->fail(call, "an input of tensor_gemm has another size than its payload says");
  float* out = output(call, 0, made);
  if (out == nullptr) return call->fail(call, "there is no memory for the tile");
  if (call->input_count == 3)
    std::memcpy(out, call->inputs[2].data, made * sizeof(float));
  else
    std::fill(out, out + made, 0.0F);
  for (std::uint64_t row = 0; row < size.rows; ++row)
    for (std::uint64_t k = 0; k < size.inner; ++k) {
      const float a = input(call, 0)[row * size.inner + k];
      const float* b = input(call, 1) + k * size.columns;
      for (std::uint64_t column = 0; column < size.columns; ++column) out[row * size.columns + column] += a * b[column];
    }
  return 0;
}

/// False: the steps do not fit the inputs, or leave not just one number.
bool fits(const penstock_call* call, const std::vector<ElementStep>& steps) {
  std::uint64_t depth = 0;
  for (const ElementStep& step : steps) {
    if (step.step == Step::Input && step.input >= call->input_count) return false;
    if (step.step == Step::Input && numbers_of(call, step.input) != numbers_of(call, 0)) return false;
    if (depth < (step.step == Step::Input ? 0U : step.step == Step::Add ? 2U : 1U)) return false;
    if (step.step == Step::Input) ++depth;
    if (step.step == Step::Add) --depth;
    if (step.step > Step::Relu) return false;
  }
  return depth == 1;
}

int elementwise_tile(penstock_call* call) {
  std::vector<ElementStep> steps(call->payload.bytes / sizeof(ElementStep));
  if (!steps.empty()) std::memcpy(steps.data(), call->payload.data, steps.size() * sizeof(ElementStep));
  if (call->input_count == 0 || !fits(call, steps))
    return call->fail(call, "the steps of tensor_elementwise do not fit its inputs");
  float* out = output(call, 0, numbers_of(call, 0));
  if (out == nullptr) return call->fail(call, "there is no memory for the tile");
  std::vector<float> stack;
  for (std::uint64_t i = 0; i < numbers_of(call, 0); ++i) {
    stack.clear();
    for (const ElementStep& step : steps) {
      if (step.step == Step::Input) {
        stack.push_back(input(call, step.input)[i]);
        continue;
      }
      const float top = stack.back();
      if (step.step == Step::Add) {
        stack.pop_back();
        stack.back() += top;
      } else {
        stack.back() = step.step == Step::Scale ? top * step.factor : std::max(top, 0.0F);
      }
    }
    out[i] = stack.back();
  }
  return 0;
}

/// Makes the columns of `a` orthonormal and fills the triangle `r` (modified Gram-Schmidt, each column twice: Giraud et
/// al., 2005, which is orthogonal up to rounding).
void orthonormalize(std::vector<double>& a, std::uint64_t rows, std::uint64_t columns, std::vector<double>& r) {
  const auto dot = [&](std::uint64_t left, std::uint64_t right) {
    double sum = 0;
    for (std::uint64_t row = 0; row < rows; ++row) sum += a[row * columns + left] * a[row * columns + right];
    return sum;
  };
  for (std::uint64_t column = 0; column < columns; ++column) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::uint64_t before = 0; before < column; ++before) {
        const double along = dot(before, column);
        r[before * columns + column] += along;
        for (std::uint64_t row = 0; row < rows; ++row) a[row * columns + column] -= along * a[row * columns + before];
      }
    const double length = std::sqrt(dot(column, column));
    r[column * columns + column] = length;
    for (std::uint64_t row = 0; row < rows && length > 0; ++row) a[row * columns + column] /= length;
  }
}

int qr_tile(penstock_call* call) {
  QrTile size;
  if (!read_payload(call, size) || size.columns == 0 || size.columns > kLargest)
    return call->fail(call, "the payload of tensor_qr is a QrTile");
  std::vector<double> a;
  for (std::uint64_t i = 0; i < call->input_count; ++i) {
    if (numbers_of(call, i) % size.columns != 0) return call->fail(call, "an input of tensor_qr has other columns");
    a.insert(a.end(), input(call, i), input(call, i) + numbers_of(call, i));
  }
  const std::uint64_t rows = a.size() / size.columns;
  if (rows < size.columns) return call->fail(call, "a tile of tensor_qr has fewer rows than columns");
  std::vector<double> r(size.columns * size.columns);
  orthonormalize(a, rows, size.columns, r);
  std::uint64_t from = 0;
  for (std::uint32_t i = 0; i < call->input_count; ++i) {
    float* q = output(call, i, numbers_of(call, i));
    if (q == nullptr) return call->fail(call, "there is no memory for Q");
    for (std::uint64_t k = 0; k < numbers_of(call, i); ++k) q[k] = static_cast<float>(a[from++]);
  }
  float* triangle = output(call, static_cast<std::uint32_t>(call->input_count), r.size());
  if (triangle == nullptr) return call->fail(call, "there is no memory for R");
  std::transform(r.begin(), r.end(), triangle, [](double x) { return static_cast<float>(x); });
  return 0;
}

/// An exception of an operator becomes a failure of its subtask.
template <penstock_operator_function run>
int guarded(penstock_call* call) {
  try {
    return run(call);
  } catch (const std::exception& error) {
    return call->fail(call, error.what());
  }
}

constexpr penstock_operator kOperators[] = {{"tensor_random", guarded<random_tile>},
                                            {"tensor_gemm", guarded<gemm_tile>},
                                            {"tensor_elementwise", guarded<elementwise_tile>},
                                            {"tensor_qr", guarded<qr_tile>}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 4, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators(void) { return &kTable; }
