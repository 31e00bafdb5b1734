// Records that are made and freed by the million without the allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/prefetch.hpp"

namespace penstock {

/// Keeps objects of one type in chunks and hands out their positions as `Index` (an `Id` over `uint32_t`).
///
/// Invariant: an object never moves while it lives, so a reference is valid until the end of the event that took it;
/// across events the index is kept. A freed object is not destroyed but reused, so that its own buffers keep their
/// capacity: `T` must have `void reset()`, which restores the state of a new one. One owner, one thread. Cost: a few
/// nanoseconds; only the destructor frees memory.
template <class Index, class T>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  Slab(Slab&&) noexcept = default;
  Slab& operator=(Slab&&) noexcept = default;

  /// A fresh object (default constructed, or reset).
  Index allocate() {
    ++live_;
    if (!free_.empty()) {
      const Index index = free_.back();
      free_.pop_back();
      return index;
    }
    const Index index{static_cast<std::uint32_t>(used_)};
    if (used_ == chunks_.size() * kChunkSize) chunks_.push_back(std::make_unique<T[]>(kChunkSize));
    ++used_;
    return index;
  }

  /// REQUIRES: `index` was allocated and not freed since.
  void free(Index index) {
    PENSTOCK_CHECK(live_ > 0);
    (*this)[index].reset();
    free_.push_back(index);
    --live_;
  }

  T& operator[](Index index) {
    PENSTOCK_CHECK(index.value() < used_);
    return chunks_[index.value() / kChunkSize][index.value() % kChunkSize];
  }
  const T& operator[](Index index) const {
    PENSTOCK_CHECK(index.value() < used_);
    return chunks_[index.value() / kChunkSize][index.value() % kChunkSize];
  }

  /// Prefetches the first lines of an object that is about to be used.
  void prefetch(Index index) const {
    constexpr std::size_t kLine = 64;
    const T* object = &(*this)[index];
    for (std::size_t line = 0; line < (sizeof(T) + kLine - 1) / kLine && line < 3; ++line)
      prefetch_line(reinterpret_cast<const std::byte*>(object) + line * kLine);
  }

  std::size_t live() const { return live_; }
  /// One more than the largest index ever handed out.
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kChunkSize = 1024;

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<Index> free_;
  std::size_t used_ = 0;
  std::size_t live_ = 0;
};

}  // namespace penstock
