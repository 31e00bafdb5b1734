// Whether a project below its share may take from others.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/sharing/owner.hpp"

namespace penstock::policy {

/// The job that reclaims.
struct Reclaimer {
  std::uint32_t project = kNone;
  Resources amount;
  bool preemptible = true;
};

/// A piece that would be taken, in the order in which pieces go.
struct ReclaimedPiece {
  std::uint32_t project = kNone;
  Resources amount;
};

/// Whether the project stays within its fair share with it, and within the guarantee if it may not be preempted.
bool may_reclaim(const std::vector<Owner>& owners, const Reclaimer& reclaimer);

/// Rule 1: the victim's side holds more than it may rely on, of something.
bool victim_is_over_share(const Owner& victim, const Resources& remaining);
/// Whether it stays within its guarantee with so much more.
bool would_be_within_guarantee(const Owner& owner, const Resources& more);
/// Rule 2: the reclaimer's side stays within its guarantee, and the victim's is above its own.
bool reclaimer_is_guaranteed(const Owner& reclaimer, const Resources& amount, const Owner& victim,
                             const Resources& remaining);

/// Whether all pieces may go for the reclaimer: none is taken from a side that is not above its share, and no taker
/// ends fuller than the owner it took from. `saturation` in thousandths. Spec: policy-runai 9, Reclaim.
bool reclaim_is_fair(const std::vector<Owner>& owners, const Reclaimer& reclaimer,
                     const std::vector<ReclaimedPiece>& pieces, std::int64_t saturation);

/// Whether a victim would take its piece back in the next pass, by rule 2: it would hold less than its guarantee, the
/// reclaimer more than its own. The page has no such test; without it two projects go round for ever.
bool would_come_back(const std::vector<Owner>& owners, const Reclaimer& reclaimer,
                     const std::vector<ReclaimedPiece>& pieces);

}  // namespace penstock::policy
