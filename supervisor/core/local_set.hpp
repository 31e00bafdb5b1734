// Subtasks of one job that are kept at the supervisor for one band.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace penstock::supervisor {

/// A priority queue of order keys, smallest first. Keys that are pushed in ascending order, which is how graphs unfold,
/// form a run that costs no heap; the others go to a binary heap beside it. 8 bytes for each key.
class KeyHeap {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void push(std::uint64_t key) {
    if (next_ == run_.size() || key >= run_.back()) {
      if (next_ == run_.size()) run_.clear(), next_ = 0;
      run_.push_back(key);
      return;
    }
    heap_.push_back(key);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  std::uint64_t best() const {
    const std::uint64_t of_run = next_ < run_.size() ? run_[next_] : kNone;
    return heap_.empty() ? of_run : std::min(of_run, heap_.front());
  }

  /// REQUIRES: best() != kNone.
  std::uint64_t take_best() {
    if (next_ == run_.size() || (!heap_.empty() && heap_.front() < run_[next_])) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
      const std::uint64_t key = heap_.back();
      heap_.pop_back();
      return key;
    }
    const std::uint64_t key = run_[next_++];
    if (next_ == run_.size() && next_ > kKeptMax) {
      run_ = {};  // A big run is rare and its memory is wanted elsewhere.
      next_ = 0;
    } else if (next_ >= kKeptMax && next_ * 2 >= run_.size()) {
      run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(next_));
      next_ = 0;
    }
    return key;
  }

  /// One from the low end; kNone if there is none.
  std::uint64_t take_low() {
    // The last of the heap is a leaf: not always the lowest, but never the best of several, and free to remove.
    std::vector<std::uint64_t>& keys = next_ < run_.size() ? run_ : heap_;
    if (keys.empty()) return kNone;
    const std::uint64_t key = keys.back();
    keys.pop_back();
    return key;
  }

  std::size_t size() const { return run_.size() - next_ + heap_.size(); }
  void reserve(std::size_t count) { run_.reserve(count); }

 private:
  static constexpr std::size_t kKeptMax = 4096;

  std::vector<std::uint64_t> run_;
  std::size_t next_ = 0;
  std::vector<std::uint64_t> heap_;
};

/// Two priority queues of order keys: subtasks that can run now, and lookahead candidates whose missing producers are
/// all assigned. Entries are never searched for: one whose subtask has moved on is outdated and skipped when it is taken.
class LocalSet {
 public:
  static constexpr std::uint64_t kNone = KeyHeap::kNone;

  void reserve_ready(std::size_t count) { ready_.reserve(count); }
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

  std::size_t ready_count() const { return ready_.size(); }
  std::size_t ahead_count() const { return ahead_.size(); }
  bool empty() const { return ready_count() == 0 && ahead_count() == 0; }

 private:
  KeyHeap ready_;
  KeyHeap ahead_;
};

}  // namespace penstock::supervisor
