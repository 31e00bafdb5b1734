// Slots and other resources that are reserved for a job until it may begin.
#pragma once

#include <utility>
#include <vector>

#include "worker/core/band/parked_items.hpp"

namespace penstock::worker {

/// Resources that are kept for one job.
struct Reservation {
  JobSlot job;
  ResourceVector wanted;  ///< Without memory.
  ResourceVector held;    ///< The held part; it is not available.
  bool opens = false;     ///< With the next `take` of the queue.
  bool full = false;      ///< All its slots were held once: its own runs give their slots to it first.
  bool served = false;    ///< Opened; the reservation ends with this `take`.
  bool stays = false;     ///< Every `take` serves it.
};

/// The reservations of a latched queue, in the order in which they came; almost always none. All resources that become
/// free go to them before any waiting item; running attempts of the job count with their holdings. The queue serves
/// those that open. REQUIRES of each change: nothing is on offer.
class Reservations {
 public:
  Reservations(QueueItems& items, ResourceVector& available, ParkedItems& parked)
      : items_(items), available_(available), parked_(parked) {}
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;

  /// Reserves so much for the job, with the holdings of its own runs. Replaces an earlier reservation of the job.
  /// REQUIRES: the job is closed.
  void reserve(JobSlot job, const ResourceVector& wanted);
  /// From the next `take` on, waiting items of the job have the reservation first; the rest of it is free for all after
  /// the first `take` that starts no item of the job. Idempotent.
  void open(JobSlot job);
  /// Gives the job so many slots, with its holdings, before all others, until the reservation is dropped. Replaces an
  /// earlier reservation of the job.
  void prefer(JobSlot job, MilliSlots slots);
  /// Frees the job's reservation for all. Idempotent.
  void drop(JobSlot job);

  /// Whether all of its slots are reserved, with the resources of a device that go with them.
  bool has_slots(JobSlot job) const;
  /// Whether all other wanted resources are reserved, too.
  bool is_whole(JobSlot job) const;
  MilliSlots held_for(JobSlot job) const;
  const Reservation* find(JobSlot job) const;
  bool any() const { return !list_.empty(); }
  /// A job has begun on its reservation, or is about to.
  bool any_opens() const;
  /// A run that ends must not be followed by one of another job on its lane.
  bool any_wants_ends() const;
  const std::vector<Reservation>& list() const { return list_; }

  // For the queue, which serves them.
  std::vector<Reservation>& list() { return list_; }
  ResourceVector missing_of(const Reservation& of) const;
  void fill_all();
  void fill(Reservation& reservation);
  /// The resources are available; the next items may have them.
  void empty(Reservation& reservation) { give_back(std::exchange(reservation.held, {}), available_); }
  void end_served();

 private:
  bool has_slots(const Reservation& of) const;

  QueueItems& items_;
  ResourceVector& available_;
  ParkedItems& parked_;
  std::vector<Reservation> list_;
};

}  // namespace penstock::worker
