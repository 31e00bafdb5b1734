// Items that lanes may take over by themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/core/band/queue_items.hpp"

namespace penstock::worker {

/// The items of a latched queue that are on offer, in the order in which they follow runs that are about to end. When
/// lanes take runs over, a limited job is served in turns of `kTurn`: the least served job is chosen once a turn.
/// Cost: O(log n) for each item.
class QueueOffers {
 public:
  explicit QueueOffers(QueueItems& items) : items_(items) {}
  QueueOffers(const QueueOffers&) = delete;
  QueueOffers& operator=(const QueueOffers&) = delete;

  /// See `LatchedQueue::offer`. `whole`: slots of the queue.
  template <class Predicate>
  void offer(std::size_t max, std::span<const RecordIndex> running, MilliSlots whole, Predicate may,
             std::vector<RecordIndex>& offered);
  /// Forgets the offers of before. REQUIRES: none is left.
  void clear() {
    offered_.clear();
    served_before_.clear();
  }
  /// Puts items that were not taken over back into their places.
  void withdraw();
  /// A lane has taken one over.
  void taken() { --left_; }

  std::size_t left() const { return left_; }
  /// Whether only a run of the same job may be followed by an item on offer.
  bool within_jobs() const { return within_jobs_; }

 private:
  static constexpr std::uint32_t kTurn = 16;
  struct ServedBefore {
    std::uint64_t item;  ///< `QueueJob::served` before the item was put on offer,
    /// and before the first item of its turn: the clock, so that waiting jobs lose nothing by offers.
    std::uint64_t turn;
  };

  std::uint32_t turn_max() const { return items_.any_limited() ? kTurn : 1; }
  /// Whichever runs end and whichever on offer follow them: a job cannot run more than there are lanes, nor more than
  /// its present runs and those on offer.
  static bool may_be_offered(const QueueJob& job, std::size_t lanes, MilliSlots slots) {
    if (slots * static_cast<std::int64_t>(lanes) <= job.entitlement) return true;
    return job.held + slots * (static_cast<std::int64_t>(job.offered) + 1) <= job.entitlement;
  }
  void line_up(std::span<const RecordIndex> running, MilliSlots slots);
  template <class Predicate>
  void offer_within_jobs(std::size_t max, std::span<const RecordIndex> running, MilliSlots whole, Predicate may,
                         std::vector<RecordIndex>& offered);
  void put(QueueJob& job, RecordIndex next, std::uint64_t turn_began, MilliSlots whole,
           std::vector<RecordIndex>& offered);

  QueueItems& items_;
  std::vector<RecordIndex> offered_;         ///< Since the last withdrawal, in order; some have been taken over.
  std::vector<ServedBefore> served_before_;  ///< Of each offered item, while any job is limited.
  std::size_t left_ = 0;
  bool within_jobs_ = false;
  std::vector<JobSlot> lined_up_;  ///< Scratch.
};

template <class Predicate>
void QueueOffers::offer(std::size_t max, std::span<const RecordIndex> running, MilliSlots whole, Predicate may,
                        std::vector<RecordIndex>& offered) {
  const MilliSlots slots = items_[running.front()].item.request->slots;
  line_up(running, slots);
  Heap<JobKey, TrackJob>& line = items_.line();
  within_jobs_ = line.empty();
  if (within_jobs_) return offer_within_jobs(max, running, whole, may, offered);
  bool more = true;
  while (more && left_ < max && !line.empty()) {
    const JobSlot slot = line.top().job;
    QueueJob& job = items_.job(slot);
    if (!may_be_offered(job, running.size(), slots)) break;
    // Its place among the jobs is brought up to date once for its turn.
    const std::uint64_t priority = job.items.top().priority >> 32U;
    const std::uint64_t turn_began = job.served;
    std::uint32_t turn = 0;
    do {
      const RecordIndex next = job.items.top().record;
      more = may(items_[next].item);
      if (!more) break;
      put(job, next, turn_began, whole, offered);
      ++turn;
    } while (left_ < max && !job.items.empty() && may_be_offered(job, running.size(), slots) &&
             (line.size() == 1 || (turn < turn_max() && job.items.top().priority >> 32U == priority)));
    if (job.items.empty())
      line.erase(job.heap_position);
    else
      line.update(job.heap_position, items_.key_of(slot));
  }
  for (const JobSlot slot : lined_up_) items_.refresh(slot);
}

// No job is in line: each job with waiting items holds all that it may, and is next only where one of its own runs
// ends. A job that holds more than that is not next even then.
template <class Predicate>
void QueueOffers::offer_within_jobs(std::size_t max, std::span<const RecordIndex> running, MilliSlots whole,
                                    Predicate may, std::vector<RecordIndex>& offered) {
  const std::size_t after_each = max / running.size();
  for (const RecordIndex record : running) {
    QueueJob& job = items_.job_of(items_[record]);
    if (job.held > job.entitlement) continue;
    for (std::size_t i = 0; i < after_each && !job.items.empty(); ++i) {
      const RecordIndex next = job.items.top().record;
      if (!may(items_[next].item)) break;
      put(job, next, job.served, whole, offered);
    }
  }
}

}  // namespace penstock::worker
