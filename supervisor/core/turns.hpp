// The time for which a job waits without a slot, and the time of its turn. Pure.
#pragma once

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// Notes whether the job holds slots now, or wants some and holds none. A job that gets slots after having waited for
/// `starvation_after` has its turn, until it holds none again. `kept_from`: it wants nothing for a moment only, and its
/// wait goes on. To be called once in a pass, before `since` is used. `starvation_after` 0: no job has a turn.
/// `ended_runs`: how many runs of the job have ended well so far.
void note_turn(KindShare& share, bool holds, bool wants, bool kept_from, Instant now, Duration starvation_after,
               std::uint64_t ended_runs);

/// Whether the turn lasts, from when it got slots: as long as the job had to wait for it, and twice as long as the turn
/// before if no run has ended since that one began. Else jobs with runs that are longer than a turn could take the
/// slots from each other for ever.
bool is_in_turn(const KindShare& share, Instant now, Duration starvation_after);

}  // namespace penstock::supervisor
