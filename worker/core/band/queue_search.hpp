// Searches through all items of a latched queue: for rebalancing, for display, for checks. O(n) each.
#pragma once

#include <string>
#include <vector>

#include "worker/core/band/latched_queue.hpp"

namespace penstock::worker {

/// Calls `visit(record)` for all waiting items that are not on offer, in no particular order.
template <class Visit>
void for_each_waiting(const LatchedQueue& queue, Visit visit) {
  for (const QueueJob& job : queue.items().jobs()) job.items.for_each([&](const ItemKey& key) { visit(key.record); });
  queue.parked().for_each(visit);
}

/// The lowest waiting item that `may_leave` allows, none if there is none. Service does not count among items in line.
template <class Predicate>
RecordIndex lowest_waiting(const LatchedQueue& queue, Predicate may_leave) {
  const QueueItems& items = queue.items();
  RecordIndex lowest;
  JobKey lowest_job{};
  for (std::uint32_t j = 0; j < items.jobs().size(); ++j) {
    items.jobs()[j].items.for_each([&](const ItemKey& key) {
      if (!may_leave(key.record)) return;
      JobKey here = items.jobs()[j].key(key, JobSlot{j});
      here.served = here.sequence = 0;
      const bool lower =
          !lowest.valid() || lowest_job < here || (!(here < lowest_job) && key_of(items[lowest].item) < key);
      if (lower) lowest = key.record, lowest_job = here;
    });
  }
  queue.parked().for_each([&](RecordIndex record) {
    if (may_leave(record) && (!lowest.valid() || items.goes_before(items[lowest], items[record]))) lowest = record;
  });
  return lowest;
}

/// Number of waiting items that would leave before this one.
std::size_t position_of(const LatchedQueue& queue, RecordIndex record);
/// Why a waiting item does not start although it is first in line, e.g. `slot`, `entitlement`, `gpu 500 > 0`.
std::string obstacle(const LatchedQueue& queue, RecordIndex record);
/// An item that could and may start on free resources, none if there is none: after `take` a breach.
RecordIndex left_idle(const LatchedQueue& queue);

}  // namespace penstock::worker
