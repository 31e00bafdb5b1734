// LatchedQueue: slots and other resources that are reserved for a job until it may begin. Almost always there are none.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/latched_queue.hpp"

namespace penstock::worker {
namespace {

template <class Amount>
Amount at_least_none(Amount amount) {
  return std::max(amount, Amount{});
}

/// The smaller amount of each name in both.
std::vector<NamedAmount> least_named(const std::vector<NamedAmount>& wanted, const std::vector<NamedAmount>& there) {
  std::vector<NamedAmount> least;
  for (const NamedAmount& each : wanted)
    if (const std::int64_t amount = std::min(each.amount, amount_of(there, each.name)); amount > 0)
      least.push_back({each.name, amount});
  return least;
}

/// The smaller amount of each resource, without memory.
ResourceVector least_of(const ResourceVector& wanted, const ResourceVector& there) {
  ResourceVector least;
  least.slots = at_least_none(std::min(wanted.slots, there.slots));
  least.cpu = at_least_none(std::min(wanted.cpu, there.cpu));
  least.gpu = at_least_none(std::min(wanted.gpu, there.gpu));
  least.device_memory = at_least_none(std::min(wanted.device_memory, there.device_memory));
  if (!wanted.named.empty()) least.named = least_named(wanted.named, there.named);
  return least;
}

/// The share of `amount` for `part` of `whole` slots; 0 for no slots.
std::int64_t part_of(std::int64_t amount, MilliSlots part, MilliSlots whole) {
  if (part >= whole) return amount;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(Wide{amount} * part.value() / whole.value());
}

}  // namespace

void LatchedQueue::reserve(JobSlot job, const ResourceVector& wanted) {
  PENSTOCK_CHECK(offered_left_ == 0 && job_at(job).entitlement.is_zero());
  const auto found = std::find_if(reservations_.begin(), reservations_.end(),
                                  [&](const Reservation& each) { return each.job == job; });
  if (found == reservations_.end()) {
    reservations_.push_back({.job = job, .wanted = wanted});
  } else {
    // The still wanted part of its holdings stays: waiting items do not get it in between.
    const ResourceVector had = std::exchange(*found, {.job = job, .wanted = wanted}).held;
    found->held = least_of(missing_of(*found), had);
    give_back(had, available_);
    take_away(found->held, available_);
    found->full = has_slots(*found);
  }
  parked_may_fit_ = any_parked();
  fill_reservations();
}

void LatchedQueue::open_reservation(JobSlot job) {
  PENSTOCK_CHECK(offered_left_ == 0);
  for (Reservation& each : reservations_) each.opens = each.opens || each.job == job;
}

void LatchedQueue::prefer(JobSlot job, MilliSlots slots) {
  drop_reservation(job);
  ResourceVector wanted;
  wanted.slots = slots;
  reservations_.push_back({.job = job, .wanted = wanted, .opens = true, .stays = true});
  fill_reservations();
}

void LatchedQueue::drop_reservation(JobSlot job) {
  for (const Reservation& each : reservations_)
    if (each.job == job) give_back(each.held, available_);
  std::erase_if(reservations_, [&](const Reservation& each) { return each.job == job; });
  parked_may_fit_ = any_parked();
}

bool LatchedQueue::is_reserved(JobSlot job) const {
  return std::any_of(reservations_.begin(), reservations_.end(),
                     [&](const Reservation& each) { return each.job == job && has_slots(each); });
}

bool LatchedQueue::is_reserved_whole(JobSlot job) const {
  return std::any_of(reservations_.begin(), reservations_.end(),
                     [&](const Reservation& each) { return each.job == job && missing_of(each) == ResourceVector{}; });
}

bool LatchedQueue::any_reservation_opens() const {
  return std::any_of(reservations_.begin(), reservations_.end(), [](const Reservation& each) { return each.opens; });
}

MilliSlots LatchedQueue::reserved_for(JobSlot job) const {
  MilliSlots held;
  for (const Reservation& each : reservations_)
    if (each.job == job) held += each.held.slots;
  return held;
}

// Running attempts of the job count with their holdings.
ResourceVector LatchedQueue::missing_of(const Reservation& of) const {
  const MilliSlots own = jobs_[of.job.value()].held;
  const auto own_part = [&](std::int64_t amount) { return part_of(amount, own, of.wanted.slots); };
  ResourceVector missing;
  missing.slots = at_least_none(of.wanted.slots - of.held.slots - own);
  missing.cpu = at_least_none(of.wanted.cpu - of.held.cpu - MilliCpu{own_part(of.wanted.cpu.value())});
  missing.gpu = at_least_none(of.wanted.gpu - of.held.gpu - MilliGpu{own_part(of.wanted.gpu.value())});
  missing.device_memory =
      at_least_none(of.wanted.device_memory - of.held.device_memory - Bytes{own_part(of.wanted.device_memory.value())});
  for (const NamedAmount& each : of.wanted.named)
    if (const std::int64_t more = each.amount - amount_of(of.held.named, each.name) - own_part(each.amount); more > 0)
      missing.named.push_back({each.name, more});
  return missing;
}

bool LatchedQueue::has_slots(const Reservation& of) const {
  const ResourceVector missing = missing_of(of);
  return missing.slots.is_zero() && missing.gpu == MilliGpu{} && missing.device_memory.is_zero();
}

// If a run of a reserving job were followed on its lane by another job's, the reservation would lack slots that were
// reported as held; and an incomplete or opening reservation wants the slots of ended runs.
bool LatchedQueue::any_reservation_wants_ends() const {
  return std::any_of(reservations_.begin(), reservations_.end(), [&](const Reservation& each) {
    return each.opens || jobs_[each.job.value()].held > MilliSlots{} || missing_of(each) != ResourceVector{};
  });
}

// First the reservations that were complete once: a run of their own that ends leaves its slots to them, not to an
// earlier reservation, because they may have been reported as held.
void LatchedQueue::fill_reservations() {
  for (const bool full : {true, false})
    for (Reservation& each : reservations_)
      if (each.full == full) fill(each);
  for (Reservation& each : reservations_) each.full = each.full || has_slots(each);
}

void LatchedQueue::fill(Reservation& reservation) {
  const ResourceVector more = least_of(missing_of(reservation), available_);
  take_away(more, available_);
  // A name that is not held yet needs an entry to add to.
  for (const NamedAmount& each : more.named)
    if (amount_of(reservation.held.named, each.name) == 0) reservation.held.named.push_back({each.name, 0});
  give_back(more, reservation.held);
}

// The job begins at once on its reservation, before all waiting items. Slots that it could start on but was not allowed
// to use for the moment stay reserved. So does the rest after its first starts, until a further `take` starts no more:
// by then its members have the permits of those that started.
void LatchedQueue::serve_reservations(std::vector<Taken>& taken, std::size_t max) {
  const std::size_t before = taken.size();
  fill_reservations();
  for (Reservation& each : reservations_) {
    if (!each.opens) continue;
    PENSTOCK_COVERAGE_MARK("a job begins on what was reserved for it");
    give_back(std::exchange(each.held, {}), available_);
    const std::size_t first = taken.size();
    each.served = true;
    for (RecordIndex next = choose(each.job); next.valid(); next = choose(each.job)) {
      if (taken.size() - before >= max) {
        PENSTOCK_COVERAGE_MARK("a job begins on a part of what was reserved for it");
        fill(each);
        each.served = false;
        break;
      }
      grant(nodes_[next], taken);
    }
    if (!each.served) continue;
    if (each.stays) {
      fill(each);
      each.served = false;
    } else if (taken.size() != first && missing_of(each) != ResourceVector{}) {
      PENSTOCK_COVERAGE_MARK("a job that has begun keeps the rest until it is asked again");
      fill(each);
      each.served = each.held.slots.is_zero();
    }
  }
  std::erase_if(reservations_, [](const Reservation& each) { return each.served; });
  fill_reservations();
  parked_may_fit_ = any_parked();
}

}  // namespace penstock::worker
