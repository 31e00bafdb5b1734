// A sparse vector: cells by dense numbers, with only some in use at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/check.hpp"

namespace penstock::worker {

/// Cells indexed by subtask number. Pages appear with the first used cell and go with the last, so that a worker pays
/// for its own part of a job, not for the whole job. A default-constructed cell is not in use. Cost: two loads.
/// Single-threaded.
template <class Cell>
class SparseCells {
 public:
  /// The cell, or null if its page does not exist.
  Cell* find(std::uint32_t number) {
    const std::size_t page = number / kPageSize;
    return page < pages_.size() && pages_[page] != nullptr ? &pages_[page]->cells[number % kPageSize] : nullptr;
  }
  const Cell* find(std::uint32_t number) const { return const_cast<SparseCells*>(this)->find(number); }

  /// The cell, which the caller puts in use: exactly one `free` must follow.
  Cell& use(std::uint32_t number) {
    const std::size_t page = number / kPageSize;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) pages_[page] = spare_ != nullptr ? std::move(spare_) : std::make_unique<Page>();
    ++pages_[page]->in_use;
    return pages_[page]->cells[number % kPageSize];
  }

  /// REQUIRES: the cell is in use.
  void free(std::uint32_t number) {
    std::unique_ptr<Page>& page = pages_[number / kPageSize];
    PENSTOCK_CHECK(page != nullptr && page->in_use > 0);
    page->cells[number % kPageSize] = Cell{};
    if (--page->in_use == 0) spare_ = std::move(page);  // All its cells are in their default state.
  }

  /// Calls `visit(number, cell)` for every cell of every existing page, in order.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      if (pages_[page] == nullptr) continue;
      for (std::size_t i = 0; i < kPageSize; ++i)
        visit(static_cast<std::uint32_t>(page * kPageSize + i), pages_[page]->cells[i]);
    }
  }

 private:
  static constexpr std::size_t kPageSize = 1024;
  struct Page {
    std::array<Cell, kPageSize> cells{};
    std::uint32_t in_use = 0;
  };

  std::vector<std::unique_ptr<Page>> pages_;
  std::unique_ptr<Page> spare_;  ///< The last freed page: a job with one subtask at a time must not allocate for each.
};

}  // namespace penstock::worker
