// The part of one job in the work that a band may hold ahead.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock::supervisor {

/// A job that policy gives `slots` of a band's `of_slots` holds that part of `most`. If each held all of it, a worker
/// would hold that much of every job, and the more it holds the longer it takes for each subtask.
inline std::uint32_t part_ahead(std::uint32_t most, std::uint32_t slots, std::uint32_t of_slots) {
  if (slots >= of_slots) return most;
  return std::max(static_cast<std::uint32_t>(std::uint64_t{most} * slots / of_slots), 1U);
}

}  // namespace penstock::supervisor
