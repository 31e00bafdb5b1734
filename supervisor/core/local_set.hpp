// Subtasks of one job that are kept at the supervisor for one band.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace penstock::supervisor {

/// Two priority queues of order keys (smaller first): subtasks that can run now, and lookahead candidates whose missing
/// producers are all assigned. Entries are never searched for: one whose subtask has moved on is outdated and skipped
/// when it is taken. Source subtasks come as one sorted run, which costs no heap.
class LocalSet {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  /// REQUIRES: keys are pushed in ascending order, before anything is taken.
  void append_source(std::uint64_t key) { run_.push_back(key); }
  void push_ready(std::uint64_t key) { push(ready_, key); }
  void push_ahead(std::uint64_t key) { push(ahead_, key); }

  std::uint64_t best_ready() const {
    const std::uint64_t of_run = run_next_ < run_.size() ? run_[run_next_] : kNone;
    return ready_.empty() ? of_run : std::min(of_run, ready_.front());
  }
  std::uint64_t best_ahead() const { return ahead_.empty() ? kNone : ahead_.front(); }

  /// REQUIRES: best_ready() != kNone.
  std::uint64_t take_ready() {
    if (run_next_ < run_.size() && (ready_.empty() || run_[run_next_] <= ready_.front())) {
      const std::uint64_t key = run_[run_next_++];
      if (run_next_ == run_.size()) {
        run_ = {};
        run_next_ = 0;
      }
      return key;
    }
    return pop(ready_);
  }
  /// REQUIRES: best_ahead() != kNone.
  std::uint64_t take_ahead() { return pop(ahead_); }

  /// One from the low end, for another band; kNone if there is none.
  std::uint64_t take_lowest_ready() {
    if (run_next_ < run_.size()) {
      const std::uint64_t key = run_.back();
      run_.pop_back();
      return key;
    }
    if (ready_.empty()) return kNone;
    // A leaf of the heap: not always the lowest, but never the best of several, and free to remove.
    const std::uint64_t key = ready_.back();
    ready_.pop_back();
    return key;
  }

  std::size_t ready_count() const { return run_.size() - run_next_ + ready_.size(); }
  std::size_t ahead_count() const { return ahead_.size(); }
  bool empty() const { return ready_count() == 0 && ahead_.empty(); }

 private:
  using Keys = std::vector<std::uint64_t>;

  static void push(Keys& keys, std::uint64_t key) {
    keys.push_back(key);
    std::push_heap(keys.begin(), keys.end(), std::greater<>{});
  }
  static std::uint64_t pop(Keys& keys) {
    std::pop_heap(keys.begin(), keys.end(), std::greater<>{});
    const std::uint64_t key = keys.back();
    keys.pop_back();
    return key;
  }

  Keys run_;
  std::size_t run_next_ = 0;
  Keys ready_;
  Keys ahead_;
};

}  // namespace penstock::supervisor
