// Explains why a subtask is where it is.
#pragma once

#include <cstdint>
#include <string>

#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
class MemoryGrants;
struct Tables;

/// Why a subtask is where it is, with the numbers (spec worker 11).
struct WorkerExplanation {
  bool known = false;
  SubtaskState state = SubtaskState::Free;
  std::uint64_t priority = 0;  ///< With which it is queued now.
  std::string reason;
};

/// The latch, quota, entitlement or input that holds this subtask, with numbers. Reads only.
WorkerExplanation explain_subtask(SubtaskId id, const Tables& tables, const Bands& bands, const MemoryGrants& grants);

}  // namespace penstock::worker
