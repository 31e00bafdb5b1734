#include "supervisor/core/local_sets.hpp"

namespace penstock::supervisor {

std::uint64_t LocalSets::memory_bytes() const {
  std::uint64_t sum = 0;
  for (const LocalSet& set : sets_) sum += sizeof(LocalSet) + set.memory_bytes();
  return sum;
}

LocalSet& LocalSets::make(BandSlot band) {
  if (set_of_.empty()) first_ = band.value();
  if (band.value() < first_) {
    set_of_.insert(set_of_.begin(), first_ - band.value(), kNone);
    first_ = band.value();
  }
  if (set_of_.size() <= band.value() - first_) set_of_.resize(band.value() - first_ + 1, kNone);
  set_of_[band.value() - first_] = static_cast<std::uint32_t>(sets_.size());
  return sets_.emplace_back();
}

}  // namespace penstock::supervisor
