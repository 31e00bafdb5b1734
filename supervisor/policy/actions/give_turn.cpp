#include "supervisor/policy/actions/give_turn.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "supervisor/policy/actions/victim_search.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/sharing/owned_slots.hpp"

namespace penstock::policy {
namespace {

/// The members that may leave for the turn, in the order in which they are tried.
std::vector<std::uint32_t> candidates(const SlotPass& pass, const std::vector<Contender>& present, std::size_t turn,
                                      const std::vector<std::int64_t>& targets) {
  const Snapshot& snapshot = pass.snapshot();
  std::vector<std::size_t> order(present.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return present[a].held - targets[a] > present[b].held - targets[b];
  });
  std::vector<std::uint32_t> all;
  for (const std::size_t i : order) {
    if (i == turn || is_protected(snapshot, present[i].workload)) continue;
    for (auto member = present[i].running.rbegin(); member != present[i].running.rend(); ++member)
      if (may_preempt(snapshot, *member)) all.push_back(*member);
  }
  return all;
}

}  // namespace

bool has_starved(const Workload& job, Instant now, Duration after) {
  return after > Duration{0} && job.waits_since.has_value() && now >= later(*job.waits_since, after);
}

bool has_starved(const SlotPass& pass, std::uint32_t workload) {
  return has_starved(pass.snapshot().workloads[workload], pass.snapshot().now, pass.parts().starvation_after);
}

bool is_protected(const Snapshot& snapshot, std::uint32_t workload) {
  const std::optional<Instant>& until = snapshot.workloads[workload].protected_until;
  return until.has_value() && snapshot.now < *until;
}

std::optional<std::size_t> next_turn(const SlotPass& pass, const std::vector<Contender>& present,
                                     Instant blocked_since) {
  const Snapshot& snapshot = pass.snapshot();
  std::optional<std::size_t> next;
  const OwnedSlots none{snapshot};
  for (std::size_t i = 0; i < present.size(); ++i) {
    const Workload& workload = snapshot.workloads[present[i].workload];
    if (!has_starved(pass, present[i].workload)) continue;
    if (!present[i].promised.empty()) return std::nullopt;
    if (present[i].held > 0 || present[i].pending.empty() || workload.keeps_place) continue;
    const std::int64_t slots = snapshot.members[present[i].pending.front()].slots;
    if (workload.slots_max != kUnlimited && slots > workload.slots_max) continue;
    if (none.is_beyond(present[i].workload, slots)) continue;
    if (!next || *workload.waits_since < *snapshot.workloads[present[*next].workload].waits_since) next = i;
  }
  if (next && blocked_since < *snapshot.workloads[present[*next].workload].waits_since) return std::nullopt;
  return next;
}

TurnOutcome give_turn(SlotPass& pass, std::vector<Contender>& present, std::size_t turn,
                      const std::vector<std::int64_t>& targets) {
  Contender& subject = present[turn];
  const std::uint32_t member = subject.pending.front();
  const Member& wanted = pass.snapshot().members[member];
  // An owner at its limit first gets slots back from its other jobs.
  if (slots_of_owners(pass.snapshot(), present).is_beyond(subject.workload, wanted.slots))
    return TurnOutcome::WaitsForOwner;
  SlotTrial& trial = pass.trial();
  std::vector<Place> places = pass.find(member);
  if (!places.empty()) {
    trial.take(places);
    pass.start(member, std::move(places), false);
  } else {
    const std::size_t mark = trial.mark();
    const std::vector<std::uint32_t> victims =
        find_victims(pass.snapshot(), trial, wanted, candidates(pass, present, turn, targets));
    if (victims.empty()) return TurnOutcome::NotYet;
    places = trial.find(wanted);
    trial.undo_to(mark);
    for (const Place& place : places)
      if (const std::int64_t slots = std::min(place.slots, trial.room(place.band).free()); slots > 0)
        trial.take({{place.band, slots}});
    for (const std::uint32_t victim : victims) {
      pass.preempt(victim, PreemptionReason::Turn, subject.workload);
      Contender& owner = *std::find_if(present.begin(), present.end(), [&](const Contender& each) {
        return each.workload == pass.snapshot().members[victim].workload;
      });
      std::erase(owner.running, victim);
      owner.held -= pass.snapshot().members[victim].slots;
      owner.leaving += pass.snapshot().members[victim].slots;
    }
    pass.reserve(member, std::move(places), pass.snapshot().members[victims.front()].workload);
  }
  subject.pending.erase(subject.pending.begin());
  subject.promised.push_back(member);
  subject.held += wanted.slots;
  return TurnOutcome::Given;
}

void hold_back_starved(SlotPass& pass, std::vector<Contender>& present, const std::vector<std::int64_t>& targets) {
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (!has_starved(pass, present[i].workload) || present[i].held > 0) continue;
    for (const std::uint32_t member : present[i].pending) pass.explain(member, Hold::AtFairShare, targets[i], 0);
    present[i].pending.clear();
  }
}

}  // namespace penstock::policy
