// LatchedQueue: slots that are kept for a job until it may begin. Almost always there are none.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/latched_queue.hpp"

namespace penstock::worker {
namespace {

template <class Amount>
Amount at_least_none(Amount amount) {
  return std::max(amount, Amount{});
}

/// What goes with `part` of `whole` slots; nothing with none.
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
    reservations_.push_back({job, wanted, {}, false});
  } else {
    give_back(found->held, available_);
    *found = {job, wanted, {}, false};
  }
  fill_reservations();
}

void LatchedQueue::open_reservation(JobSlot job) {
  PENSTOCK_CHECK(offered_left_ == 0);
  for (Reservation& each : reservations_) each.opens = each.opens || each.job == job;
}

void LatchedQueue::drop_reservation(JobSlot job) {
  for (const Reservation& each : reservations_)
    if (each.job == job) give_back(each.held, available_);
  std::erase_if(reservations_, [&](const Reservation& each) { return each.job == job; });
}

bool LatchedQueue::is_reserved(JobSlot job) const {
  return std::any_of(reservations_.begin(), reservations_.end(),
                     [&](const Reservation& each) { return each.job == job && missing_of(each) == ResourceVector{}; });
}

MilliSlots LatchedQueue::reserved_for(JobSlot job) const {
  MilliSlots held;
  for (const Reservation& each : reservations_)
    if (each.job == job) held += each.held.slots;
  return held;
}

// Runs of the job that go on, from before, count as what they hold.
ResourceVector LatchedQueue::missing_of(const Reservation& of) const {
  const MilliSlots own = jobs_[of.job.value()].held;
  const auto own_part = [&](std::int64_t amount) { return part_of(amount, own, of.wanted.slots); };
  ResourceVector missing;
  missing.slots = at_least_none(of.wanted.slots - of.held.slots - own);
  missing.gpu = at_least_none(of.wanted.gpu - of.held.gpu - MilliGpu{own_part(of.wanted.gpu.value())});
  missing.device_memory =
      at_least_none(of.wanted.device_memory - of.held.device_memory - Bytes{own_part(of.wanted.device_memory.value())});
  return missing;
}

bool LatchedQueue::all_are_reserved() const {
  return std::all_of(reservations_.begin(), reservations_.end(),
                     [&](const Reservation& each) { return missing_of(each) == ResourceVector{}; });
}

void LatchedQueue::fill_reservations() {
  for (Reservation& each : reservations_) {
    const ResourceVector missing = missing_of(each);
    ResourceVector more;
    more.slots = std::min(missing.slots, at_least_none(available_.slots));
    more.gpu = std::min(missing.gpu, at_least_none(available_.gpu));
    more.device_memory = std::min(missing.device_memory, at_least_none(available_.device_memory));
    take_away(more, available_);
    give_back(more, each.held);
  }
}

// The job begins at once on what was kept for it, whoever else waits.
void LatchedQueue::serve_reservations(std::vector<Taken>& taken, std::size_t max) {
  const std::size_t before = taken.size();
  for (const Reservation& each : reservations_) {
    if (!each.opens) continue;
    PENSTOCK_COVERAGE_MARK("a job begins on what was reserved for it");
    give_back(each.held, available_);
    const Job& job = jobs_[each.job.value()];
    while (taken.size() - before < max && !job.items.empty()) {
      Node& best = nodes_[job.items.top().record];
      if (!fits(best.item)) break;
      grant(best, taken);
    }
  }
  std::erase_if(reservations_, [](const Reservation& each) { return each.opens; });
  fill_reservations();
}

}  // namespace penstock::worker
