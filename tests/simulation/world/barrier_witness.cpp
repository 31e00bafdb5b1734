#include "tests/simulation/world/barrier_witness.hpp"

#include <algorithm>

namespace penstock::simulation {

void ReservationWitness::told(const Entitlement& entitlement, Instant now, Duration margin) {
  const Place place{entitlement.job, entitlement.band};
  const auto known = asked_.find(place);
  if (entitlement.barrier == 0) {
    asked_.erase(place);
    if (!entitlement.slots.is_zero()) closed_.erase(place);
    return;
  }
  closed_[place] = true;
  if (known != asked_.end() && known->second.barrier == entitlement.barrier && known->second.slots == entitlement.slots)
    return;
  const Instant until = later(later(now, entitlement.barrier_max), margin);
  asked_[place] = {entitlement.barrier, entitlement.slots, until, false, entitlement.cpu, entitlement.named};
}

void ReservationWitness::answered(const BarrierAnswer& answer) {
  const auto known = asked_.find({answer.job, answer.band});
  if (known == asked_.end() || known->second.barrier != answer.barrier) return;
  if (answer.held.is_zero())
    asked_.erase(known);
  else
    known->second.held = true;
}

void ReservationWitness::forgotten(JobId job) {
  std::erase_if(asked_, [&](const auto& each) { return each.first.first == job; });
  std::erase_if(closed_, [&](const auto& each) { return each.first.first == job; });
}

void ReservationWitness::returned() { asked_.clear(); }

bool ReservationWitness::holds(JobId job, BandIndex band, std::uint64_t barrier) const {
  const auto known = asked_.find({job, band});
  return known != asked_.end() && known->second.barrier == barrier && known->second.held;
}

MilliSlots ReservationWitness::held_for(JobId job, BandIndex band) const {
  const auto known = asked_.find({job, band});
  return known != asked_.end() && known->second.held ? known->second.slots : MilliSlots{};
}

MilliSlots ReservationWitness::kept_from(JobId job, BandIndex band, Instant now,
                                         const std::function<MilliSlots(JobId)>& run_by) const {
  MilliSlots kept;
  for (const auto& [place, asked] : asked_)
    if (place.first != job && place.second == band && asked.held && now < asked.until)
      kept += std::max(asked.slots - run_by(place.first), MilliSlots{});
  return kept;
}

void ReservationWitness::add_beside(JobId job, BandIndex band, ResourceVector& held) const {
  for (const auto& [place, asked] : asked_) {
    if (place.first == job || place.second != band) continue;
    held.cpu += asked.cpu;
    add_named(asked.named, held.named, 1);
  }
}

std::string ReservationWitness::overdue(Instant now) const {
  for (const auto& [place, asked] : asked_)
    if (now >= asked.until) return "slots stay reserved for the gang of " + to_string(place.first) + " past their time";
  return {};
}

std::uint64_t BarrierWitness::told(WorkerId worker, const Entitlement& entitlement) {
  Told& last = told_[{entitlement.job, {worker, entitlement.band}}];
  const Told was = std::exchange(last, {entitlement.barrier, entitlement.slots});
  const std::uint64_t before = was.barrier;
  const bool goes_on = entitlement.barrier == 0 && !entitlement.slots.is_zero();
  if (goes_on) last.opened = before != 0 ? before : was.opened;
  if (before == 0 || !goes_on || !opened_.emplace(entitlement.job, before).second) return 0;
  last = was;  // The caller looks at all places of it.
  last.opened = before;
  return before;
}

std::vector<BarrierWitness::Place> BarrierWitness::places_of(JobId job, std::uint64_t barrier) const {
  std::vector<Place> places;
  for (const auto& [key, told] : told_)
    if (key.first == job && told.barrier == barrier) places.push_back(key.second);
  return places;
}

bool BarrierWitness::has_begun_on(const Place& place, const BarrierAnswer& answer) const {
  const auto last = told_.find({answer.job, place});
  return answer.held.is_zero() && last != told_.end() && last->second.opened == answer.barrier;
}

bool BarrierWitness::begins_unasked(WorkerId worker, BandKind kind, const Entitlement& entitlement,
                                    bool knows_barriers) {
  if (entitlement.slots.is_zero()) return false;
  if (!knows_barriers) begun_.emplace(entitlement.job, kind);
  if (entitlement.barrier != 0) return false;
  const auto last = told_.find({entitlement.job, {worker, entitlement.band}});
  const bool waited = last != told_.end() && last->second.barrier != 0;
  return begun_.emplace(entitlement.job, kind).second && !waited;
}

MilliSlots BarrierWitness::asked_for(JobId job, std::uint64_t barrier) const {
  MilliSlots slots;
  for (const auto& [key, told] : told_)
    if (key.first == job && told.barrier == barrier) slots += told.slots;
  return slots;
}

}  // namespace penstock::simulation
