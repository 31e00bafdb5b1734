// In the order of their priorities; a blocked job gets a reserved start, later jobs fill the gaps before it.
#include <algorithm>

#include "supervisor/policy/actions/band_profiles.hpp"
#include "supervisor/policy/backfill_profile.hpp"
#include "supervisor/policy/eligibility.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/ordering/multifactor.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {
namespace {

/// The times when held slots come back.
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
  return {snapshot.now, std::max<std::int64_t>(0, pass.trial().capacity() - used), std::move(returns),
          pass.parts().overrun};
}

/// This many members that wait for several slots of one band have them reserved on a band of their own; of later ones
/// only the sum counts. Not a setting: a later member is not the next to start, and each costs a look at every band.
constexpr std::uint32_t kOwnBandsMax = 64;

/// Whether it waits for slots of a single band, and there are several: one slot is as good as any other.
class OneBand {
 public:
  explicit OneBand(SlotPass& pass) {
    for (std::uint32_t band = 0; band < pass.snapshot().bands.size(); ++band) {
      if (!pass.trial().room(band).open) continue;
      ++bands_;
      largest_ = std::max(largest_, pass.trial().room(band).slots);
    }
  }
  /// A request that is larger than any band takes several bands.
  bool is_needed_by(const Member& member) const {
    return member.band_list != kNone || (bands_ > 1 && member.slots > 1 && member.slots <= largest_);
  }

 private:
  std::uint32_t bands_ = 0;
  std::int64_t largest_ = 0;
};

/// The blocked workload, as the explanations of those behind it name it.
struct Blocked {
  std::uint32_t first = kNone;     ///< Workload.
  std::uint32_t reserved = kNone;  ///< The first with a reserved start.
  std::int64_t room_kept = 0;      ///< The most that a band had before its free slots were kept.
};

void explain_wait(SlotPass& pass, std::uint32_t member, const Blocked& before) {
  const Member& subject = pass.snapshot().members[member];
  const std::int64_t room = std::max(pass.trial().roomiest(), before.room_kept);
  const bool would_fit = subject.slots > 0 && subject.band_list == kNone && room >= subject.slots;
  if (would_fit && before.reserved != kNone)
    pass.explain(member, Hold::BehindReservation, subject.slots, room, before.reserved);
  else if (subject.slots > 0 && before.first != kNone && pass.parts().reserve_depth == 0)
    pass.explain(member, Hold::FirstServed, subject.slots, room, before.first);
  else
    pass.explain(member, Hold::NoRoom, subject.slots, pass.trial().roomiest());
}

/// The first places of its own at a time when the pool as a whole has that many free slots, too: slots that were
/// promised anywhere in the pool are in no band's profile. Beyond this many tries its start is unknown; not a setting.
constexpr int kChoicesMax = 64;
std::vector<OwnPlace> places_that_delay_nobody(SlotPass& pass, const Backfill& policy, BandProfiles& bands,
                                               const Member& member, const BackfillRequest& request) {
  std::vector<OwnPlace> own = bands.choose(member, request.limit, pass.snapshot().now);
  for (int choices = 1; !own.empty() && own.front().at != kNever; ++choices) {
    const Instant at = policy.earliest(request, own.front().at);
    if (at == own.front().at) break;
    if (at != kNever && choices < kChoicesMax) {
      own = bands.choose(member, request.limit, at);
      continue;
    }
    for (OwnPlace& each : own) each.at = kNever;
  }
  return own;
}

/// For one that waits for slots of one band, for whole bands, or for slots of several lists of bands.
BackfillOutcome reserve_bands(SlotPass& pass, Backfill& policy, BandProfiles& bands, const Member& member,
                              const BackfillRequest& request, Blocked& blocked) {
  const std::vector<OwnPlace> own = places_that_delay_nobody(pass, policy, bands, member, request);
  if (own.empty()) return {};
  std::int64_t free = 0;
  for (const OwnPlace& each : own) {
    blocked.room_kept = std::max(blocked.room_kept, each.free);
    free += each.free;
    bands.reserve(each, request.limit);
  }
  return policy.keep(request, own.front().at, std::min(free, request.slots));
}

std::vector<std::uint32_t> in_order(SlotPass& pass) {
  const Snapshot& snapshot = pass.snapshot();
  std::vector<std::uint32_t> waiting = pass.waiting();
  std::vector<PriorityTerms> priorities;
  if (pass.parts().ordering == Ordering::Multifactor)
    priorities = multifactor_priorities(snapshot, pass.parts().multifactor, pass.trial().capacity());
  for (std::uint32_t workload = 0; workload < priorities.size(); ++workload) {
    // Priorities of other pools depend on the size and the weights of those pools.
    if (snapshot.workloads[workload].pool != pass.pool()) continue;
    const auto& terms = priorities[workload].terms;
    pass.plan().priorities.push_back(
        {workload, priorities[workload].priority, {terms[0], terms[1], terms[2], terms[3], terms[4], terms[5]}});
  }
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
  BandProfiles bands{pass};
  const OneBand one_band{pass};
  std::uint32_t own_bands = 0;
  Blocked blocked;
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
    const Duration limit = snapshot.workloads[subject.workload].time_limit.value_or(Duration::max());
    const bool bound = subject.band_list != kNone;
    const bool on_one = bound || (own_bands < kOwnBandsMax && one_band.is_needed_by(subject));
    const BackfillRequest request{subject.slots, limit, !on_one};
    BackfillOutcome outcome = policy.next(request, [&] {
      places = pass.find(member);
      if (places.empty()) places = bands.place_in_gap(subject, limit);
      return !places.empty();
    });
    if (outcome.verdict == BackfillVerdict::Starts) {
      pass.trial().take(places);
      bands.note_start(places, limit);
      pass.start(member, std::move(places), blocked.first != kNone);
      continue;
    }
    explain_wait(pass, member, blocked);
    if (subject.slots > 0 && blocked.first == kNone) blocked.first = subject.workload;
    if (!request.anywhere && policy.reserves()) {
      ++own_bands;
      outcome = reserve_bands(pass, policy, bands, subject, request, blocked);
    }
    if (outcome.verdict != BackfillVerdict::Reserved) continue;
    if (blocked.reserved == kNone) blocked.reserved = subject.workload;
    if (!pass.keeps_place(member)) pass.plan().reservations.push_back({member, {}, {}, outcome.at});
  }
}

}  // namespace penstock::policy
