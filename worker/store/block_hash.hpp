// The checksum of blocks of data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// XXH3 of 64 bits, with the widest instructions that this processor has where the library can choose them when it
/// runs (a compiler that targets the oldest processor of its kind uses half of their width or less). The result does
/// not depend on the processor. Any thread.
std::uint64_t block_hash(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace penstock
