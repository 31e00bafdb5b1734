// The memory quota of a band: it grants bytes to subtasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/heap.hpp"
#include "common/base/id_vector.hpp"
#include "common/base/units.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// One subtask that wants memory.
struct QuotaRequest {
  RecordIndex record;
  Bytes bytes;
  std::int32_t job_priority = 0;
  std::uint64_t priority = 0;
  std::uint64_t sequence = 0;
};

enum class QuotaAnswer : std::uint8_t {
  Granted,
  Waits,
  Refused,  ///< Above the hard limit: never.
};

/// Hands out the bytes of one band, all or nothing for each request (spec worker 4).
///
/// Invariant: grants never exceed the capacity, except for one request between capacity and hard limit, which is then
/// alone; a waiting request is overtaken at most `overtake_max` times, and only as far as it has room beside all
/// overtakers together: it is granted at the latest when all grants before its request have ended. Single-threaded,
/// owned by a `Band`. Cost: O(log n).
class MemoryQuota {
 public:
  struct Limits {
    std::uint32_t overtake_max = 16;        ///< Of the first in line, by smaller ones.
    std::uint32_t scan_max = 32;            ///< Candidates looked at for overtaking.
    std::uint32_t forward_bypass_max = 64;  ///< Forwarded successors in a row.
  };

  MemoryQuota(Bytes capacity, Bytes hard_limit, const Limits& limits);
  MemoryQuota(const MemoryQuota&) = delete;
  MemoryQuota& operator=(const MemoryQuota&) = delete;

  /// Asks for the whole amount; a record with a grant asks to change it, and keeps the old one while it waits.
  QuotaAnswer request(const QuotaRequest& request);
  /// For a forwarded successor: now or not at all, without waiting. Passes waiting requests only if it comes before
  /// them, and only a bounded number of times in a row.
  bool try_request(const QuotaRequest& request);
  /// The holder needs less than granted. Ignored if it is not less.
  void shrink(RecordIndex record, Bytes bytes);
  /// The holder uses more than granted: it holds so much from now on, as far as there is room.
  void grow(RecordIndex record, Bytes bytes);
  /// Gives back the grant and withdraws the request, if any. Idempotent.
  void release(RecordIndex record);
  void update_priority(RecordIndex record, std::uint64_t priority);
  /// The same for the job of the waiting records for which `is_of_job(record)` is true. O(n log n).
  template <class Predicate>
  void set_job_priority(Predicate is_of_job, std::int32_t job_priority);
  /// Grants all requests that can be granted now and appends their records.
  void take_granted(std::vector<RecordIndex>& granted);

  /// Stops or allows new grants: the measured memory of the host has crossed its limit.
  void set_paused(bool paused) { paused_ = paused; }
  bool paused() const { return paused_; }

  Bytes used() const { return used_; }
  Bytes capacity() const { return capacity_; }
  Bytes hard_limit() const { return hard_limit_; }
  std::size_t waiting() const { return waiting_.size(); }
  /// The first in line; none if nobody waits.
  RecordIndex head() const { return waiting_.empty() ? RecordIndex::none() : waiting_.top().record; }
  /// Whether this request, made now, would stand behind the first in line.
  bool is_behind_head(const QuotaRequest& request) const;
  bool waits(RecordIndex record) const { return nodes_.contains(record) && nodes_[record].waiting; }
  /// Priority of its waiting request. REQUIRES: waits(record).
  std::uint64_t priority_of(RecordIndex record) const { return waiting_.at(nodes_[record].heap_position).priority; }
  Bytes granted_to(RecordIndex record) const { return nodes_.contains(record) ? nodes_[record].granted : Bytes{0}; }
  /// Requests served alone because they exceed the capacity.
  std::uint64_t exclusive_count() const { return exclusive_count_; }
  void validate() const;

 private:
  struct Key {
    std::int32_t job_priority;
    std::uint64_t priority;
    std::uint64_t sequence;
    RecordIndex record;
    friend bool operator<(const Key& a, const Key& b) {
      if (a.job_priority != b.job_priority) return a.job_priority > b.job_priority;
      if (a.priority != b.priority) return a.priority > b.priority;
      return a.sequence < b.sequence;
    }
  };
  struct Node {
    Bytes granted;
    Bytes wanted;
    bool waiting = false;
    bool holding = false;
    std::uint32_t heap_position = 0;
    std::uint32_t overtaken = 0;
    std::uint64_t waits_since = 0;  ///< `turn_` when it began to wait.
  };
  struct Overtaker {
    RecordIndex record;
    std::uint64_t turn;  ///< `turn_` when it was granted.
  };
  struct Track {
    IdVector<RecordIndex, Node>* nodes = nullptr;
    void operator()(const Key& key, std::uint32_t position) const { (*nodes)[key.record].heap_position = position; }
  };

  static Key key_of(const QuotaRequest& request) {
    return {request.job_priority, request.priority, request.sequence, request.record};
  }
  Node& node_at(RecordIndex record);
  bool fits(const Node& node, Bytes wanted) const;
  void grant(Node& node, Bytes bytes);
  void note_waiting(const Node& node);
  RecordIndex choose();
  RecordIndex choose_overtaker();
  Bytes held_by_overtakers(const Node& head) const;

  // Constant after construction.
  const Bytes capacity_;
  const Bytes hard_limit_;
  const Limits limits_;

  // State.
  Bytes used_;
  std::size_t holders_ = 0;
  bool paused_ = false;
  std::uint32_t forward_bypasses_ = 0;
  std::uint64_t exclusive_count_ = 0;
  IdVector<RecordIndex, Node> nodes_;
  Heap<Key, Track> waiting_;
  std::uint64_t turn_ = 0;
  std::vector<Overtaker> overtakers_;  ///< Overtakers that hold a grant.
  /// Lower bound of the bytes that a waiting request needs beyond its grant; exact when it was set.
  Bytes least_missing_;

  // Scratch.
  std::vector<Key> passed_;
};

template <class Predicate>
void MemoryQuota::set_job_priority(Predicate is_of_job, std::int32_t job_priority) {
  passed_.clear();
  waiting_.for_each([&](const Key& key) {
    if (is_of_job(key.record)) passed_.push_back(key);
  });
  for (Key& key : passed_) {
    key.job_priority = job_priority;
    waiting_.update(nodes_[key.record].heap_position, key);
  }
}

}  // namespace penstock::worker
