// A priority queue of order keys that are mostly pushed in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/prefetch.hpp"

namespace penstock::supervisor {

/// A priority queue of order keys, smallest first. Keys that are pushed in ascending order, which is how graphs unfold,
/// form a run that costs no heap; the others go to a binary heap beside it. The run is kept as ranges of consecutive
/// keys, and the first range is a member: most of the time, and for graphs of any size with equal subtasks, nothing
/// else is touched. 16 bytes for each further range, 8 for each key in the heap.
class KeyHeap {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void push(std::uint64_t key) {
    if (run_size_ == 0)
      first_ = Range{key, key};
    else if (key < last_of_run())
      return push_heap(key);
    else if (Range& range = last_range(); key == range.last + 1)
      range.last = key;
    else
      rest().ranges.push_back(Range{key, key});
    ++run_size_;
  }

  std::uint64_t best() const { return heap_size_ == 0 ? first_.first : std::min(first_.first, rest_->heap.front()); }

  /// REQUIRES: best() != kNone.
  std::uint64_t take_best() {
    if (heap_size_ > 0 && rest_->heap.front() < first_.first) return take_heap();
    const std::uint64_t key = first_.first;
    --run_size_;
    if (key != first_.last)
      ++first_.first;
    else
      first_ = run_size_ > 0 ? rest_->take_first() : Range{};
    return key;
  }

  /// One from the low end; kNone if there is none.
  std::uint64_t take_low() {
    // The last of the heap is a leaf: not always the lowest, but never the best of several, and free to remove.
    if (run_size_ > 0 && (heap_size_ == 0 || last_of_run() > rest_->heap.front())) return take_last_of_run();
    if (heap_size_ == 0) return kNone;
    --heap_size_;
    const std::uint64_t key = rest_->heap.back();
    rest_->heap.pop_back();
    return key;
  }

  std::size_t size() const { return std::size_t{run_size_} + heap_size_; }
  /// False if the key is not there. Logarithmic in the ranges of the run, but for moving those behind; searches the
  /// heap from end to end: for orders of people only.
  bool erase(std::uint64_t key) {
    if (run_size_ > 0 && key >= first_.first && key <= last_of_run())
      return erase_from_run(key) || erase_from_heap(key);
    return erase_from_heap(key);
  }
  /// A spare bit for the owner.
  bool is_marked() const { return marked_; }
  void mark(bool marked) { marked_ = marked; }
  /// Appends all keys, in no order.
  void append_to(std::vector<std::uint64_t>& keys) const {
    if (run_size_ > 0) append(first_, keys);
    if (rest_ == nullptr) return;
    for (std::size_t i = rest_->next; i < rest_->ranges.size(); ++i) append(rest_->ranges[i], keys);
    keys.insert(keys.end(), rest_->heap.begin(), rest_->heap.end());
  }
  /// Writes keys that will probably be taken next; returns how many. Reads the lines of `prefetch_keys`.
  std::size_t next_keys(std::span<std::uint64_t> keys) const {
    // The two below the best of the heap are all that the next two can be.
    std::size_t count = std::min({std::size_t{heap_size_}, kTopOfHeap, keys.size()});
    for (std::size_t i = 0; i < count; ++i) keys[i] = rest_->heap[i];
    if (run_size_ > 0) count += write(first_, keys.subspan(count));
    return count;
  }
  /// Prefetches the way to keys outside this object.
  void prefetch_rest() const {
    if (rest_ != nullptr) prefetch_line(rest_.get());
  }
  /// Prefetches the keys that are touched next. Reads the lines of `prefetch_rest`.
  void prefetch_keys() const {
    if (heap_size_ > 0) {
      prefetch_line(rest_->heap.data());
      prefetch_line(rest_->heap.data() + heap_size_);
    }
    if (run_size_ > 0 && has_more()) {
      prefetch_line(&rest_->ranges[rest_->next]);
      prefetch_line(&rest_->ranges.back());
    }
  }
  /// Beside the object itself.
  std::size_t memory_bytes() const {
    return rest_ == nullptr ? 0
                            : sizeof(Rest) + rest_->ranges.capacity() * sizeof(Range) +
                                  rest_->heap.capacity() * sizeof(std::uint64_t);
  }

 private:
  static constexpr std::size_t kKeptMax = 4096;
  static constexpr std::size_t kTopOfHeap = 3;

  /// All keys from `first` to `last`.
  struct Range {
    std::uint64_t first = kNone;
    std::uint64_t last = kNone;
  };
  /// The parts that few heaps need.
  struct Rest {
    std::vector<Range> ranges;  ///< From `next` on: those of the run after the first.
    std::size_t next = 0;
    std::vector<std::uint64_t> heap;

