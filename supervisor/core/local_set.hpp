// Subtasks of one job that are kept at the supervisor for one band.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "supervisor/core/key_heap.hpp"

namespace penstock::supervisor {

/// Two priority queues of order keys: subtasks that can run now, and lookahead candidates with missing producers that
/// are all assigned. Entries are never searched for: an entry is outdated when its subtask has moved on, and is skipped
/// when it is taken. One cache line: with thousands of bands each is a trip to memory.
class alignas(64) LocalSet {
 public:
  static constexpr std::uint64_t kNone = KeyHeap::kNone;

  void push_ready(std::uint64_t key) { ready_.push(key); }
  void push_ahead(std::uint64_t key) { ahead_.push(key); }

  std::uint64_t best_ready() const { return ready_.best(); }
  std::uint64_t best_ahead() const { return ahead_.best(); }

  /// REQUIRES: best_ready() != kNone.
  std::uint64_t take_ready() { return ready_.take_best(); }
  /// REQUIRES: best_ahead() != kNone.
  std::uint64_t take_ahead() { return ahead_.take_best(); }
  /// One from the low end, for another band; kNone if there is none.
  std::uint64_t take_lowest_ready() { return ready_.take_low(); }

  /// The subtask has another key now. False if it was not among those that can run.
  bool erase(std::uint64_t key) {
    ahead_.erase(key);
    return ready_.erase(key);
  }
  /// Nothing is kept any more.
  void clear() {
    const bool waiting = is_waiting();
    *this = LocalSet{};
    set_waiting(waiting);
  }
  /// Whether the band has an entry of the job in its `WaitingJobs`.
  bool is_waiting() const { return ready_.is_marked(); }
  void set_waiting(bool waiting) { ready_.mark(waiting); }

  /// Keys that will probably be taken next; returns how many. Reads the lines of `prefetch_keys`.
  std::size_t next_keys(std::span<std::uint64_t> keys) const {
    const std::size_t ready = ready_.next_keys(keys);
    return ready + ahead_.next_keys(keys.subspan(ready));
  }
  /// Prefetches the way to keys outside this object.
  void prefetch_rest() const {
    ready_.prefetch_rest();
    ahead_.prefetch_rest();
  }
  /// Prefetches the keys that are touched next. Reads the lines of `prefetch_rest`.
  void prefetch_keys() const {
    ready_.prefetch_keys();
    ahead_.prefetch_keys();
  }
  /// Every key, in no order; a lookahead key that has become ready since occurs twice.
  std::vector<std::uint64_t> all_keys() const {
    std::vector<std::uint64_t> keys;
    ready_.append_to(keys);
    ahead_.append_to(keys);
    return keys;
  }
  std::size_t ready_count() const { return ready_.size(); }
  std::size_t ahead_count() const { return ahead_.size(); }
  bool empty() const { return ready_count() == 0 && ahead_count() == 0; }
  /// Beside the object itself.
  std::size_t memory_bytes() const { return ready_.memory_bytes() + ahead_.memory_bytes(); }

 private:
  KeyHeap ready_;
  KeyHeap ahead_;
};
static_assert(sizeof(LocalSet) == 64);

}  // namespace penstock::supervisor
