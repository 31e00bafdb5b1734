// The devices of a band: the held part of each, and the lanes that hold it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/resources.hpp"

namespace penstock::worker {

/// Chooses devices for runs: a part of a device goes to the fullest one that has room, so that others stay whole; whole
/// devices come from the smallest set of free ones that are linked, else from one NUMA node, else from anywhere. Where
/// these leave a choice, a lane gets the devices that it had before: its runner has used them. The devices of a lane
/// go with it when one run follows another. Of a band with one device, or with a request for none, nothing is kept.
/// Owned by a `LatchedQueue`. Cost: O(devices squared) for each call.
class DeviceRooms {
 public:
  explicit DeviceRooms(const std::vector<DeviceDescription>& devices);

  /// Whether free devices could hold the request; `again` valid: whether the devices that this lane had last could.
  bool fit(const ResourceVector& request, SlotIndex again = SlotIndex::none()) const {
    return !concern(request) || (again.valid() ? fit_again(again, request) : choose(0, request) != 0);
  }
  /// The lane has devices from now on; `again`: those that it had last. REQUIRES: they fit; the lane has none.
  void take(SlotIndex lane, const ResourceVector& request, bool again = false) {
    if (concern(request)) assign(lane, request, again);
  }
  /// The lane remembers its devices. REQUIRES: it has them for that request.
  void give_back(SlotIndex lane, const ResourceVector& request) {
    if (concern(request)) add(of(lane), request, -1);
  }
  /// The devices of a run on the lane; 0: the band has not several, or the run requests none.
  DeviceSet of(SlotIndex lane, const ResourceVector& request) const { return concern(request) ? of(lane) : 0; }
  /// The shortage that keeps free devices from holding the request, for people; empty: none does.
  std::string shortage(const ResourceVector& request, SlotIndex again = SlotIndex::none()) const;
  /// Whether all that is not free is held by these.
  bool agree(const std::vector<std::pair<SlotIndex, const ResourceVector*>>& holders) const;

 private:
  struct Room {
    MilliGpu free;
    Bytes memory;
    std::uint32_t linked = 0;
    std::uint32_t numa_node = 0;
    Bytes capacity;
    bool whole() const { return free == MilliGpu{1000} && memory == capacity; }
  };

  /// The sums of the queue say all of a band with one device.
  bool concern(const ResourceVector& request) const {
    return rooms_.size() > 1 && (request.gpu > MilliGpu{0} || request.device_memory > Bytes{0});
  }
  /// The devices that the lane has, or had last.
  DeviceSet of(SlotIndex lane) const { return lane.value() < of_lane_.size() ? of_lane_[lane.value()] : 0; }
  bool fit_again(SlotIndex lane, const ResourceVector& request) const;
  void assign(SlotIndex lane, const ResourceVector& request, bool again);
  DeviceSet choose(DeviceSet last, const ResourceVector& request) const;
  DeviceSet choose_part(DeviceSet last, const ResourceVector& request) const;
  DeviceSet choose_whole(DeviceSet last, const ResourceVector& request) const;
  DeviceSet free_for_whole(const ResourceVector& request) const;
  template <class Group>
  DeviceSet smallest_group(DeviceSet free, std::int64_t count, Group group_of) const;
  bool has_room(const Room& room, const ResourceVector& request) const {
    return request.gpu <= room.free && request.device_memory <= room.memory;
  }
  void add(DeviceSet devices, const ResourceVector& request, std::int64_t sign);

  std::vector<Room> rooms_;
  std::vector<DeviceSet> of_lane_;
};

}  // namespace penstock::worker
