// The lanes of a band: one runner for each attempt at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/id_vector.hpp"
#include "worker/core/band/device_rooms.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// Numbers lanes and knows their holders; two records never share one. The most recently used idle lane is taken first,
/// because its caches are warm. Cost: constant.
class SlotLanes {
 public:
  explicit SlotLanes(const std::vector<DeviceDescription>& of_band = {}) : devices(of_band) {}

  SlotIndex take(RecordIndex record) {
    SlotIndex lane;
    if (!free_.empty()) {
      lane = free_.back();
      free_.pop_back();
    } else {
      lane = holders_.push_back(RecordIndex::none());
    }
    holders_[lane] = record;
    return lane;
  }
  void give_back(SlotIndex lane) {
    holders_[lane] = RecordIndex::none();
    free_.push_back(lane);
  }
  /// The lane goes to another record at once.
  void hand_over(SlotIndex lane, RecordIndex next) { holders_[lane] = next; }
  RecordIndex holder(SlotIndex lane) const { return holders_[lane]; }
  /// While runners restart, an attempt waits for one of them instead of getting a lane beyond those of the slots.
  bool any_for_new() const { return !free_.empty() || restarting_.empty(); }
  DeviceRooms devices;  ///< As lanes hold them.

  /// Lanes that were ever used.
  std::size_t size() const { return holders_.size(); }

  /// Marks all idle lanes as restarting and returns them; they are not taken before `restarted`.
  std::vector<SlotIndex> restart_idle() {
    std::vector<SlotIndex> lanes = std::exchange(free_, {});
    restarting_.insert(restarting_.end(), lanes.begin(), lanes.end());
    return lanes;
  }
  void restarted(SlotIndex lane) {
    const auto found = std::find(restarting_.begin(), restarting_.end(), lane);
    if (found == restarting_.end()) return;
    restarting_.erase(found);
    free_.push_back(lane);
  }
  /// The idle lanes that the next `count` records would get, in order; fewer if there are no more than `lanes_max`. A
  /// lane that was never used becomes an idle one, so that `restart_idle` finds it.
  std::vector<SlotIndex> next(std::size_t count, std::size_t lanes_max) {
    while (free_.size() < count && restarting_.empty() && holders_.size() < lanes_max)
      free_.insert(free_.begin(), holders_.push_back(RecordIndex::none()));
    const std::size_t found = std::min(count, free_.size());
    return {free_.rbegin(), free_.rbegin() + static_cast<std::ptrdiff_t>(found)};
  }

 private:
  IdVector<SlotIndex, RecordIndex> holders_;
  std::vector<SlotIndex> free_;
  std::vector<SlotIndex> restarting_;
};

}  // namespace penstock::worker
