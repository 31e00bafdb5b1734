// The ready subtasks of one job, by the band for which they are kept.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/large_array.hpp"
#include "supervisor/core/local_set.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// One `LocalSet` for each band that was ever a tentative band of the job.
class LocalSets {
 public:
  /// All sets are of bands from here,
  std::uint32_t first() const { return first_; }
  /// to before this one.
  std::uint32_t end() const { return first_ + static_cast<std::uint32_t>(set_of_.size()); }
  std::size_t size() const { return sets_.size(); }

  /// An empty set is made if the band has none yet.
  LocalSet& at(BandSlot band) {
    LocalSet* set = find(band);
    return set != nullptr ? *set : make(band);
  }
  /// Null: the band has none.
  LocalSet* find(BandSlot band) { return const_cast<LocalSet*>(std::as_const(*this).find(band)); }
  const LocalSet* find(BandSlot band) const {
    const std::uint32_t at = band.value() - first_;  // A large number, if it is below.
    return at < set_of_.size() && set_of_[at] != kNone ? &sets_[set_of_[at]] : nullptr;
  }
  std::uint64_t memory_bytes() const;
  /// Gives back the memory, too.
  void clear() { *this = {}; }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  LocalSet& make(BandSlot band);

  LargeArray<LocalSet> sets_;
  std::uint32_t first_ = 0;            ///< Band slot of the first of `set_of_`: most small jobs have one.
  std::vector<std::uint32_t> set_of_;  ///< By band slot: position in `sets_`, or none.
};

}  // namespace penstock::supervisor
