// In the order of their priorities; what is blocked gets a reserved start, later jobs fill the gaps before it.
#include <algorithm>

#include "supervisor/policy/backfill_profile.hpp"
#include "supervisor/policy/eligibility.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/ordering/multifactor.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {
namespace {

/// When what is held comes back.
AvailabilityProfile profile_of(SlotPass& pass) {
  const Snapshot& snapshot = pass.snapshot();
  std::int64_t used = 0;
  std::vector<SlotsReturn> returns;
  returns.reserve(pass.running().size());
  for (const std::uint32_t each : pass.running()) {
    const Member& member = snapshot.members[each];
    used += member.slots;
    returns.push_back({snapshot.workloads[member.workload].ends_by.value_or(kNever), member.slots});
  }
  return {snapshot.now, std::max<std::int64_t>(0, pass.trial().capacity() - used), std::move(returns)};
}

std::vector<std::uint32_t> in_order(SlotPass& pass) {
  const Snapshot& snapshot = pass.snapshot();
  std::vector<std::uint32_t> waiting = pass.waiting();
  std::vector<PriorityTerms> priorities;
  if (pass.parts().ordering == Ordering::Multifactor)
    priorities = multifactor_priorities(snapshot, pass.parts().multifactor, pass.trial().capacity());
  for (std::uint32_t workload = 0; workload < priorities.size(); ++workload)
    pass.plan().priorities.push_back(
        {workload,
         priorities[workload].priority,
         {priorities[workload].terms[0], priorities[workload].terms[1], priorities[workload].terms[2],
          priorities[workload].terms[3], priorities[workload].terms[4], priorities[workload].terms[5]}});
  std::sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (pass.parts().ordering == Ordering::Priority) return more_important(snapshot, a, b);
    if (!priorities.empty()) {
      const std::int64_t left = priorities[snapshot.members[a].workload].priority;
      const std::int64_t right = priorities[snapshot.members[b].workload].priority;
      if (left != right) return left > right;
    }
    return older(snapshot, a, b);
  });
  return waiting;
}

}  // namespace

void backfill(SlotPass& pass) {
  const Snapshot& snapshot = pass.snapshot();
  Backfill policy{profile_of(pass), snapshot.now, pass.parts().reserve_depth};
  Eligibility eligibility{pass, Gone::Everybody};
  bool anybody_blocked = false;
  std::uint32_t first_reserved = kNone;  // Workload.
  for (const std::uint32_t member : in_order(pass)) {
    const Member& subject = snapshot.members[member];
    if (pass.is_over_cap(member)) {
      pass.explain(member, Hold::AtSlotsMax, snapshot.workloads[subject.workload].slots_max,
                   pass.held(subject.workload));
      continue;
    }
    if (!pass.parts().waits_for_absent_bands && !eligibility.admits(member)) {
      pass.explain(member, Hold::NeverFits, subject.slots, pass.trial().capacity());
      continue;
    }
    std::vector<Place> places;
    const BackfillRequest request{subject.slots,
                                  snapshot.workloads[subject.workload].time_limit.value_or(Duration::max()),
                                  subject.allowed_bands.empty()};
    const BackfillOutcome outcome = policy.next(request, [&] {
      places = pass.find(member);
      return !places.empty();
    });
    if (outcome.verdict == BackfillVerdict::Starts) {
      pass.trial().take(places);
      pass.start(member, std::move(places), anybody_blocked);
      continue;
    }
    anybody_blocked = true;
    const bool would_fit = pass.trial().roomiest() >= subject.slots && first_reserved != kNone;
    pass.explain(member, would_fit ? Hold::BehindReservation : Hold::NoRoom, subject.slots, pass.trial().roomiest(),
                 would_fit ? first_reserved : kNone);
    if (outcome.verdict != BackfillVerdict::Reserved) continue;
    if (first_reserved == kNone) first_reserved = subject.workload;
    pass.plan().reservations.push_back({member, {}, {}, outcome.at});
  }
}

}  // namespace penstock::policy
