// Chunks of data as LZ4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::worker {

/// The ratio to which a sample of 64 KiB from all over the chunk shrinks; 1: it does not. Cost: some 0.1 ms.
double sample_part(std::span<const std::byte> chunk, std::vector<std::byte>& scratch);
/// The chunk as LZ4, in `scratch`; empty if it does not shrink by an eighth. Cost: some 2 ms for a MiB.
std::span<const std::byte> pack_chunk(std::span<const std::byte> chunk, std::vector<std::byte>& scratch);
/// False if `packed` is no LZ4 or does not fill `chunk` exactly; then `chunk` may hold anything. Never writes beyond
/// `chunk`, whatever `packed` contains.
bool unpack_chunk(std::span<const std::byte> packed, std::span<std::byte> chunk);

}  // namespace penstock::worker
