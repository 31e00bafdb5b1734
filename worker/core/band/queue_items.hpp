// The items of a latched queue, and the order in which they leave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/heap.hpp"
#include "common/base/id_vector.hpp"
#include "common/base/prefetch.hpp"
#include "common/protocol/resources.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

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

/// The stage of a record in a latched queue.
enum class QueueState : std::uint8_t { Absent, Waiting, Offered, Holding, Yielded };

inline constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

/// A record as a latched queue knows it.
struct QueueNode {
  QueueItem item;
  QueueState state = QueueState::Absent;
  bool resumed = false;            ///< The item waits for the resources that it had yielded.
  std::uint32_t group = kNowhere;  ///< Of parked items, in which it waits; `kNowhere`: among its job's items.
  std::uint32_t heap_position = 0;
  std::uint32_t bypassed = 0;
  SlotIndex lane;
};

/// Whether it is on a lane without its resources, yielded or waiting for them again.
inline bool has_yielded(const QueueNode& node) {
  return node.state == QueueState::Yielded || (node.state == QueueState::Waiting && node.resumed);
}

/// The order of items within a job.
struct ItemKey {
  std::uint64_t priority;
  std::uint64_t sequence;
  RecordIndex record;
  friend bool operator<(const ItemKey& a, const ItemKey& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
  }
};
inline ItemKey key_of(const QueueItem& item) { return {item.priority, item.sequence, item.record}; }

/// Keeps the position of each item up to date.
struct TrackItem {
  IdVector<RecordIndex, QueueNode>* nodes = nullptr;
  void operator()(const ItemKey& key, std::uint32_t position) const { (*nodes)[key.record].heap_position = position; }
};
using ItemHeap = Heap<ItemKey, TrackItem>;

/// The order of jobs, each with its best item: job priority, then the item's priority (see `QueueItem`), then the job's
/// fair rank, then, while any job's entitlement is limited, the least service in proportion to the entitlement, then
/// arrival.
struct JobKey {
  std::int32_t job_priority;
  std::uint32_t priority;
  std::int32_t fair_rank;
  std::uint64_t served;
  std::uint64_t sequence;
  JobSlot job;
  bool operator<(const JobKey& other) const {
    if (job_priority != other.job_priority) return job_priority > other.job_priority;
    if (priority != other.priority) return priority > other.priority;
    if (fair_rank != other.fair_rank) return fair_rank < other.fair_rank;
    if (served != other.served) return served < other.served;
    if (sequence != other.sequence) return sequence < other.sequence;
    return job < other.job;
  }
};

/// A job in a latched queue.
struct QueueJob {
  explicit QueueJob(IdVector<RecordIndex, QueueNode>* nodes) : items(TrackItem{nodes}) {}

  bool may_hold_more() const { return held < entitlement; }
  JobKey key(const ItemKey& item, JobSlot slot) const {
    return {job_priority, static_cast<std::uint32_t>(item.priority >> 32U), fair_rank, served, item.sequence, slot};
  }

  std::int32_t job_priority = 0;
  std::int32_t fair_rank = 0;
  MilliSlots entitlement = MilliSlots::max();
  MilliSlots held;
  std::uint64_t served = 0;   ///< Slots granted or offered so far, over those it is entitled to; see `count_served`.
  std::uint32_t offered = 0;  ///< Items on offer.
  std::uint32_t heap_position = kNowhere;
  ItemHeap items;  ///< Waiting ones that are not parked.
};

/// Keeps the position of each job up to date.
struct TrackJob {
  std::vector<QueueJob>* jobs = nullptr;
  void operator()(const JobKey& key, std::uint32_t position) const {
    (*jobs)[key.job.value()].heap_position = position;
  }
};

/// All records and jobs that a latched queue knows; jobs that have waiting items and may hold more are in line.
/// Where runs are so short that slots are not the scarce resource, limited jobs are served in proportion to their
/// entitlements: start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996). Cost: O(log n) for each change.
class QueueItems {
 public:
  QueueItems() : line_(TrackJob{&jobs_}) {}
  QueueItems(const QueueItems&) = delete;
  QueueItems& operator=(const QueueItems&) = delete;

