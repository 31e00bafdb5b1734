// How long a gang keeps a part of what it needs, or has it promised, before it gives all of that back. Pure.
#pragma once

#include <vector>

#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// A gang that has lost a part of its places, with a worker, wants that part again. Whoever has waited for it for so
/// long gives up the rest, because two of them might wait for each other: whether this one does, from now on.
/// Spec: policy-runai 9.
/// `all`: thousandths of slots that it needs, whatever limits leave it of them now. A pass in which it wants nothing
/// does not begin its wait anew.
bool gives_up_rest(KindShare& share, std::uint64_t all, const std::vector<PromisedPlace>& held, Instant now,
                   Duration wait);

/// The places that a gang is promised are kept from everybody while others leave them. Who does not get all of them for
/// so long gives them back, also those that are free: whether this one does. Then it may be promised others. Not before
/// `grace` is over, which others have for leaving.
bool gives_promise_back(KindShare& share, Instant now, Duration wait, Duration grace);

}  // namespace penstock::supervisor
