// The payloads of the operators on tiles. A tile is a matrix of floats, row after row.
#pragma once

#include <cstdint>

namespace example {

/// `tensor_random`: a part of a matrix of numbers between -1 and 1 that is defined by its seed.
struct RandomTile {
  std::uint64_t seed = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

/// The number at that place of the matrix with that seed (splitmix64).
inline float random_entry(std::uint64_t seed, std::uint64_t row, std::uint64_t column) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U + (row << 32U | column) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<double>((x ^ (x >> 31U)) >> 11U) / (1ULL << 52U) - 1);
}

/// `tensor_gemm`: the product of inputs 0 and 1, added to input 2 if there is one.
struct GemmTile {
  std::uint64_t rows = 0;
  std::uint64_t inner = 0;
  std::uint64_t columns = 0;
};

/// `tensor_qr`: its inputs, one below the other, as the product of orthonormal columns Q and an upper triangle R. An
/// output for the rows of Q of each input, then R.
struct QrTile {
  std::uint64_t columns = 0;
};

/// `tensor_elementwise`: steps on a stack of numbers, for each element of the inputs; the payload is an array of these.
enum class Step : std::uint32_t { Input, Add, Scale, Relu };
struct ElementStep {
  Step step = Step::Input;
  std::uint32_t input = 0;  ///< Of `Input`: its number.
  float factor = 0;         ///< Of `Scale`.
};

}  // namespace example
