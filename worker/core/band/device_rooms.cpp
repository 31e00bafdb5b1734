#include "worker/core/band/device_rooms.hpp"

#include <algorithm>
#include <bit>

#include "common/base/check.hpp"
#include "common/base/coverage_mark.hpp"

namespace penstock::worker {
namespace {

DeviceSet bit(std::size_t device) { return static_cast<DeviceSet>(1U << device); }

/// The first `count` devices of a set.
DeviceSet first_of(DeviceSet devices, std::int64_t count) {
  DeviceSet chosen = 0;
  for (; count > 0 && devices != 0; --count) {
    const auto lowest = static_cast<DeviceSet>(devices & (~devices + 1));
    chosen |= lowest;
    devices = static_cast<DeviceSet>(devices & ~lowest);
  }
  return chosen;
}

}  // namespace

DeviceRooms::DeviceRooms(const std::vector<DeviceDescription>& devices) {
  PENSTOCK_CHECK(devices.size() <= kBandDevicesMax);
  for (const DeviceDescription& device : devices)
    rooms_.push_back({MilliGpu{1000}, device.memory, device.linked, device.numa_node, device.memory});
}

DeviceSet DeviceRooms::choose(DeviceSet last, const ResourceVector& request) const {
  return whole_devices(request) > 0 ? choose_whole(last, request) : choose_part(last, request);
}

DeviceSet DeviceRooms::choose_part(DeviceSet last, const ResourceVector& request) const {
  std::size_t best = rooms_.size();
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if (!has_room(rooms_[i], request)) continue;
    if (best == rooms_.size()) {
      best = i;
      continue;
    }
    const Room& here = rooms_[i];
    const Room& there = rooms_[best];
    const bool fuller = here.free != there.free ? here.free < there.free : here.memory < there.memory;
    const bool equal = here.free == there.free && here.memory == there.memory;
    if (fuller || (equal && last == bit(i))) best = i;
  }
  return best == rooms_.size() ? 0 : bit(best);
}

DeviceSet DeviceRooms::free_for_whole(const ResourceVector& request) const {
  DeviceSet free = 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i)
    if (rooms_[i].whole() && request.device_memory <= rooms_[i].memory) free |= bit(i);
  return free;
}

/// Of the groups with enough devices in `free` that with the fewest; 0: none has.
template <class Group>
DeviceSet DeviceRooms::smallest_group(DeviceSet free, std::int64_t count, Group group_of) const {
  DeviceSet best = 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((free & bit(i)) == 0) continue;
    const std::uint32_t group = group_of(rooms_[i]);
    DeviceSet members = 0;
    for (std::size_t other = 0; other < rooms_.size(); ++other)
      if ((free & bit(other)) != 0 && group != 0 && group_of(rooms_[other]) == group) members |= bit(other);
    if (std::popcount(members) < count) continue;
    if (best == 0 || std::popcount(members) < std::popcount(best)) best = members;
  }
  return best;
}

DeviceSet DeviceRooms::choose_whole(DeviceSet last, const ResourceVector& request) const {
  const std::int64_t count = whole_devices(request);
  const DeviceSet free = free_for_whole(request);
  if (std::popcount(free) < count) return 0;
  DeviceSet near = smallest_group(free, count, [](const Room& room) { return room.linked; });
  if (near == 0) near = smallest_group(free, count, [](const Room& room) { return room.numa_node + 1; });
  if (near == 0) near = free;
  return std::popcount(last) == count && (last & ~near) == 0 ? last : first_of(near, count);
}

bool DeviceRooms::fit_again(SlotIndex lane, const ResourceVector& request) const {
  const DeviceSet devices = of(lane);
  const bool whole = whole_devices(request) > 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((devices & bit(i)) == 0) continue;
    if (whole ? !rooms_[i].whole() : !has_room(rooms_[i], request)) return false;
  }
  return true;
}

void DeviceRooms::assign(SlotIndex lane, const ResourceVector& request, bool again) {
  const DeviceSet devices = again ? of(lane) : choose(of(lane), request);
  PENSTOCK_CHECK(devices != 0);
  if (std::popcount(devices) > 1) PENSTOCK_COVERAGE_MARK("a run has several devices");
  if (of_lane_.size() <= lane.value()) of_lane_.resize(lane.value() + std::size_t{1}, 0);
  of_lane_[lane.value()] = devices;
  add(devices, request, 1);
}

// A whole device is held with all of its memory.
void DeviceRooms::add(DeviceSet devices, const ResourceVector& request, std::int64_t sign) {
  const bool whole = whole_devices(request) > 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((devices & bit(i)) == 0) continue;
    Room& room = rooms_[i];
    room.free -= (whole ? MilliGpu{1000} : request.gpu) * sign;
    room.memory -= (whole ? room.capacity : request.device_memory) * sign;
    PENSTOCK_CHECK(room.free >= MilliGpu{0} && room.memory >= Bytes{0});
  }
}

std::string DeviceRooms::shortage(const ResourceVector& request, SlotIndex again) const {
  if (fit(request, again)) return {};
  if (again.valid()) return "gpu: another run is on its devices";
  const std::int64_t count = whole_devices(request);
  if (count == 0) return "gpu " + std::to_string(request.gpu.value()) + " > the rest of any device";
  return "gpu " + std::to_string(count) + " > " + std::to_string(std::popcount(free_for_whole(request))) +
         " free devices";
}

bool DeviceRooms::agree(const std::vector<std::pair<SlotIndex, const ResourceVector*>>& holders) const {
  DeviceRooms rest = *this;
  for (const auto& [lane, request] : holders) rest.give_back(lane, *request);
  return std::all_of(rest.rooms_.begin(), rest.rooms_.end(), [](const Room& room) { return room.whole(); });
}

}  // namespace penstock::worker
