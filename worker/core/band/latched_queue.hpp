// The latched priority queue: an item leaves it at the instant in which it gets its slot, never earlier.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/core/band/parked_items.hpp"
#include "worker/core/band/queue_items.hpp"
#include "worker/core/band/queue_offers.hpp"
#include "worker/core/band/reservations.hpp"
#include "worker/core/band/slot_lanes.hpp"

namespace penstock::worker {

/// An item that has left with its slot.
struct Taken {
  RecordIndex record;
  SlotIndex lane;        ///< The runner it runs on; two attempts never share one.
  bool resumed = false;  ///< Had yielded and is still on that lane.
  friend bool operator==(const Taken&, const Taken&) = default;
};

/// A priority queue fused with a slot semaphore (spec worker 2). Used twice for each band: for prepare permits and for
/// execution slots.
///
/// Invariant: held resources never exceed the capacity (after a shrinking `resize`, nothing is taken until they fit
/// again); the best of the items that may start now is the next to leave; ties are never last-in-first-out.
/// Order: see `JobKey`. An item that does not fit lets at most `bypass_max` others pass, then it reserves what it
/// lacks: slots, for which all items wait then; or another resource, for which only items that request it wait
/// (`ParkedItems`). A job holds at most its entitlement: the second latch. Single-threaded, owned by a `Band`. Cost:
/// O(log n) for each operation on an item; no allocation once warm.
class LatchedQueue {
 public:
  struct Limits {
    std::uint32_t bypass_max = 16;
    std::uint32_t scan_max = 32;
    std::uint32_t lanes_max = 4096;  ///< Of records that hold something; those that have yielded have further ones.
    std::uint32_t yields_max = 128;  ///< Records that may have yielded at once.
  };

  LatchedQueue(ResourceVector capacity, const Limits& limits, const std::vector<DeviceDescription>& devices = {});
  LatchedQueue(const LatchedQueue&) = delete;
  LatchedQueue& operator=(const LatchedQueue&) = delete;

  /// REQUIRES: the record is not in this queue and holds nothing of it.
  void put(const QueueItem& item) { items_.insert(items_.make_node(item)); }
  /// Appends the items that can start now, best first, but no more than `max`. REQUIRES: nothing is on offer.
  void take(std::vector<Taken>& taken, std::size_t max = ~std::size_t{0});
  /// The item that `take` would consider first; none if no job with waiting items may hold more.
  RecordIndex first_waiting() const { return items_.first(); }
  /// Gives back all that the record holds. False, and nothing changes, if it holds nothing.
  bool release(RecordIndex record) { return holds(record) && remove(record); }
  /// Takes a record out wherever it is, with all that it holds. False if it is not here. Idempotent.
  bool remove(RecordIndex record);
  /// Offers up to `max` of the items that leave next to runs that are about to end: each may be taken over, in the
  /// order of `offered`, by `hand_over` alone. Stops at the first item that `may(item)` refuses, or at a job that could
  /// hold more than its entitlement, whichever runs end first. Nothing is offered while a job is kept to some devices.
  /// If all jobs with waiting items hold what they may, a run may only be followed by one of its own job: see
  /// `QueueOffers::within_jobs`. REQUIRES: nothing is offered, the first item in line does not fit now, and `running`
  /// are all holders; they and all items that `may` allows make the same request.
  template <class Predicate>
  void offer(std::size_t max, std::span<const RecordIndex> running, Predicate may, std::vector<RecordIndex>& offered) {
    PENSTOCK_CHECK(offers_.left() == 0);
    offers_.clear();
    if (running.empty() || reservations_.any_wants_ends() || lanes_.devices.any_kept()) return;
    offers_.offer(max, running, capacity_.slots, may, offered);
  }
  /// `ended` leaves, and at the same instant `next` has its slot and its lane. Returns the lane. REQUIRES: `ended`
  /// holds a slot, `next` is offered, also after runs of other jobs unless offers are within jobs; both make the same
  /// request.
  SlotIndex hand_over(RecordIndex ended, RecordIndex next);
  /// Raises or lowers a waiting item; ignores a record that does not wait here.
  void update_priority(RecordIndex record, std::uint64_t priority);

