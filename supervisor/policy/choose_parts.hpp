// The parts of a pool in words, as a configuration says them. Only combinations that make sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::policy {

/// An empty or missing choice is that of the preset.
struct PartsChoice {
  std::string preset;
  std::string ordering;  ///< fcfs, priority, multifactor.
  std::string sharing;   ///< none, fair_share, max_min, quota_tree.
  std::string backfill;  ///< none, fcfs, easy, conservative.
  std::string fitting;   ///< best, worst where slots count; fragmentation, binpack, spread where quotas do.
  std::optional<bool> reclaim;
  std::optional<bool> consolidation;
  std::optional<bool> preemption;  ///< Not said: unless jobs go by priority alone. Spec: policy-determined 5.1.
  std::int64_t reserve_depth = 1;  ///< Where there is a backfill and no word for it; at least 0.
};

/// Error: NotFound for an unknown word, InvalidArgument for parts that do not go together; the subject is the part, and
/// the remedy names the parts that do.
Result<Parts> choose_parts(const PartsChoice& choice);

/// The same words for chosen parts. A backfill with another number of reserved starts has that number as its word.
PartsChoice words_of(const Parts& parts);

/// Whether jobs go by the positions that operators can change: among those of one priority.
inline bool goes_by_position(const Parts& parts) {
  return parts.ordering == Ordering::Priority && parts.sharing == Sharing::None;
}

}  // namespace penstock::policy
