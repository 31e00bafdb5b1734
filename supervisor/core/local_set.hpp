// Subtasks of one job that are kept at the supervisor for one band.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/prefetch.hpp"

namespace penstock::supervisor {

/// A priority queue of order keys, smallest first. Keys that are pushed in ascending order, which is how graphs unfold,
/// form a run that costs no heap; the others go to a binary heap beside it. 8 bytes for each key.
class KeyHeap {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void push(std::uint64_t key) {
    if (next_ == run_.size()) {
      run_.clear();
      next_ = 0;
      front_ = key;
      run_.push_back(key);
    } else if (key >= run_.back()) {
      run_.push_back(key);
    } else {
      heap_.push_back(key);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
    }
  }

  std::uint64_t best() const { return heap_.empty() ? front_ : std::min(front_, heap_.front()); }

  /// REQUIRES: best() != kNone.
  std::uint64_t take_best() {
    if (!heap_.empty() && heap_.front() < front_) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
      const std::uint64_t key = heap_.back();
      heap_.pop_back();
      return key;
    }
    const std::uint64_t key = front_;
    if (++next_ >= kKeptMax) cut();
    front_ = next_ < run_.size() ? run_[next_] : kNone;
    return key;
  }

  /// One from the low end; kNone if there is none.
  std::uint64_t take_low() {
    // The last of the heap is a leaf: not always the lowest, but never the best of several, and free to remove.
    const bool from_run = next_ < run_.size() && (heap_.empty() || run_.back() > heap_.front());
    std::vector<std::uint64_t>& keys = from_run ? run_ : heap_;
    if (keys.empty()) return kNone;
    const std::uint64_t key = keys.back();
    keys.pop_back();
    if (next_ == run_.size()) front_ = kNone;
    return key;
  }

  std::size_t size() const { return run_.size() - next_ + heap_.size(); }
  /// Appends all keys, in no order.
  void append_to(std::vector<std::uint64_t>& keys) const {
    keys.insert(keys.end(), run_.begin() + static_cast<std::ptrdiff_t>(next_), run_.end());
    keys.insert(keys.end(), heap_.begin(), heap_.end());
  }
  void reserve(std::size_t count) { run_.reserve(count); }
  void prefetch() const {
    if (next_ + 1 < run_.size()) prefetch_line(&run_[next_ + 1]);
  }

 private:
  static constexpr std::size_t kKeptMax = 4096;

  // Memory of a big run that has been used up is wanted elsewhere.
  void cut() {
    if (next_ == run_.size())
      run_ = {};
    else if (next_ * 2 >= run_.size())
      run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(next_));
    else
      return;
    next_ = 0;
  }

  std::uint64_t front_ = kNone;  ///< Of the run. Kept here, because the run itself is rarely in the cache.
  std::vector<std::uint64_t> run_;
  std::size_t next_ = 0;
  std::vector<std::uint64_t> heap_;
};

/// Two priority queues of order keys: subtasks that can run now, and lookahead candidates whose missing producers are
/// all assigned. Entries are never searched for: one whose subtask has moved on is outdated and skipped when it is taken.
class alignas(64) LocalSet {
 public:
  static constexpr std::uint64_t kNone = KeyHeap::kNone;

  void reserve_ready(std::size_t count) { ready_.reserve(count); }
  void push_ready(std::uint64_t key) { ready_.push(key); }
  void push_ahead(std::uint64_t key) { ahead_.push(key); }

  std::uint64_t best_ready() const { return ready_.best(); }
  void prefetch_ready() const { ready_.prefetch(); }
  std::uint64_t best_ahead() const { return ahead_.best(); }

  /// REQUIRES: best_ready() != kNone.
  std::uint64_t take_ready() { return ready_.take_best(); }
  /// REQUIRES: best_ahead() != kNone.
  std::uint64_t take_ahead() { return ahead_.take_best(); }
  /// One from the low end, for another band; kNone if there is none.
  std::uint64_t take_lowest_ready() { return ready_.take_low(); }

  /// Every key, in no order; one that is lookahead and has become ready since stands there twice.
  std::vector<std::uint64_t> all_keys() const {
    std::vector<std::uint64_t> keys;
    ready_.append_to(keys);
    ahead_.append_to(keys);
    return keys;
  }
  std::size_t ready_count() const { return ready_.size(); }
  std::size_t ahead_count() const { return ahead_.size(); }
  bool empty() const { return ready_count() == 0 && ahead_count() == 0; }

 private:
  KeyHeap ready_;
  KeyHeap ahead_;
};

}  // namespace penstock::supervisor
