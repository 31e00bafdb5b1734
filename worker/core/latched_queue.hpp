// The latched priority queue: an item leaves it at the instant in which it gets its slot, never earlier.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/heap.hpp"
#include "common/base/id_vector.hpp"
#include "common/base/ids.hpp"
#include "common/base/prefetch.hpp"
#include "common/protocol/resources.hpp"

namespace penstock::worker {

/// Position of a subtask's record on this worker; dense, reused.
using RecordIndex = Id<struct RecordTag, std::uint32_t>;
/// Position of a job on this worker; dense, reused.
using JobSlot = Id<struct JobSlotTag, std::uint32_t>;

/// One waiting item.
struct QueueItem {
  RecordIndex record;
  JobSlot job;
  /// Larger first. The upper 32 bits are the user's priority and compared across jobs; the lower 32 are the graph's
  /// order and compared only inside the job, because critical paths of two jobs have no common measure.
  std::uint64_t priority = 0;
  std::uint64_t sequence = 0;  ///< Of arrival, smaller first.
  /// The resources that it holds when taken (memory apart). Outlives the item.
  const ResourceVector* request = nullptr;
  Bytes bytes;  ///< Metered against `capacity.memory`; an item alone always fits.
};

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
/// Order: job priority, then the item's priority (see `QueueItem`), then the job's fair rank, then, while any job's
/// entitlement is limited, the least service in proportion to the entitlement, then arrival. When lanes take runs over,
/// a limited job is served in turns of `kTurn`: the least served job is chosen once a turn.
/// An item that does not fit lets at most `bypass_max` others pass, then it reserves what it lacks: slots, for which
/// all items wait then; or another resource, for which only items that request it wait (see parked_items.cpp).
/// A job holds at most its entitlement: the second latch. Where runs are so short that slots are not the scarce
/// resource, jobs are served in proportion to it: start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996).
/// Single-threaded, owned by a `Band`. Cost: O(log n) for each operation on an item; no allocation once warm.
class LatchedQueue {
 public:
  struct Limits {
    std::uint32_t bypass_max = 16;
    std::uint32_t scan_max = 32;
    std::uint32_t lanes_max = 4096;  ///< Of records that hold something; those that have yielded have further ones.
    std::uint32_t yields_max = 128;  ///< Records that may have yielded at once.
  };

  LatchedQueue(ResourceVector capacity, const Limits& limits);
  LatchedQueue(const LatchedQueue&) = delete;
  LatchedQueue& operator=(const LatchedQueue&) = delete;

  /// REQUIRES: the record is not in this queue and holds nothing of it.
  void put(const QueueItem& item);
  /// Appends the items that can start now, best first, but no more than `max`.
  void take(std::vector<Taken>& taken, std::size_t max = ~std::size_t{0});
  /// The item that `take` would consider first; none if no job with waiting items may hold more.
  RecordIndex first_waiting() const;
  /// Gives back all that the record holds. False, and nothing changes, if it holds nothing.
  bool release(RecordIndex record);
  /// Takes a record out wherever it is, with all that it holds. False if it is not here. Idempotent.
  bool remove(RecordIndex record);
  /// Offers up to `max` of the items that leave next to runs that are about to end: each may be taken over, in the
  /// order of `offered`, by `hand_over` alone. Stops at the first item that `may(item)` refuses, or at a job that could
  /// hold more than its entitlement, whichever runs end first. If all jobs with waiting items hold what they may, a run
  /// may only be followed by one of its own job: see `is_offered_within_jobs`. REQUIRES: nothing is offered, the first
  /// item in line does not fit now, and `running` are all holders; they and all items that `may` allows make the same
  /// request.
  template <class Predicate>
  void offer(std::size_t max, std::span<const RecordIndex> running, Predicate may, std::vector<RecordIndex>& offered);
  /// `ended` leaves, and at the same instant `next` has its slot and its lane. Returns the lane. REQUIRES: `ended`
  /// holds a slot, `next` is offered, also after runs of other jobs unless offers are within jobs; both make the same
  /// request.
  SlotIndex hand_over(RecordIndex ended, RecordIndex next);
  /// Puts offered items that were not taken over back into their places. Until then nothing else may be taken.
  void withdraw_offers();
  /// Raises or lowers a waiting item; ignores a record that does not wait here.
  void update_priority(RecordIndex record, std::uint64_t priority);

