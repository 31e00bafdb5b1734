// One datum as a file: in chunks, compressed if they shrink, each with a checksum.
//
// Little-endian: `PNSP` u32 | 1 u32 | job u32 | subtask u32 | output u32 | chunk bytes u32 | bytes u64 | XXH3 u64 of
// what is before; then for each chunk its bytes in the file u32 | 1 if LZ4, else 0 u32 | XXH3 u64 of those bytes, with
// the chunk's number as seed | the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"

namespace penstock::worker {

enum class Durably : std::uint8_t { No, Yes };

/// Replaces the file; returns the bytes that it takes. `Durably::Yes`: the file survives a crash of the host from then
/// on. Errors: StorageFull, InvalidArgument for a place that cannot be used; no file is left.
Result<std::int64_t> write_datum_file(const std::string& path, const DataKey& key, std::span<const std::byte> bytes,
                                      Durably durably);
/// Asks `room_for(size)` for the memory and fills it; null from it means that there is none. Errors: StorageDamaged for
/// a file that is not that datum, whole and unchanged; ResourceExhausted.
Result<void> read_datum_file(const std::string& path, const DataKey& key,
                             const std::function<std::byte*(std::size_t)>& room_for);

}  // namespace penstock::worker
