// A hash map for the pure folders: lookups, no iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/ids.hpp"

namespace penstock {

constexpr std::uint64_t hash_of(std::uint64_t number) { return mix_bits(number); }

/// Open addressing with linear probing and backward-shift deletion (Knuth, TAOCP 3, 6.4, algorithm R). Needs a free
/// function `std::uint64_t hash_of(const Key&)` found by argument-dependent lookup.
///
/// The map deliberately has no `begin()`: the order of a hash table must never decide anything, and code that does not
/// compile needs no review. References are valid until the next insertion or erasure.
template <class Key, class Value>
class LookupMap {
 public:
  Value* find(const Key& key) {
    const std::size_t position = locate(key);
    return position == kAbsent ? nullptr : &cells_[position].value;
  }
  const Value* find(const Key& key) const { return const_cast<LookupMap*>(this)->find(key); }
  bool contains(const Key& key) const { return find(key) != nullptr; }

  /// The value of `key`, which is inserted as `Value{}` if absent.
  Value& operator[](const Key& key) {
    if (Value* existing = find(key)) return *existing;
    if ((size_ + 1) * 8 > cells_.size() * 7) grow();
    ++size_;
    return place(key, Value{});
  }

  /// False, and nothing changes, when `key` is already there.
  bool insert(const Key& key, Value value) {
    if (contains(key)) return false;
    (*this)[key] = std::move(value);
    return true;
  }

  /// True if `key` was there.
  bool erase(const Key& key) {
    std::size_t hole = locate(key);
    if (hole == kAbsent) return false;
    std::size_t next = (hole + 1) & mask();
    while (cells_[next].used) {
      const std::size_t home = hash_of(cells_[next].key) & mask();
      // The entry may fill the hole only if its home is not cyclically inside (hole, next].
      if (((next - home) & mask()) >= ((next - hole) & mask())) {
        cells_[hole] = std::move(cells_[next]);
        hole = next;
      }
      next = (next + 1) & mask();
    }
    cells_[hole] = Cell{};
    --size_;
    return true;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    cells_.clear();
    size_ = 0;
  }

 private:
  struct Cell {
    Key key{};
    Value value{};
    bool used = false;
  };
  static constexpr std::size_t kAbsent = ~std::size_t{0};

  std::size_t mask() const { return cells_.size() - 1; }

  std::size_t locate(const Key& key) const {
    if (cells_.empty()) return kAbsent;
    for (std::size_t position = hash_of(key) & mask(); cells_[position].used; position = (position + 1) & mask())
      if (cells_[position].key == key) return position;
    return kAbsent;
  }

  Value& place(const Key& key, Value value) {
    std::size_t position = hash_of(key) & mask();
    while (cells_[position].used) position = (position + 1) & mask();
    cells_[position] = Cell{key, std::move(value), true};
    return cells_[position].value;
  }

  void grow() {
    std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells_.empty() ? 16 : cells_.size() * 2));
    for (Cell& cell : old)
      if (cell.used) place(cell.key, std::move(cell.value));
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace penstock