  void set_job_priority(JobSlot job, std::int32_t job_priority);
  /// Sets the slots that the job may hold, and its rank among jobs of equal priority. REQUIRES: nothing is offered, or
  /// the job is not limited from now on and has nothing here.
  void set_entitlement(JobSlot job, MilliSlots slots, std::int32_t fair_rank);

  // Slots that are kept for a job until it may begin: reservations.cpp.
  /// Reserves so much for the job, with the holdings of its own runs: all resources that become free, before any
  /// waiting item. Replaces an earlier reservation of the job. REQUIRES: nothing is offered; the job is closed.
  void reserve(JobSlot job, const ResourceVector& wanted);
  /// From the next `take` on, waiting items of the job have the reservation first; the rest of it is free for all after
  /// the first `take` that starts no item of the job. Idempotent. REQUIRES: nothing is offered.
  void open_reservation(JobSlot job);
  /// Gives the job so many slots, with its holdings, before all others, until the reservation is dropped. Replaces an
  /// earlier reservation of the job.
  void prefer(JobSlot job, MilliSlots slots);
  /// Frees the job's reservation for all. Idempotent.
  void drop_reservation(JobSlot job);
  /// Whether all of its slots are reserved, with the resources of a device that go with them.
  bool is_reserved(JobSlot job) const;
  /// Whether all other wanted resources are reserved, too.
  bool is_reserved_whole(JobSlot job) const;
  MilliSlots reserved_for(JobSlot job) const;
  bool any_reservation() const { return !reservations_.empty(); }
  /// A job has begun on its reservation, or is about to.
  bool any_reservation_opens() const;

  /// The new capacity; a smaller one takes effect as attempts end.
  void resize(const ResourceVector& capacity);

  /// Marks all idle lanes as restarting and returns them; they are not taken before `lane_restarted`.
  std::vector<SlotIndex> restart_free_slots();
  void lane_restarted(SlotIndex lane);
  /// The idle lanes that the next `count` items would get, in order; fewer if there are no more.
  std::vector<SlotIndex> next_lanes(std::size_t count);

  /// The holder gives its resources back but stays on its lane while it waits for nested work. False if it holds none,
  /// or if `yields_max` records have yielded already.
  bool yield_slot(RecordIndex record);
  /// A holder that had yielded waits for its resources again, with `priority`. False if it had not.
  bool resume_slot(RecordIndex record, std::uint64_t priority);

  /// Prefetches the memory of a record that `put` and `hand_over` touch.
  void prefetch(RecordIndex record) const {
    if (nodes_.contains(record)) prefetch_line(&nodes_[record]);
  }

  bool waits(RecordIndex record) const { return state_of(record) == State::Waiting || is_offered(record); }
  bool is_offered(RecordIndex record) const { return state_of(record) == State::Offered; }
  /// While anything is on offer: whether only a run of the same job may be followed by it.
  bool is_offered_within_jobs() const { return within_jobs_; }
  bool holds(RecordIndex record) const { return state_of(record) == State::Holding; }
  /// Whether it is on a lane without its resources: it has yielded, or waits for them again.
  bool has_yielded(RecordIndex record) const { return nodes_.contains(record) && is_yielded(nodes_[record]); }
  std::size_t waiting() const { return waiting_ + offered_left_; }
  std::size_t offered() const { return offered_left_; }
  std::size_t holding() const { return holding_; }
  std::size_t yielded() const { return yielded_; }
  bool any_waiting(JobSlot job) const { return job.value() < jobs_.size() && !jobs_[job.value()].items.empty(); }
  bool idle() const { return holding_ == 0 && waiting() == 0; }
  const ResourceVector& capacity() const { return capacity_; }
  const ResourceVector& available() const { return available_; }
  MilliSlots held_by(JobSlot job) const;
  /// Whether there are jobs that may hold nothing here, and whether this is one of them.
  bool any_closed() const { return closed_ > 0; }
  bool is_closed(JobSlot job) const { return job.value() < jobs_.size() && jobs_[job.value()].entitlement.is_zero(); }
  /// Number of waiting items that would leave before this one. O(n); for display.
  std::size_t position_of(RecordIndex record) const;
  /// Why a waiting item does not start although it is first in line, e.g. `slot`, `entitlement`, `gpu 500 > 0`.
  std::string obstacle(RecordIndex record) const;
  /// The lowest waiting item that `may_leave` allows, none if there is none. O(n); for rebalancing.
  template <class Predicate>
  RecordIndex lowest_waiting(Predicate may_leave) const;

