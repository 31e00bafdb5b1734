// The time for which a job waits without a slot, and the time of its turn. Pure.
#pragma once

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// Notes whether the job holds slots now, or wants some and holds none. A job that gets slots after having waited for
/// `starvation_after` has its turn, until it holds none again. `kept_from`: it wants nothing for a moment only, and its
/// wait goes on. To be called once in a pass, before `since` is used. `starvation_after` 0: no job has a turn.
void note_turn(KindShare& share, bool holds, bool wants, bool kept_from, Instant now, Duration starvation_after);

/// Whether the turn lasts: as long as the job had to wait for it, from when it got slots.
bool is_in_turn(const KindShare& share, Instant now, Duration starvation_after);

}  // namespace penstock::supervisor
