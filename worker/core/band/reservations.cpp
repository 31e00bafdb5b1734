#include "worker/core/band/reservations.hpp"

#include <algorithm>
#include <utility>

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

void Reservations::reserve(JobSlot job, const ResourceVector& wanted) {
  PENSTOCK_CHECK(items_.job_at(job).entitlement.is_zero());
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Reservation& each) { return each.job == job; });
  if (found == list_.end()) {
    list_.push_back({.job = job, .wanted = wanted});
  } else {
    // The still wanted part of its holdings stays: waiting items do not get it in between.
    const ResourceVector had = std::exchange(*found, {.job = job, .wanted = wanted}).held;
    found->held = least_of(missing_of(*found), had);
    give_back(had, available_);
    take_away(found->held, available_);
    found->full = has_slots(*found);
  }
  parked_.look_again();
  fill_all();
}

void Reservations::open(JobSlot job) {
  for (Reservation& each : list_) each.opens = each.opens || each.job == job;
}

void Reservations::prefer(JobSlot job, MilliSlots slots) {
  drop(job);
  ResourceVector wanted;
  wanted.slots = slots;
  list_.push_back({.job = job, .wanted = wanted, .opens = true, .stays = true});
  fill_all();
}

void Reservations::drop(JobSlot job) {
  for (const Reservation& each : list_)
    if (each.job == job) give_back(each.held, available_);
  std::erase_if(list_, [&](const Reservation& each) { return each.job == job; });
  parked_.look_again();
}

bool Reservations::has_slots(JobSlot job) const {
  return std::any_of(list_.begin(), list_.end(),
                     [&](const Reservation& each) { return each.job == job && has_slots(each); });
}

bool Reservations::is_whole(JobSlot job) const {
  return std::any_of(list_.begin(), list_.end(),
                     [&](const Reservation& each) { return each.job == job && missing_of(each) == ResourceVector{}; });
}

bool Reservations::any_opens() const {
  return std::any_of(list_.begin(), list_.end(), [](const Reservation& each) { return each.opens; });
}

MilliSlots Reservations::held_for(JobSlot job) const {
  MilliSlots held;
  for (const Reservation& each : list_)
    if (each.job == job) held += each.held.slots;
  return held;
}

// Running attempts of the job count with their holdings.
ResourceVector Reservations::missing_of(const Reservation& of) const {
  const MilliSlots own = items_.job(of.job).held;
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

bool Reservations::has_slots(const Reservation& of) const {
  const ResourceVector missing = missing_of(of);
  return missing.slots.is_zero() && missing.gpu == MilliGpu{} && missing.device_memory.is_zero();
}

// If a run of a reserving job were followed on its lane by another job's, the reservation would lack slots that were
// reported as held; and an incomplete or opening reservation wants the slots of ended runs.
bool Reservations::any_wants_ends() const {
  return std::any_of(list_.begin(), list_.end(), [&](const Reservation& each) {
    return each.opens || items_.job(each.job).held > MilliSlots{} || missing_of(each) != ResourceVector{};
  });
}

// First the reservations that were complete once: a run of their own that ends leaves its slots to them, not to an
// earlier reservation, because they may have been reported as held.
void Reservations::fill_all() {
  for (const bool full : {true, false})
    for (Reservation& each : list_)
      if (each.full == full) fill(each);
  for (Reservation& each : list_) each.full = each.full || has_slots(each);
}

void Reservations::fill(Reservation& reservation) {
  const ResourceVector more = least_of(missing_of(reservation), available_);
  take_away(more, available_);
  // A name that is not held yet needs an entry to add to.
  for (const NamedAmount& each : more.named)
    if (amount_of(reservation.held.named, each.name) == 0) reservation.held.named.push_back({each.name, 0});
  give_back(more, reservation.held);
}

const Reservation* Reservations::find(JobSlot job) const {
  for (const Reservation& each : list_)
    if (each.job == job) return &each;
  return nullptr;
}

void Reservations::end_served() {
  std::erase_if(list_, [](const Reservation& each) { return each.served; });
  fill_all();
  parked_.look_again();
}

}  // namespace penstock::worker