  /// Appends all waiting items, in no particular order. O(n).
  void list_waiting(std::vector<RecordIndex>& records) const;

  /// An item that could and may start on free resources, none if there is none: after `take` a breach. O(n); for
  /// checks.
  RecordIndex left_idle() const;
  void validate() const;

 private:
  enum class State : std::uint8_t { Absent, Waiting, Offered, Holding, Yielded };
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  struct Node {
    QueueItem item;
    State state = State::Absent;
    bool resumed = false;             ///< The item waits for the resources that it had yielded.
    std::uint32_t group = kNowhere;   ///< Of `parked_`, in which it waits; `kNowhere`: among its job's items.
    std::uint32_t heap_position = 0;
    std::uint32_t bypassed = 0;
    SlotIndex lane;
  };
  struct ItemKey {
    std::uint64_t priority;
    std::uint64_t sequence;
    RecordIndex record;
    friend bool operator<(const ItemKey& a, const ItemKey& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
    }
  };
  struct TrackItem {
    IdVector<RecordIndex, Node>* nodes = nullptr;
    void operator()(const ItemKey& key, std::uint32_t position) const { (*nodes)[key.record].heap_position = position; }
  };
  struct JobKey {
    std::int32_t job_priority;
    std::uint32_t priority;
    std::int32_t fair_rank;
    std::uint64_t served;
    std::uint64_t sequence;
    JobSlot job;
    bool operator<(const JobKey& other) const;
  };
  struct Job;
  struct TrackJob {
    std::vector<Job>* jobs = nullptr;
    void operator()(const JobKey& key, std::uint32_t position) const {
      (*jobs)[key.job.value()].heap_position = position;
    }
  };
  struct Job {
    explicit Job(IdVector<RecordIndex, Node>* nodes) : items(TrackItem{nodes}) {}
    std::int32_t job_priority = 0;
    std::int32_t fair_rank = 0;
    MilliSlots entitlement = MilliSlots::max();
    MilliSlots held;
    std::uint64_t served = 0;   ///< Slots granted or offered so far, over those it is entitled to; see `count_served`.
    std::uint32_t offered = 0;  ///< Items on offer.
    std::uint32_t heap_position = kNowhere;
    Heap<ItemKey, TrackItem> items;
  };
  struct Reservation {
    JobSlot job;
    ResourceVector wanted;  ///< Without memory.
    ResourceVector held;    ///< The held part; it is not available.
    bool opens = false;     ///< With the next `take`.
    bool full = false;      ///< All its slots were held once: its own runs give their slots to it first.
    bool served = false;    ///< Opened; the reservation ends with this `take`.
    bool stays = false;     ///< Every `take` serves it.
  };
  /// Items of one job that make one request: if the best of them lacks something, all do.
  struct ParkedGroup {
    explicit ParkedGroup(IdVector<RecordIndex, Node>* nodes) : items(TrackItem{nodes}) {}
    Heap<ItemKey, TrackItem> items;
  };
  static constexpr std::uint32_t kTurn = 16;

