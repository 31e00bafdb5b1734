// The time for which a gang keeps a part of its slots, or a promise of them, before it gives all of that back. Pure.
#pragma once

#include <vector>

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// Whether the gang must abort its reservation now. A gang that has lost a part of its places, with a worker, wants
/// that part again. After waiting for so long it gives up the rest, because two gangs might wait for each other. Spec:
/// policy-runai 9.
/// `all`: thousandths of slots that the gang needs, whatever limits leave it of them now. A pass in which it wants
/// nothing does not begin its wait anew.
bool aborts_reservation(KindShare& share, std::uint64_t all, const std::vector<PromisedPlace>& held, Instant now,
                        Duration wait);

/// Whether the gang must give its promised places back now. Promised places are kept from all other jobs while members
/// leave them. A gang that does not get all of its places for so long gives them back, also the free ones, and may then
/// be promised others; but not before `grace` is over, which the leaving members have.
bool gives_promise_back(KindShare& share, Instant now, Duration wait, Duration grace);

}  // namespace penstock::supervisor
