// The parts of a pool that bound the shares of jobs which may use nothing else.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "supervisor/policy/sharing/limited_targets.hpp"
#include "supervisor/policy/sharing/owned_slots.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {

/// One workload's members with slots, oldest first.
struct Contender {
  std::uint32_t workload = kNone;
  std::vector<std::uint32_t> pending;  ///< Members that could be placed if all preemptible ones were gone.
  std::vector<std::uint32_t> running;
  std::int64_t blocked = 0;             ///< Slots of members that wait for slots which may not be preempted.
  std::int64_t leaving = 0;             ///< Slots of members on their way out, which are among those that wait.
  std::vector<std::uint32_t> promised;  ///< Members with a place that others are leaving, or that is kept since then.
  std::int64_t held = 0;                ///< With promised slots.
};

/// The slots of the contenders by owner, also those that are being left: an owner at its limit starts nothing before.
OwnedSlots slots_of_owners(const Snapshot& snapshot, const std::vector<Contender>& present);

/// The limits of users and accounts, by contender.
std::vector<ShareLimit> limits_of_users(const Snapshot& snapshot, const std::vector<Contender>& present);

struct ShareLimits {
  std::vector<ShareLimit> limits;
  std::vector<std::size_t> reach;  ///< By contender: how many bands it may use, see below.
  std::set<std::uint32_t> narrow;  ///< Lists of waiting members that leave out some bands.

  /// Every waiting member may use all bands: there are no limits then.
  bool empty() const { return narrow.empty(); }
};

/// A limit for each set of bands that is all that a contender's waiting members may use (together, where their lists
/// differ), and for unions of those that overlap. A contender is inside the limit if it waits for these bands only, or
/// if it waits for nothing and holds nothing elsewhere: where all of a contender runs, the bands that it might use are
/// unknown. The limit has the slots of the bands, less those that contenders outside hold without being preemptible,
/// plus those that contenders inside hold elsewhere. Shares may change when a contender of which all ran has to wait:
/// to give back slots because of a limit, a contender must exceed more than the limit alone. Cost: O(members + bands of
/// all lists), and O(lists squared), times words of a set of bands where they contain one another.
ShareLimits share_limits(SlotPass& pass, const std::vector<Contender>& present);

}  // namespace penstock::policy