    void put_first(const Range& range) {
      if (next > 0)
        ranges[--next] = range;
      else
        ranges.insert(ranges.begin(), range);
    }
    // The key goes to that place of the heap, or to where it belongs above or below.
    void fill(std::size_t at, std::uint64_t key) {
      for (; at > 0 && key < heap[(at - 1) / 2]; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
      for (std::size_t below = 2 * at + 1; below < heap.size(); below = 2 * at + 1) {
        below += below + 1 < heap.size() && heap[below + 1] < heap[below];
        if (key <= heap[below]) break;
        heap[at] = heap[below];
        at = below;
      }
      heap[at] = key;
    }
    Range take_first() {
      const Range range = ranges[next];
      if (++next >= kKeptMax || next == ranges.size()) cut();
      return range;
    }
    // Memory of a big run that has been used up is wanted elsewhere.
    void cut() {
      if (next == ranges.size() && ranges.capacity() <= kKeptMax)
        ranges.clear();
      else if (next == ranges.size())
        ranges = std::vector<Range>{};  // `= {}` would keep the memory.
      else if (next * 2 >= ranges.size())
        ranges.erase(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(next));
      else
        return;
      next = 0;
    }
  };

  static std::size_t write(const Range& range, std::span<std::uint64_t> keys) {
    std::size_t count = 0;
    for (std::uint64_t key = range.first; key <= range.last && count < keys.size(); ++key) keys[count++] = key;
    return count;
  }
  static void append(const Range& range, std::vector<std::uint64_t>& keys) {
    for (std::uint64_t key = range.first; key <= range.last; ++key) keys.push_back(key);
  }
  Rest& rest() {
    if (rest_ == nullptr) rest_ = std::make_unique<Rest>();
    return *rest_;
  }
  // The first range is not all of the run.
  bool has_more() const { return run_size_ > first_.last - first_.first + 1; }
  // REQUIRES, as the next two: the run is not empty.
  Range& last_range() { return has_more() ? rest_->ranges.back() : first_; }
  std::uint64_t last_of_run() const { return has_more() ? rest_->ranges.back().last : first_.last; }

  std::uint64_t take_last_of_run() {
    Range& range = last_range();
    const std::uint64_t key = range.last;
    --run_size_;
    if (range.first != range.last)
      --range.last;
    else if (&range == &first_)
      first_ = Range{};
    else
      rest_->ranges.pop_back();
    return key;
  }
  // REQUIRES: the key is not below the run.
  bool erase_from_run(std::uint64_t key) {
    if (key > first_.last) return has_more() && erase_from_rest(key);
    if (first_.first == first_.last) {
      first_ = has_more() ? rest_->take_first() : Range{};
    } else if (key == first_.first) {
      ++first_.first;
    } else if (const Range after{key + 1, std::exchange(first_.last, key - 1)}; after.first <= after.last) {
      rest().put_first(after);
    }
    --run_size_;
    return true;
  }
  bool erase_from_rest(std::uint64_t key) {
    std::vector<Range>& ranges = rest_->ranges;
    const auto begin = ranges.begin() + static_cast<std::ptrdiff_t>(rest_->next);
    const auto ends_before = [](const Range& range, std::uint64_t wanted) { return range.last < wanted; };
    const auto at = std::lower_bound(begin, ranges.end(), key, ends_before);
    if (at == ranges.end() || key < at->first) return false;
    if (at->first == at->last)
      ranges.erase(at);
    else if (key == at->first)
      ++at->first;
    else if (const Range after{key + 1, std::exchange(at->last, key - 1)}; after.first <= after.last)
      ranges.insert(at + 1, after);
    --run_size_;
    return true;
  }
  bool erase_from_heap(std::uint64_t key) {
    if (heap_size_ == 0) return false;
    std::vector<std::uint64_t>& heap = rest_->heap;
    const auto at = std::find(heap.begin(), heap.end(), key);
    if (at == heap.end()) return false;
    const auto hole = static_cast<std::size_t>(at - heap.begin());
    const std::uint64_t last = heap.back();
    heap.pop_back();
    --heap_size_;
    if (hole < heap.size()) rest_->fill(hole, last);
    return true;
  }
  void push_heap(std::uint64_t key) {
    rest().heap.push_back(key);
    std::push_heap(rest_->heap.begin(), rest_->heap.end(), std::greater<>{});
    ++heap_size_;
  }
  std::uint64_t take_heap() {
    std::pop_heap(rest_->heap.begin(), rest_->heap.end(), std::greater<>{});
    const std::uint64_t key = rest_->heap.back();
    rest_->heap.pop_back();
    --heap_size_;
    return key;
  }

  Range first_;  ///< Both `kNone` if the run is empty.
  std::uint32_t run_size_ = 0;
  std::uint32_t heap_size_ : 31 = 0;
  bool marked_ : 1 = false;
  std::unique_ptr<Rest> rest_;
};

}  // namespace penstock::supervisor
