// The messages between the engine and its operators.
#pragma once

#include <cstdint>

#include "examples/engine/matrix.hpp"

namespace example {

struct Shape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t bytes() const { return rows * columns * sizeof(float); }
};

/// A part of a defined matrix.
struct Block {
  Place place;
  Shape shape;
};

}  // namespace example
