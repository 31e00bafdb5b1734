// Turns of jobs that have waited for too long without a slot.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/policy/actions/share_limits.hpp"

namespace penstock::policy {

/// Whether the job has wanted slots for so long and held none; 0: no job has its turn.
bool has_starved(const Workload& job, Instant now, Duration after);
/// The same by `Parts::starvation_after`.
bool has_starved(const SlotPass& pass, std::uint32_t workload);

/// Whether the workload keeps all that it holds, because it has not run for its minimum.
bool is_protected(const Snapshot& snapshot, std::uint32_t workload);

/// The contender that has its turn now: of those that have starved the one that has waited longest, then the oldest.
/// While another one's turn has been promised a place there is none. A limit must leave it its first member.
/// Nor is there one while a job has waited longer, since `blocked_since`, that only waits for turns to be over.
std::optional<std::size_t> next_turn(const SlotPass& pass, const std::vector<Contender>& present,
                                     Instant blocked_since);

enum class TurnOutcome : std::uint8_t {
  NotYet,         ///< No member may leave for it yet.
  WaitsForOwner,  ///< Its owner is at a limit, and first gets slots back from other jobs.
  Given,          ///< The place is taken, or promised.
};

/// Starts the first member of that contender, or promises it the place of others, whatever its share is. Contenders
/// that hold most beyond their targets lose their youngest members first; no member leaves that would not help, none of
/// a job that has not run for its minimum yet, and none if it would not be enough. The holdings of the contenders are
/// kept up to date. `targets` count the turn. Cost: O(members), and a search for each victim that makes a difference.
TurnOutcome give_turn(SlotPass& pass, std::vector<Contender>& present, std::size_t turn,
                      const std::vector<std::int64_t>& targets);

/// The turn of a job cannot be given yet. No other job that has starved starts before it: what starts after so long a
/// wait is kept for as long, and a large job would never find all its slots free together.
void hold_back_starved(SlotPass& pass, std::vector<Contender>& present, const std::vector<std::int64_t>& targets);

}  // namespace penstock::policy
