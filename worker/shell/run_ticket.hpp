// The number by which a runner knows a run.
#pragma once

#include <cstdint>

#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// Identifies a run for its runner: a record that is used again has another attempt.
constexpr std::uint64_t ticket_of(RecordIndex record, Attempt attempt) {
  return (std::uint64_t{record.value()} << 32U) | (attempt.value() & 0xffffffffU);
}
/// None for the ticket of no run, which has all bits set.
constexpr RecordIndex record_of(std::uint64_t ticket) { return RecordIndex{static_cast<std::uint32_t>(ticket >> 32U)}; }

}  // namespace penstock::worker
