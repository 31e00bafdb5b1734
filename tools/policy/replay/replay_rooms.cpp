#include "tools/policy/replay/replay_rooms.hpp"

namespace penstock::policy {
namespace {

constexpr std::int64_t kWhole = 1000;

}  // namespace

std::uint32_t ReplayRooms::add(const BandDescription& band) {
  Room& room = rooms_.emplace_back();
  room.rest = {band.capacity.gpu.value(), {}, band.capacity.cpu.value(), band.capacity.memory.value()};
  count(room);
  return static_cast<std::uint32_t>(rooms_.size() - 1);
}

void ReplayRooms::take(std::uint32_t band, const ResourceVector& request, DeviceSet devices) {
  Room& room = rooms_[band];
  room.rest.cpu_milli -= request.cpu.value();
  room.rest.memory -= request.memory.value();
  if (const std::int64_t gpu = request.gpu.value(); gpu < kWhole) {
    const auto [device, is_new] = room.shared.try_emplace(devices, kWhole);
    if (is_new) room.rest.whole -= kWhole;
    device->second -= gpu;
  } else {
    room.rest.whole -= gpu;
  }
  count(room);
}

void ReplayRooms::give_back(std::uint32_t band, const ResourceVector& request, DeviceSet devices) {
  Room& room = rooms_[band];
  room.rest.cpu_milli += request.cpu.value();
  room.rest.memory += request.memory.value();
  if (const std::int64_t gpu = request.gpu.value(); gpu < kWhole) {
    const auto device = room.shared.find(devices);
    device->second += gpu;
    if (device->second == kWhole) {
      room.shared.erase(device);
      room.rest.whole += kWhole;
    }
  } else {
    room.rest.whole += gpu;
  }
  count(room);
}

void ReplayRooms::count(Room& room) {
  room.rest.parts.clear();
  for (const auto& [device, free] : room.shared) room.rest.parts.push_back(free);
  sum_ -= room.value;
  room.value = requests_.value_of(room.rest);
  sum_ += room.value;
}

}  // namespace penstock::policy
