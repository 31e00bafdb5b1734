// The bands of a worker.
#pragma once

#include <memory>
#include <vector>

#include "worker/core/band/band.hpp"

namespace penstock::worker {

/// All bands of a worker, in the order of their numbers; constant after construction.
class Bands {
 public:
  Bands(const std::vector<BandDescription>& bands, const WorkerConfig& config) {
    for (const BandDescription& description : bands)
      bands_.push_back(
          std::make_unique<Band>(BandIndex{static_cast<std::uint16_t>(bands_.size())}, description, config));
  }

  Band& operator[](BandIndex index) { return *bands_[index.value()]; }
  const Band& operator[](BandIndex index) const { return *bands_[index.value()]; }
  Band& of(const SubtaskRecord& record) { return *bands_[record.band.value()]; }
  const Band& of(const SubtaskRecord& record) const { return *bands_[record.band.value()]; }
  bool knows(BandIndex index) const { return index.value() < bands_.size(); }
  std::size_t size() const { return bands_.size(); }
  auto begin() const { return bands_.begin(); }
  auto end() const { return bands_.end(); }

  void mark_all_dirty() {
    for (const auto& band : bands_) band->dirty = true;
  }
  /// Nothing runs. A run that has lent its slot does not: it waits for what others make, or for its slot.
  bool idle() const {
    for (const auto& band : bands_)
      if (band->running.size() != band->execute.yielded()) return false;
    return true;
  }
  bool any_barrier() const {
    for (const auto& band : bands_)
      if (!band->barriers.empty()) return true;
    return false;
  }

 private:
  std::vector<std::unique_ptr<Band>> bands_;
};

}  // namespace penstock::worker
