// The product is made as in BLAS libraries (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication,
// 2008): parts of a and b are copied into the order of their use, and multiplied in tiles. The sums of a tile stay in
// registers.
#include "examples/engine/matrix.hpp"

#include <tbb/cache_aligned_allocator.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <vector>

namespace example {
namespace {

struct Target {
  float* data = nullptr;
  std::size_t stride = 0;
};

struct Kernel {
  std::size_t rows = 0;
  std::size_t columns = 0;
  void (*add_tile)(const float* a, const float* b, std::size_t depth, Target c) = nullptr;
};

namespace any_processor {
constexpr std::size_t kLanes = 4;
constexpr std::size_t kRows = 4;
#include "examples/engine/tile.inc"
}  // namespace any_processor

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace with_avx2 {
constexpr std::size_t kLanes = 8;
constexpr std::size_t kRows = 6;
#include "examples/engine/tile.inc"
}  // namespace with_avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace with_avx512 {
constexpr std::size_t kLanes = 16;
constexpr std::size_t kRows = 12;
#include "examples/engine/tile.inc"
}  // namespace with_avx512
#pragma GCC pop_options

const Kernel& best_kernel() {
  if (__builtin_cpu_supports("avx512f")) return with_avx512::kKernel;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_avx2::kKernel;
  return any_processor::kKernel;
}
#else
const Kernel& best_kernel() { return any_processor::kKernel; }
#endif

// The part that one thread multiplies at a time: its copies of a and b fit into the second-level cache.
constexpr std::size_t kPartRows = 480;  // A multiple of the rows of every kernel.
constexpr std::size_t kPartColumns = 1024;
constexpr std::size_t kPartDepth = 256;
constexpr std::size_t kTileMost = 12 * 32;

using Floats = std::vector<float, tbb::cache_aligned_allocator<float>>;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

// `rows` rows at a time, column after column; missing rows are zero.
void copy_left(const ConstMatrix& a, std::size_t rows, float* out) {
  for (std::size_t top = 0; top < a.rows; top += rows)
    for (std::size_t column = 0; column < a.columns; ++column)
      for (std::size_t row = top; row < top + rows; ++row)
        *out++ = row < a.rows ? a.data[row * a.stride + column] : 0.0F;
}

// `columns` columns at a time, row after row.
void copy_right(const ConstMatrix& b, std::size_t columns, float* out) {
  for (std::size_t left = 0; left < b.columns; left += columns)
    for (std::size_t row = 0; row < b.rows; ++row) {
      const float* from = b.data + row * b.stride + left;
      const std::size_t there = std::min(columns, b.columns - left);
      out = std::copy_n(from, there, out);
      out = std::fill_n(out, columns - there, 0.0F);
    }
}

struct Copies {
  const float* left = nullptr;
  const float* right = nullptr;
  std::size_t depth = 0;
};

// Tiles at the border are computed beside c.
void add_tiles(const Kernel& kernel, const Copies& copies, const Matrix& c) {
  alignas(64) float border[kTileMost];
  for (std::size_t column = 0; column < c.columns; column += kernel.columns)
    for (std::size_t row = 0; row < c.rows; row += kernel.rows) {
      const float* a = copies.left + row * copies.depth;
      const float* b = copies.right + column * copies.depth;
      float* place = c.data + row * c.stride + column;
      const std::size_t rows = std::min(kernel.rows, c.rows - row);
      const std::size_t columns = std::min(kernel.columns, c.columns - column);
      if (rows == kernel.rows && columns == kernel.columns) {
        kernel.add_tile(a, b, copies.depth, {place, c.stride});
        continue;
      }
      std::fill(border, border + kernel.rows * kernel.columns, 0.0F);
      kernel.add_tile(a, b, copies.depth, {border, kernel.columns});
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t k = 0; k < columns; ++k) place[r * c.stride + k] += border[r * kernel.columns + k];
    }
}

ConstMatrix part_of(const ConstMatrix& whole, const Place& from, std::size_t rows, std::size_t columns) {
  return {whole.data + from.row * whole.stride + from.column, std::min(rows, whole.rows - from.row),
          std::min(columns, whole.columns - from.column), whole.stride};
}

void add_part(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  static const Kernel& kernel = best_kernel();
  thread_local Floats left(kPartRows * kPartDepth);
  thread_local Floats right(round_up(kPartColumns, 2 * 16) * kPartDepth);
  for (std::size_t step = 0; step < a.columns; step += kPartDepth) {
    const ConstMatrix some_a = part_of(a, {0, 0, step}, a.rows, kPartDepth);
    const ConstMatrix some_b = part_of(b, {0, step, 0}, kPartDepth, b.columns);
    copy_left(some_a, kernel.rows, left.data());
    copy_right(some_b, kernel.columns, right.data());
    add_tiles(kernel, {left.data(), right.data(), some_b.rows}, c);
  }
}

}  // namespace

float entry(const Place& place) {
  std::uint64_t bits = place.matrix * 0x9e3779b97f4a7c15U + (place.row << 32U) + place.column;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;  // Splitmix64.
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  bits ^= bits >> 31U;
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40U) - (1 << 23)) / static_cast<float>(1 << 23);
}

void fill(const Matrix& matrix, const Place& place) {
  tbb::parallel_for(std::size_t{0}, matrix.rows, [&](std::size_t row) {
    float* out = matrix.data + row * matrix.stride;
    for (std::size_t column = 0; column < matrix.columns; ++column)
      out[column] = entry({place.matrix, place.row + row, place.column + column});
  });
}

void add_product(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  const std::size_t down = (c.rows + kPartRows - 1) / kPartRows;
  const std::size_t across = (c.columns + kPartColumns - 1) / kPartColumns;
  tbb::parallel_for(std::size_t{0}, down * across, [&](std::size_t part) {
    const std::size_t row = part / across * kPartRows;
    const std::size_t column = part % across * kPartColumns;
    const Matrix out{c.data + row * c.stride + column, std::min(kPartRows, c.rows - row),
                     std::min(kPartColumns, c.columns - column), c.stride};
    add_part(part_of(a, {0, row, 0}, out.rows, a.columns), part_of(b, {0, 0, column}, b.rows, out.columns), out);
  });
}

}  // namespace example
