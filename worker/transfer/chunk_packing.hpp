// Chunks of data as LZ4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::worker {

/// What 64 KiB from all over the chunk shrink to, as a part of themselves; 1: they do not. Cost: some 0.1 ms.
double sample_part(std::span<const std::byte> chunk, std::vector<std::byte>& scratch);
/// The chunk as LZ4, in `scratch`; empty if it does not shrink by an eighth. Some 2 ms for a MiB.
std::span<const std::byte> pack_chunk(std::span<const std::byte> chunk, std::vector<std::byte>& scratch);
/// False if `packed` is no LZ4 or does not fill `chunk` exactly, whose bytes may be anything then; nothing beyond it is
/// written, whatever `packed` says.
bool unpack_chunk(std::span<const std::byte> packed, std::span<std::byte> chunk);

}  // namespace penstock::worker
