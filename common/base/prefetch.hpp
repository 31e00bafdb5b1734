// Asking for memory before it is needed.
#pragma once

namespace penstock {

/// Begins to bring the cache line of `address` near, for reading and writing. Any address will do.
///
/// Not the builtin alone: to gcc 12 a function that does nothing else has no effect, and it drops the calls of it.
/// The empty instruction is an effect that costs nothing.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address, 1);
  __asm__ volatile("" : : "r"(address));
}

}  // namespace penstock
