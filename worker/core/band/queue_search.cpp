#include "worker/core/band/queue_search.hpp"

namespace penstock::worker {

std::size_t position_of(const LatchedQueue& queue, RecordIndex record) {
  const QueueItems& items = queue.items();
  if (items.state_of(record) != QueueState::Waiting) return 0;
  std::size_t before = 0;
  for_each_waiting(queue, [&](RecordIndex other) { before += items.goes_before(items[other], items[record]); });
  return before;
}

std::string obstacle(const LatchedQueue& queue, RecordIndex record) {
  if (!queue.waits(record)) return {};
  const QueueNode& node = queue.items()[record];
  const QueueItem& item = node.item;
  const QueueJob& job = queue.items().job_of(node);
  const ResourceVector& available = queue.available();
  if (const Reservation* reservation = queue.reservations().find(item.job); reservation != nullptr)
    return "barrier: of " + std::to_string(reservation->wanted.slots.value()) + " milli-slots of its gang here " +
           std::to_string((reservation->held.slots + job.held).value()) + " are reserved";
  if (queue.items().exceeds_entitlement(item))
    return "entitlement: the job holds " + std::to_string(job.held.value()) + " of " +
           std::to_string(job.entitlement.value()) + " milli-slots";
  if (!node.resumed && queue.lanes().devices.exceeds_kept(item.job, *item.request))
    return "entitlement: the job holds all that it may on its devices of the band";
  if (!fits_execution(*item.request, available)) {
    ResourceVector wanted = *item.request;
    wanted.memory = Bytes{0};
    return first_excess(wanted, available);
  }
  const SlotIndex again = node.resumed ? node.lane : SlotIndex::none();
  if (std::string shortage = queue.lanes().devices.shortage(item.job, *item.request, again); !shortage.empty())
    return shortage;
  if (!node.resumed && !queue.has_lane()) return "runners: all are busy or restarting";
  if (!queue.fits(item))
    return "bytes " + std::to_string(item.bytes.value()) + " > " + std::to_string(available.memory.value());
  return {};
}

RecordIndex left_idle(const LatchedQueue& queue) {
  if (queue.available().slots <= MilliSlots{} || queue.offers().left() > 0 || queue.reservations().any())
    return RecordIndex::none();
  RecordIndex idle;
  std::size_t passed = 0;
  for (const QueueNode& node : queue.items().nodes()) {
    if (node.state != QueueState::Waiting) continue;
    if (node.group != kNowhere && !queue.parked().is_best(node)) continue;  // As the best.
    const bool lacks = queue.parked().must_park(node);
    if (!lacks && queue.fits(node.item)) {
      idle = node.item.record;
      continue;
    }
    // This item reserves, or hides the ones behind it.
    if (node.group == kNowhere && !lacks && queue.items().job_of(node).may_hold_more() &&
        (node.bypassed >= queue.limits().bypass_max || ++passed >= queue.limits().scan_max))
      return RecordIndex::none();
  }
  return idle;
}

}  // namespace penstock::worker