  void set_job_priority(JobSlot job, std::int32_t job_priority);
  /// Sets the slots that the job may hold, its rank among jobs of equal priority, and the thousandths of slots that it
  /// may hold on each device of the band; none: on any. REQUIRES: nothing is offered, or the job is not limited from
  /// now on and has nothing here; as many devices as the band has.
  void set_entitlement(JobSlot job, MilliSlots slots, std::int32_t fair_rank,
                       const std::vector<std::uint16_t>& on_devices = {});
  /// The new capacity; a smaller one takes effect as attempts end.
  void resize(const ResourceVector& capacity);

  /// The idle lanes that the next `count` items would get, in order; fewer if there are no more.
  std::vector<SlotIndex> next_lanes(std::size_t count) { return lanes_.next(count, limits_.lanes_max + yielded_); }
  /// The holder gives its resources back but stays on its lane while it waits for nested work. False if it holds none,
  /// or if `yields_max` records have yielded already.
  bool yield_slot(RecordIndex record);
  /// A holder that had yielded waits for its resources again, with `priority`. False if it had not.
  bool resume_slot(RecordIndex record, std::uint64_t priority);
  /// Where nothing holds anything and nothing is reserved: the best of those that had yielded and fit gets its
  /// resources again, whatever its job may hold. False: there is none.
  bool resume_best(std::vector<Taken>& taken);

  /// Whether it waits, on offer or not.
  bool waits(RecordIndex record) const {
    const QueueState state = items_.state_of(record);
    return state == QueueState::Waiting || state == QueueState::Offered;
  }
  bool holds(RecordIndex record) const { return items_.state_of(record) == QueueState::Holding; }
  /// Whether it is on a lane without its resources, yielded or waiting for them again.
  bool has_yielded(RecordIndex record) const {
    return items_.nodes().contains(record) && worker::has_yielded(items_[record]);
  }
  /// Whether the item could and may start on free resources.
  bool fits(const QueueItem& item) const;
  /// While runners restart, a new attempt waits for one of them. Lanes of records that have yielded do not count:
  /// otherwise the nested work that these wait for would find no lane.
  bool has_lane() const { return holding_ < limits_.lanes_max && lanes_.any_for_new(); }
  std::size_t waiting() const { return items_.waiting() + offers_.left(); }
  std::size_t holding() const { return holding_; }
  /// Records that have yielded and do not hold anything again yet.
  std::size_t yielded() const { return yielded_; }
  const ResourceVector& capacity() const { return capacity_; }
  const ResourceVector& available() const { return available_; }
  const Limits& limits() const { return limits_; }

  // Parts.
  const QueueItems& items() const { return items_; }
  const ParkedItems& parked() const { return parked_; }
  SlotLanes& lanes() { return lanes_; }
  const SlotLanes& lanes() const { return lanes_; }
  QueueOffers& offers() { return offers_; }
  const QueueOffers& offers() const { return offers_; }
  Reservations& reservations() { return reservations_; }
  const Reservations& reservations() const { return reservations_; }
  void validate() const;

 private:
  /// None: of all jobs.
  RecordIndex choose(JobSlot only = JobSlot::none());
  void grant(QueueNode& node, std::vector<Taken>& taken);
  void serve_reservations(std::vector<Taken>& taken, std::size_t max);
  void take_back(QueueNode& node);

  // Constant after construction.
  const Limits limits_;

  // State.
  ResourceVector capacity_;
  ResourceVector available_;  ///< Capacity minus held resources; negative for a while after a shrinking resize.
  QueueItems items_;
  ParkedItems parked_;
  Reservations reservations_;
  QueueOffers offers_;
  SlotLanes lanes_;
  std::size_t holding_ = 0;
  std::size_t yielded_ = 0;

  // Scratch.
  std::vector<RecordIndex> passed_;
  std::vector<JobSlot> set_aside_;
};

}  // namespace penstock::worker