  static bool is_yielded(const Node& node) {
    return node.state == State::Yielded || (node.state == State::Waiting && node.resumed);
  }
  State state_of(RecordIndex record) const { return nodes_.contains(record) ? nodes_[record].state : State::Absent; }
  Job& job_at(JobSlot job);
  bool fits(const QueueItem& item) const;
  bool may_hold_more(const Job& job) const { return job.held < job.entitlement; }
  bool may_be_offered(const Job& job, std::size_t lanes, MilliSlots slots) const;
  std::uint32_t turn_max() const { return limited_ > 0 ? kTurn : 1; }
  void line_up_for_offers(std::span<const RecordIndex> running, MilliSlots slots);
  template <class Predicate>
  void offer_within_jobs(std::size_t max, std::span<const RecordIndex> running, Predicate may,
                         std::vector<RecordIndex>& offered);
  void put_on_offer(Job& job, RecordIndex next, std::uint64_t turn_began, std::vector<RecordIndex>& offered);
  void count_served(Job& job, const QueueItem& item);
  void insert_waiting(Node& node);
  void erase_waiting(Node& node);
  void take_out(Node& node);
  void refresh_job(JobSlot job);
  JobKey key_of(JobSlot job) const;
  /// None: of all jobs.
  RecordIndex choose(JobSlot only = JobSlot::none());
  void grant(Node& node, std::vector<Taken>& taken);
  ResourceVector missing_of(const Reservation& of) const;
  bool has_slots(const Reservation& of) const;
  bool any_reservation_wants_ends() const;
  void fill_reservations();
  void fill(Reservation& reservation);
  void serve_reservations(std::vector<Taken>& taken, std::size_t max);
  void take_back(Node& node);

  // Items that wait for something beside slots: parked_items.cpp.
  bool goes_before(const Node& left, const Node& right) const;
  bool lacks_beside_slots(const ResourceVector& request, const ResourceVector& available) const;
  bool is_kept_from(const Node& node) const;
  bool exceeds_entitlement(const QueueItem& item) const;
  void park(Node& node);
  void leave_parking(Node& node);
  bool return_parked();  ///< Whether others may start now.
  void return_parked_of(JobSlot job);
  void choose_keeper();
  RecordIndex best_parked(const ResourceVector& left) const;
  template <class Visit>
  void for_each_parked(Visit visit) const;
  bool any_parked() const { return parked_items_ > 0; }
  void count_bypassed(const Node& granted);
  bool has_lane() const;
  SlotIndex allot_lane(RecordIndex record);

  // Constant after construction.
  const Limits limits_;

  // State.
  ResourceVector capacity_;
  ResourceVector available_;  ///< Capacity minus held resources; negative for a while after a shrinking resize.
  IdVector<RecordIndex, Node> nodes_;
  std::vector<Job> jobs_;
  Heap<JobKey, TrackJob> order_;  ///< Jobs that have waiting items and may hold more.
  IdVector<SlotIndex, RecordIndex> lane_holders_;
  std::vector<SlotIndex> free_lanes_;
  std::vector<SlotIndex> restarting_lanes_;
  std::size_t waiting_ = 0;
  std::size_t holding_ = 0;
  std::size_t yielded_ = 0;  ///< Records that have yielded and do not hold anything again yet.
  std::size_t closed_ = 0;   ///< Jobs whose entitlement is nothing.
  std::size_t limited_ = 0;  ///< Jobs with an entitlement that is limited, but not zero.
  std::uint64_t clock_ = 0;  ///< `Job::served` of the last served job before its service, while any is limited.
  std::vector<RecordIndex> offered_;          ///< Since the last withdrawal, in order; some have been taken over.
  struct ServedBefore {
    std::uint64_t item;  ///< `Job::served` before the item was put on offer,
    /// and before the first item of its turn: the clock, so that waiting jobs lose nothing by offers.
    std::uint64_t turn;
  };
  std::vector<ServedBefore> served_before_;  ///< Of each offered item, while any job is limited.
  std::size_t offered_left_ = 0;
  bool within_jobs_ = false;  ///< Runs on offer may only follow runs of their own job.

  std::vector<Reservation> reservations_;  ///< In the order in which they came; almost always none.

