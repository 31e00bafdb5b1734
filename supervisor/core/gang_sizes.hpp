// Where slots of a gang may be: on one band, or on whole bands of one size. Spec: policy-determined 6.5. Private to
// this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace penstock::supervisor {

/// Empty bands of one kind in a pool: how many there are of each size.
using BandSizes = std::map<std::uint64_t, std::uint64_t>;

/// Whether they hold a gang as a pass places it.
inline bool holds_gang(const BandSizes& sizes, std::uint64_t gang) {
  return std::any_of(sizes.begin(), sizes.end(), [gang](const auto& of_size) {
    const auto& [size, count] = of_size;
    return size >= gang || (size > 0 && gang % size == 0 && gang / size <= count);
  });
}

}  // namespace penstock::supervisor
