// Which parts of a pool bound the shares of those who may use nothing else.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/policy/sharing/limited_targets.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {

/// One workload's members with slots, oldest first.
struct Contender {
  std::uint32_t workload = kNone;
  std::vector<std::uint32_t> pending;  ///< Those that could be placed if all that may be preempted were gone.
  std::vector<std::uint32_t> running;
  std::int64_t blocked = 0;             ///< Slots of members that wait for who may not be preempted.
  std::int64_t leaving = 0;             ///< Slots of members on their way out: they will wait again.
  std::vector<std::uint32_t> promised;  ///< Those whose place is being left by others, or is kept since then.
  std::int64_t held = 0;                ///< With what is promised.
};

/// What a member asks of bands: its list, and its label.
using BandWish = std::pair<std::uint32_t, std::string>;

struct ShareLimits {
  std::vector<ShareLimit> limits;
  std::vector<std::size_t> reach;  ///< By contender: how many bands it may use, see below.
  std::set<BandWish> narrow;       ///< Of those who wait: what leaves out some bands.

  /// Nobody who waits may use some bands only: nothing here says anything then.
  bool empty() const { return narrow.empty(); }
};

/// A limit for each set of bands that is all that somebody's waiting members may use (together, where their lists
/// differ), and for unions of those that overlap. Within it is who waits for these bands only, and who waits for
/// nothing and holds nothing elsewhere: of whom all runs it is not known what he might use. It has the slots of the
/// bands without those that others may not be preempted from, and with those that they within hold elsewhere. Shares
/// may change when somebody of whom all ran has to wait: who gives slots back on their account has to be asked for more
/// than that. Cost: O(members + bands of all lists), and O(lists squared), times words of a set of bands where they
/// contain one another.
ShareLimits share_limits(SlotPass& pass, const std::vector<Contender>& present);

}  // namespace penstock::policy
