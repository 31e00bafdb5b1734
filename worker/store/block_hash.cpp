#include "worker/store/block_hash.hpp"

#if defined(PENSTOCK_XXH3_DISPATCH)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace penstock {

// The dispatching header replaces the name by one that looks at the processor.
std::uint64_t block_hash(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace penstock
