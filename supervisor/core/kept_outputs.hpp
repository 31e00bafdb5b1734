// The outputs of one job that are kept for its client and for other jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/lookup_map.hpp"
#include "common/base/seldom.hpp"
#include "common/base/time.hpp"
#include "common/protocol/client.hpp"
#include "supervisor/core/index_set.hpp"
#include "supervisor/core/kept_keys.hpp"

namespace penstock::supervisor {

/// The outputs of a subtask that running jobs have external inputs from.
struct BorrowedOutputs {
  std::uint32_t references = 0;  ///< External inputs of jobs that have not ended.
  bool released = false;         ///< The client needs them no more.
};

/// The outputs of a job that are kept for its client.
struct KeptOutputs {
  std::vector<OutputLocation> locations;
  Seldom<KeptKeys> keys;  ///< Of a job that was recovered as one that had ended: it has no graph.
  bool sorted = false;    ///< By producer and output: the job has ended, and others have external inputs from it.
  bool kept_by_order = false;  ///< Until another order, whether or not a client follows the job.
  bool release_when_unreferenced = false;  ///< Released when no job refers to its outputs any more.
  Seldom<LookupMap<SubtaskIndex, BorrowedOutputs>> borrowed;
  Seldom<IndexSet> released;               ///< Subtasks with outputs that went before those of the whole job.
  Instant keep_until = kNever;             ///< Outputs of an ended job that nobody follows are released then.

  bool is_released(SubtaskIndex subtask) const {
    const BorrowedOutputs* at = borrowed->find(subtask);
    return at != nullptr ? at->released : released->contains(subtask.value());
  }
};

}  // namespace penstock::supervisor