  // Records.
  QueueNode& operator[](RecordIndex record) { return nodes_[record]; }
  const QueueNode& operator[](RecordIndex record) const { return nodes_[record]; }
  const IdVector<RecordIndex, QueueNode>& nodes() const { return nodes_; }
  QueueState state_of(RecordIndex record) const {
    return nodes_.contains(record) ? nodes_[record].state : QueueState::Absent;
  }
  /// Prefetches the memory of a record that `LatchedQueue::put` and `hand_over` touch.
  void prefetch(RecordIndex record) const {
    if (nodes_.contains(record)) prefetch_line(&nodes_[record]);
  }
  /// The node of a new item. REQUIRES: the record is absent.
  QueueNode& make_node(const QueueItem& item);
  ItemHeap make_heap() { return ItemHeap{TrackItem{&nodes_}}; }

  // Jobs.
  QueueJob& job(JobSlot slot) { return jobs_[slot.value()]; }
  const QueueJob& job(JobSlot slot) const { return jobs_[slot.value()]; }
  QueueJob& job_of(const QueueNode& node) { return jobs_[node.item.job.value()]; }
  const QueueJob& job_of(const QueueNode& node) const { return jobs_[node.item.job.value()]; }
  const std::vector<QueueJob>& jobs() const { return jobs_; }
  /// The job, made if unknown.
  QueueJob& job_at(JobSlot slot) {
    while (jobs_.size() <= slot.value()) jobs_.emplace_back(&nodes_);
    return jobs_[slot.value()];
  }
  MilliSlots held_by(JobSlot job) const { return job.value() < jobs_.size() ? jobs_[job.value()].held : MilliSlots{0}; }
  bool any_waiting(JobSlot job) const { return job.value() < jobs_.size() && !jobs_[job.value()].items.empty(); }
  /// Whether there are jobs that may hold nothing here, and whether this is one of them.
  bool any_closed() const { return closed_ > 0; }
  bool is_closed(JobSlot job) const { return job.value() < jobs_.size() && jobs_[job.value()].entitlement.is_zero(); }
  bool any_limited() const { return limited_ > 0; }
  void set_job_priority(JobSlot slot, std::int32_t job_priority);
  void set_entitlement(JobSlot slot, MilliSlots slots, std::int32_t fair_rank);

  // The line.
  Heap<JobKey, TrackJob>& line() { return line_; }
  const Heap<JobKey, TrackJob>& line() const { return line_; }
  JobKey key_of(JobSlot slot) const { return job(slot).key(job(slot).items.top(), slot); }
  /// The first item of the first job in line.
  RecordIndex first() const { return line_.empty() ? RecordIndex::none() : job(line_.top().job).items.top().record; }
  /// Updates the place of the job in line after any change of it.
  void refresh(JobSlot slot);
  /// The item waits among those of its job.
  void insert(QueueNode& node);
  /// The item leaves the heap of its job, and counts no longer. The job keeps its place.
  void unlist(QueueNode& node) {
    job_of(node).items.erase(node.heap_position);
    --waiting_;
  }
  /// The same, without a state. REQUIRES: the item is not parked.
  void take_out(QueueNode& node);
  /// Items that wait, parked ones included.
  std::size_t waiting() const { return waiting_; }
  void count_parked() { ++waiting_; }
  void count_unparked() { --waiting_; }
  /// The order in which items would leave if all of them were in line.
  bool goes_before(const QueueNode& left, const QueueNode& right) const;
  bool exceeds_entitlement(const QueueItem& item) const {
    const QueueJob& job = jobs_[item.job.value()];
    return job.held + item.request->slots > job.entitlement;
  }

  // Service in proportion to entitlements.
  /// The item is granted or put on offer. `whole`: slots of the queue.
  void count_served(QueueJob& job, const QueueItem& item, MilliSlots whole);
  /// The clock of services is not behind this one.
  void move_clock(std::uint64_t served) { clock_ = std::max(clock_, served); }
  void validate() const;

 private:
  IdVector<RecordIndex, QueueNode> nodes_;
  std::vector<QueueJob> jobs_;
  Heap<JobKey, TrackJob> line_;
  std::size_t waiting_ = 0;
  std::size_t closed_ = 0;   ///< Jobs with an entitlement of nothing.
  std::size_t limited_ = 0;  ///< Jobs with an entitlement that is limited, but not zero.
  std::uint64_t clock_ = 0;  ///< `QueueJob::served` of the last served job before its service, while any is limited.
};

}  // namespace penstock::worker
