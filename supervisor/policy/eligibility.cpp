#include "supervisor/policy/eligibility.hpp"

#include "supervisor/policy/ordering/member_order.hpp"

namespace penstock::policy {
namespace {

constexpr std::size_t kKnownMax = 32;  ///< Beyond it, other shapes are searched for each time.

bool are_alike(const Member& a, const Member& b) {
  return a.slots == b.slots && a.label == b.label && a.single_band == b.single_band &&
         a.blocked_bands == b.blocked_bands && a.band_list == b.band_list;
}

}  // namespace

/// The trial of a pass has more than the snapshot says: whom it has started, and what it keeps for claims. All of that
/// is gone with everybody, and stays when only those leave that may be preempted.
Eligibility::Eligibility(SlotPass& pass, Gone gone)
    : snapshot_(pass.snapshot()),
      emptied_(gone == Gone::Everybody ? SlotTrial{pass.snapshot(), pass.pool(), pass.parts()} : pass.trial()) {
  for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member)
    if (gone == Gone::Everybody || may_preempt(snapshot_, member)) emptied_.give_back(snapshot_.members[member].places);
}

bool Eligibility::admits(std::uint32_t member) {
  const Member& subject = snapshot_.members[member];
  if (failed_.contains(subject)) return false;
  for (const Member* known : fits_)
    if (are_alike(*known, subject)) return true;
  if (emptied_.find(subject).empty()) return failed_.add(subject), false;
  if (fits_.size() < kKnownMax) fits_.push_back(&subject);
  return true;
}

}  // namespace penstock::policy
