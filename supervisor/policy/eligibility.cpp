#include "supervisor/policy/eligibility.hpp"

#include "supervisor/policy/ordering/member_order.hpp"

namespace penstock::policy {
/// The trial of a pass has more than the snapshot: members that the pass has started, and places that it keeps for
/// carried reservations. All of that is gone with every member, and stays when only preemptible members leave.
Eligibility::Eligibility(SlotPass& pass, Gone gone)
    : snapshot_(pass.snapshot()),
      emptied_(gone == Gone::Everybody ? SlotTrial{pass.snapshot(), pass.pool(), pass.parts()} : pass.trial()) {
  const auto is_gone = [&](std::uint32_t member) {
    if (gone == Gone::Everybody || may_preempt(snapshot_, member)) return true;
    const Workload& owner = snapshot_.workloads[snapshot_.members[member].workload];
    return gone == Gone::InTime && owner.preemptible && owner.last_start.has_value() &&
           snapshot_.now < later(*owner.last_start, pass.parts().starvation_after);
  };
  for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member)
    if (is_gone(member)) emptied_.give_back(snapshot_.members[member].places);
}

bool Eligibility::admits(std::uint32_t member) {
  const Member& subject = snapshot_.members[member];
  if (failed_.contains(subject)) return false;
  if (fits_.contains(subject)) return true;
  const bool fits = !emptied_.find(subject).empty();
  (fits ? fits_ : failed_).add(subject);
  return fits;
}

}  // namespace penstock::policy
