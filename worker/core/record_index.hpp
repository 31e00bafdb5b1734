// Positions of records and jobs on a worker.
#pragma once

#include <cstdint>

#include "common/base/ids.hpp"

namespace penstock::worker {

/// Position of a subtask's record on this worker; dense, reused.
using RecordIndex = Id<struct RecordTag, std::uint32_t>;
/// Position of a job on this worker; dense, reused.
using JobSlot = Id<struct JobSlotTag, std::uint32_t>;

}  // namespace penstock::worker