  /// Waiting items that lack something other than slots; empty groups are used again.
  std::vector<ParkedGroup> parked_;
  std::size_t parked_items_ = 0;     ///< Almost always none.
  /// Resources were given back, or an item has left, since parked items were considered.
  bool parked_may_fit_ = false;
  RecordIndex keeper_;   ///< The first parked item that was bypassed too often,
  ResourceVector kept_;  ///< and the resources that it keeps from all behind it.

  // Scratch.
  std::vector<RecordIndex> passed_;
  std::vector<JobSlot> set_aside_;
  std::vector<JobSlot> lined_up_;
};

template <class Predicate>
void LatchedQueue::offer(std::size_t max, std::span<const RecordIndex> running, Predicate may,
                         std::vector<RecordIndex>& offered) {
  PENSTOCK_CHECK(offered_left_ == 0);
  offered_.clear();
  served_before_.clear();
  if (running.empty() || any_reservation_wants_ends()) return;
  const MilliSlots slots = nodes_[running.front()].item.request->slots;
  line_up_for_offers(running, slots);
  within_jobs_ = order_.empty();
  if (within_jobs_) return offer_within_jobs(max, running, may, offered);
  bool more = true;
  while (more && offered_left_ < max && !order_.empty()) {
    const JobSlot slot = order_.top().job;
    Job& job = jobs_[slot.value()];
    if (!may_be_offered(job, running.size(), slots)) break;
    // Its place among the jobs is brought up to date once for its turn.
    const std::uint64_t priority = job.items.top().priority >> 32U;
    const std::uint64_t turn_began = job.served;
    std::uint32_t turn = 0;
    do {
      const RecordIndex next = job.items.top().record;
      more = may(nodes_[next].item);
      if (!more) break;
      put_on_offer(job, next, turn_began, offered);
      ++turn;
    } while (offered_left_ < max && !job.items.empty() && may_be_offered(job, running.size(), slots) &&
             (order_.size() == 1 || (turn < turn_max() && job.items.top().priority >> 32U == priority)));
    if (job.items.empty())
      order_.erase(job.heap_position);
    else
      order_.update(job.heap_position, key_of(slot));
  }
  for (const JobSlot slot : lined_up_) refresh_job(slot);
}

// No job is in line: each job with waiting items holds all that it may, and is next only where one of its own runs
// ends. A job that holds more than that is not next even then.
template <class Predicate>
void LatchedQueue::offer_within_jobs(std::size_t max, std::span<const RecordIndex> running, Predicate may,
                                     std::vector<RecordIndex>& offered) {
  const std::size_t after_each = max / running.size();
  for (const RecordIndex record : running) {
    Job& job = jobs_[nodes_[record].item.job.value()];
    if (job.held > job.entitlement) continue;
    for (std::size_t i = 0; i < after_each && !job.items.empty(); ++i) {
      const RecordIndex next = job.items.top().record;
      if (!may(nodes_[next].item)) break;
      put_on_offer(job, next, job.served, offered);
    }
  }
}

template <class Visit>
void LatchedQueue::for_each_parked(Visit visit) const {
  for (const ParkedGroup& group : parked_)
    group.items.for_each([&](const ItemKey& key) { visit(key.record); });
}

template <class Predicate>
RecordIndex LatchedQueue::lowest_waiting(Predicate may_leave) const {
  RecordIndex lowest;
  JobKey lowest_job{};
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    const Job& job = jobs_[j];
    job.items.for_each([&](const ItemKey& key) {
      if (!may_leave(key.record)) return;
      const JobKey here{job.job_priority, static_cast<std::uint32_t>(key.priority >> 32U), job.fair_rank, 0, 0,
                        JobSlot{j}};
      const bool lower =
          !lowest.valid() || lowest_job < here ||
          (!(here < lowest_job) && ItemKey{nodes_[lowest].item.priority, nodes_[lowest].item.sequence, lowest} < key);
      if (lower) lowest = key.record, lowest_job = here;
    });
  }
  for_each_parked([&](RecordIndex record) {
    if (may_leave(record) && (!lowest.valid() || goes_before(nodes_[lowest], nodes_[record]))) lowest = record;
  });
  return lowest;
}

}  // namespace penstock::worker
