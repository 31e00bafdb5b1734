// A 4-ary heap whose items can be found again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/check.hpp"

namespace penstock {

/// Smallest item first by `operator<` of `Item`, in a 4-ary layout (half the depth of a binary heap, and the four
/// children share a cache line). `Track` is called as `track(item, position)` whenever an item comes to rest, so that
/// its owner can later name it for `update` or `erase` in O(log n); `kNowhere` means that it has left.
template <class Item, class Track>
class Heap {
 public:
  explicit Heap(Track track = Track{}) : track_(track) {}

  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  const Item& top() const { return items_.front(); }
  const Item& at(std::uint32_t position) const { return items_[position]; }

  void push(const Item& item) {
    items_.push_back(item);
    sift_up(static_cast<std::uint32_t>(items_.size() - 1));
  }

  Item pop() {
    const Item best = items_.front();
    erase(0);
    return best;
  }

  void erase(std::uint32_t position) {
    PENSTOCK_CHECK(position < items_.size());
    track_(items_[position], kNowhere);
    const Item moved = items_.back();
    items_.pop_back();
    if (position == items_.size()) return;
    items_[position] = moved;
    settle(position);
  }

  /// Puts `item` in the place of the one at `position` and restores the order.
  void update(std::uint32_t position, const Item& item) {
    PENSTOCK_CHECK(position < items_.size());
    items_[position] = item;
    settle(position);
  }

 private:
  static constexpr std::uint32_t kArity = 4;

  void settle(std::uint32_t position) {
    if (position > 0 && items_[position] < items_[(position - 1) / kArity])
      sift_up(position);
    else
      sift_down(position);
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
    const auto size = static_cast<std::uint32_t>(items_.size());
    for (;;) {
      const std::uint32_t first = position * kArity + 1;
      if (first >= size) break;
      std::uint32_t best = first;
      const std::uint32_t last = first + kArity < size ? first + kArity : size;
      for (std::uint32_t child = first + 1; child < last; ++child)
        if (items_[child] < items_[best]) best = child;
      if (!(items_[best] < item)) break;
      put(position, items_[best]);
      position = best;
    }
    put(position, item);
  }

  void put(std::uint32_t position, const Item& item) {
    items_[position] = item;
    track_(item, position);
  }

  std::vector<Item> items_;
  [[no_unique_address]] Track track_;
};

}  // namespace penstock
