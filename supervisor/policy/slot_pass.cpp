#include "supervisor/policy/slot_pass.hpp"

#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"

namespace penstock::policy {

SlotPass::SlotPass(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts, Plan& plan)
    : snapshot_(snapshot),
      pool_(pool),
      parts_(parts),
      plan_(plan),
      trial_(snapshot, pool, parts),
      preempted_(snapshot.members.size(), false),
      has_carried_(snapshot.members.size(), false),
      explained_(snapshot.workloads.size(), false),
      held_(snapshot.workloads.size(), 0) {
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member) {
    const Member& subject = snapshot.members[member];
    if (snapshot.workloads[subject.workload].pool != pool) continue;
    const bool is_on_hold = snapshot.workloads[subject.workload].held;
    if (is_waiting(subject.state) && is_on_hold) explain(member, Hold::Held, 0, 0);
    if (is_waiting(subject.state) && !is_on_hold) waiting_.push_back(member);
    if (!is_held(subject.state)) continue;
    running_.push_back(member);
    held_[subject.workload] += subject.slots;
  }
}

std::vector<Place> SlotPass::find(std::uint32_t member) {
  const Member& subject = snapshot_.members[member];
  if (failed_.contains(subject)) return {};
  std::vector<Place> places = trial_.find(subject);
  if (places.empty()) failed_.add(subject);
  return places;
}

void SlotPass::start(std::uint32_t member, std::vector<Place> places, bool backfilled) {
  held_[snapshot_.members[member].workload] += snapshot_.members[member].slots;
  if (keeps_place(member)) return plan_.reservations.push_back({member, {}, {}, snapshot_.now});
  plan_.starts.push_back({member, std::move(places), {}, backfilled});
}

void SlotPass::reserve(std::uint32_t member, std::vector<Place> places, std::uint32_t behind) {
  if (keeps_place(member)) return;
  explain(member, Hold::PredecessorsLeave, snapshot_.members[member].slots, 0, behind);
  plan_.reservations.push_back({member, std::move(places), {}, kNever});
}

void SlotPass::preempt(std::uint32_t member, PreemptionReason reason, std::uint32_t beneficiary) {
  if (preempted_[member]) return;
  preempted_[member] = true;
  held_[snapshot_.members[member].workload] -= snapshot_.members[member].slots;
  plan_.preemptions.push_back({member, reason, beneficiary});
}

void SlotPass::settle_carried() {
  std::vector<std::int64_t> leaving(snapshot_.bands.size(), 0);
  for (const Member& member : snapshot_.members)
    if (member.state == MemberState::Leaving)
      for (const Place& place : member.places) leaving[place.band] += place.slots;
  for (const CarriedReservation& reservation : snapshot_.carried) {
    kept_.emplace_back();
    if (reservation.member >= snapshot_.members.size() || !is_waiting(snapshot_.members[reservation.member].state))
      continue;
    if (snapshot_.workloads[snapshot_.members[reservation.member].workload].pool != pool_) continue;
    std::int64_t claimed = 0;
    for (const Place& place : reservation.places) claimed += place.slots;
    // Less than the member would be a part of a gang.
    bool possible = claimed == snapshot_.members[reservation.member].slots;
    for (const Place& place : reservation.places)
      possible = possible && trial_.room(place.band).free() + leaving[place.band] >= place.slots;
    if (!possible) continue;
    for (const Place& place : reservation.places) {
      const std::int64_t from_leaving = std::min(leaving[place.band], place.slots);
      leaving[place.band] -= from_leaving;
      if (from_leaving > 0) awaited_.push_back({place.band, from_leaving});
      if (place.slots > from_leaving) kept_.back().push_back({place.band, place.slots - from_leaving});
    }
    trial_.take(kept_.back());
    const bool free_already = kept_.back() == reservation.places;
    has_carried_[reservation.member] = true;
    if (free_already)
      start(reservation.member, reservation.places, false);
    else
      reserve(reservation.member, reservation.places);
  }
}

bool SlotPass::drop_carried_below(std::uint32_t member) {
  bool dropped = false;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const std::uint32_t owner = snapshot_.carried[i].member;
    if (kept_[i].empty() || !more_important(snapshot_, member, owner)) continue;
    const auto of_owner = [owner](const auto& each) { return each.member == owner; };
    std::erase_if(plan_.reservations, of_owner);
    if (std::erase_if(plan_.starts, of_owner) > 0)
      held_[snapshot_.members[owner].workload] -= snapshot_.members[owner].slots;
    has_carried_[owner] = false;
    trial_.give_back(kept_[i]);
    kept_[i].clear();
    failed_.clear();
    dropped = true;
  }
  return dropped;
}

void SlotPass::explain(std::uint32_t member, Hold hold, std::int64_t need, std::int64_t have, std::uint32_t other) {
  const std::uint32_t workload = snapshot_.members[member].workload;
  if (explained_[workload]) return;
  explained_[workload] = true;
  plan_.explanations.push_back({workload, member, hold, need, have, kNone, other});
}

bool SlotPass::is_over_cap(std::uint32_t member) const {
  const Member& subject = snapshot_.members[member];
  const std::int64_t cap = snapshot_.workloads[subject.workload].slots_max;
  return cap != kUnlimited && subject.slots > 0 && held_[subject.workload] + subject.slots > cap;
}

}  // namespace penstock::policy
