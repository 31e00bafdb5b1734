// Matrices of floats and their product, without BLAS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace example {

/// Row after row, `stride` floats apart.
struct Matrix {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
};
struct ConstMatrix {
  const float* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
};

/// A place in a matrix that is defined by its name: every part of it can be made anywhere.
struct Place {
  std::uint64_t matrix = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;
};
/// A pseudo-random number between -1 and 1.
float entry(const Place& place);

/// The part of a defined matrix that begins at `place`. On all threads of the TBB arena that it is called in.
void fill(const Matrix& matrix, const Place& place);
/// c += a * b, on all threads of the TBB arena that it is called in. REQUIRES: sizes that fit.
void add_product(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c);

}  // namespace example
