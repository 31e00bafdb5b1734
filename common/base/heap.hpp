// A priority queue with addressable items, quick for items that arrive in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/check.hpp"

namespace penstock {

/// Smallest item first by `operator<` of `Item`; equal items of the run leave in their order of arrival.
///
/// An item that is not smaller than the last of the run is appended to the run, a sorted list: batches arrive sorted by
/// priority, so most items never see a heap. All others go to a 4-ary heap (half the depth of a binary one, and the
/// four children share a cache line). An item that is smaller than the first of the run takes the place before it, if
/// an item has left there: taking an item on trial and putting it back is cheap. The smallest item is the better of the
/// two fronts. An item that leaves the run from its middle stays as a dead place until the front passes it.
///
/// `Track` is called as `track(item, position)` whenever an item comes to rest, so that its owner can later name it for
/// `update` or `erase`; `kNowhere` means that it has left. A position says nothing about the order.
/// Cost: constant at the ends of the run, O(log n) in the heap.
template <class Item, class Track>
class Heap {
 public:
  explicit Heap(Track track = Track{}) : track_(track) {}

  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  bool empty() const { return items_.empty() && first_ == run_.size(); }
  std::size_t size() const { return items_.size() + run_.size() - first_ - dead_; }
  /// REQUIRES: not empty, as for `top`.
  std::uint32_t top_position() const {
    if (items_.empty()) return position_of(first_);
    return first_ < run_.size() && !(items_.front() < run_[first_].item) ? position_of(first_) : 0;
  }
  const Item& top() const { return at(top_position()); }
  const Item& at(std::uint32_t position) const {
    return in_run(position) ? run_[index_of(position)].item : items_[position];
  }
  /// Calls `visit(item)` for each, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = first_; i < run_.size(); ++i)
      if (run_[i].alive) visit(run_[i].item);
    for (const Item& item : items_) visit(item);
  }

  void push(const Item& item) {
    const bool run_empty = first_ == run_.size();
    // An empty run keeps its places only while they are few, so that positions stay small.
    if (run_empty ? first_ > 0 && first_ < kCompactMin : first_ > 0 && item < run_[first_].item) {
      run_[--first_] = Place{item};
      track_(item, position_of(first_));
      return;
    }
    if (run_empty || !(item < run_.back().item)) {
      append(item);
      return;
    }
    items_.push_back(item);
    sift_up(static_cast<std::uint32_t>(items_.size() - 1));
  }

  Item pop() {
    const std::uint32_t position = top_position();
    const Item best = at(position);
    erase(position);
    return best;
  }

  void erase(std::uint32_t position) {
    if (in_run(position)) {
      erase_from_run(index_of(position));
      return;
    }
    PENSTOCK_CHECK(position < items_.size());
    track_(items_[position], kNowhere);
    const Item moved = items_.back();
    items_.pop_back();
    if (position != items_.size()) refill(position, moved);
  }

  /// Replaces the item at `position` and restores the order.
  void update(std::uint32_t position, const Item& item) {
    if (!in_run(position)) {
      PENSTOCK_CHECK(position < items_.size());
      items_[position] = item;
      if (position > 0 && item < items_[(position - 1) / kArity])
        sift_up(position);
      else
        sift_down(position);
      return;
    }
    const std::size_t index = index_of(position);
    PENSTOCK_CHECK(index >= first_ && index < run_.size() && run_[index].alive);
    const bool after = index == first_ || !(item < run_[index - 1].item);
    const bool before = index + 1 == run_.size() || !(run_[index + 1].item < item);
    if (after && before) {
      run_[index].item = item;
      track_(item, position);
      return;
    }
    erase_from_run(index);
    push(item);
  }

 private:
  static constexpr std::uint32_t kArity = 4;
  static constexpr std::uint32_t kRunBit = std::uint32_t{1} << 31U;
  static constexpr std::size_t kCompactMin = 1024;

  struct Place {
    Item item;
    bool alive = true;
  };

  // Positions in the run count everything that was ever appended, so that they stay valid when its front is cut off.
  static bool in_run(std::uint32_t position) { return (position & kRunBit) != 0; }
  std::uint32_t position_of(std::size_t index) const { return kRunBit | (cut_ + static_cast<std::uint32_t>(index)); }
  std::size_t index_of(std::uint32_t position) const { return (position - cut_) & ~kRunBit; }

  void append(const Item& item) {
    // A position of all ones would look like `kNowhere`; the run starts anew long before positions reach it.
    if (first_ == run_.size()) clear_run();
    run_.push_back(Place{item});
    track_(item, position_of(run_.size() - 1));
  }

  void erase_from_run(std::size_t index) {
    PENSTOCK_CHECK(index >= first_ && index < run_.size() && run_[index].alive);
    track_(run_[index].item, kNowhere);
    run_[index].alive = false;
    ++dead_;
    for (; first_ < run_.size() && !run_[first_].alive; ++first_) --dead_;
    while (first_ < run_.size() && !run_.back().alive) {
      run_.pop_back();
      --dead_;
    }
    if (first_ < kCompactMin || first_ * 2 < run_.size() || first_ == run_.size()) return;
    run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(first_));
    cut_ = (cut_ + static_cast<std::uint32_t>(first_)) & ~kRunBit;
    first_ = 0;
  }

  void clear_run() {
    run_.clear();
    first_ = 0;
    cut_ = 0;
  }

  void sift_up(std::uint32_t position) {
    const Item item = items_[position];
    while (position > 0) {
      const std::uint32_t parent = (position - 1) / kArity;
      if (!(item < items_[parent])) break;
      put(position, items_[parent]);
      position = parent;
    }
    put(position, item);
  }

  void sift_down(std::uint32_t position) {
    const Item item = items_[position];
    for (std::uint32_t best = best_child(position); best != kNowhere && items_[best] < item;
         best = best_child(position)) {
      put(position, items_[best]);
      position = best;
    }
    put(position, item);
  }

  // The last item fills the hole of an item that has left. The last item nearly always belongs near the bottom, so the
  // hole sinks there first, without comparing the item at each level (Wegener's bottom-up heapsort), and the item rises
  // from it.
  void refill(std::uint32_t hole, const Item& item) {
    for (std::uint32_t best = best_child(hole); best != kNowhere; best = best_child(hole)) {
      put(hole, items_[best]);
      hole = best;
    }
    items_[hole] = item;
    sift_up(hole);
  }

  std::uint32_t best_child(std::uint32_t position) const {
    const auto size = static_cast<std::uint32_t>(items_.size());
    const std::uint32_t first = position * kArity + 1;
    if (first >= size) return kNowhere;
    std::uint32_t best = first;
    const std::uint32_t last = first + kArity < size ? first + kArity : size;
    for (std::uint32_t child = first + 1; child < last; ++child)
      if (items_[child] < items_[best]) best = child;
    return best;
  }

  void put(std::uint32_t position, const Item& item) {
    items_[position] = item;
    track_(item, position);
  }

  std::vector<Item> items_;
  std::vector<Place> run_;
  std::size_t first_ = 0;  ///< First living place of the run; the size of the run if there is none.
  std::size_t dead_ = 0;   ///< Dead places behind it.
  std::uint32_t cut_ = 0;  ///< Places that were cut off in front of `run_`.
  [[no_unique_address]] Track track_;
};

}  // namespace penstock
