// Prefetches memory.
#pragma once

namespace penstock {

/// Begins to load the cache line of `address`, for reading and writing. Any address is allowed.
///
/// Not the builtin alone: gcc 12 treats a function with only the builtin as free of effects and drops its calls. The
/// empty instruction is an effect without cost.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address, 1);
  __asm__ volatile("" : : "r"(address));
}

}  // namespace penstock
