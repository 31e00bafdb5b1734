#include "tools/policy/replay/replay_rooms.hpp"

#include <algorithm>

namespace penstock::policy {

ReplayRooms::ReplayRooms(const std::vector<Band>& bands, const TypicalRequests& requests)
    : requests_(requests), rooms_(bands.size()) {
  for (std::size_t band = 0; band < bands.size(); ++band) {
    rooms_[band].rest = {bands[band].capacity.gpu, {}, bands[band].capacity.cpu, bands[band].capacity.memory};
    count(rooms_[band]);
  }
}

std::int64_t ReplayRooms::room_for(std::uint32_t band, const RoomDemand& demand, std::int64_t most) const {
  const Room& room = rooms_[band];
  if (demand.cpu_milli > 0) most = std::min(most, room.rest.cpu_milli / demand.cpu_milli);
  if (demand.memory > 0) most = std::min(most, room.rest.memory / demand.memory);
  if (demand.whole > 0) most = std::min(most, room.rest.whole / 1000 / demand.whole);
  if (demand.part == 0) return most;
  std::int64_t parts = room.rest.whole / 1000 * (1000 / demand.part);
  for (const auto& [device, free] : room.devices) parts += free / demand.part;
  return std::min(most, parts);
}

bool ReplayRooms::take(std::vector<RoomHolding>& holdings) {
  for (std::size_t i = 0; i < holdings.size(); ++i) {
    if (take(holdings[i])) continue;
    while (i-- > 0) give_back(holdings[i]);
    return false;
  }
  return true;
}

bool ReplayRooms::choose_device(const Room& room, RoomHolding& holding) {
  if (holding.device != kNone) {
    const auto known = room.devices.find(holding.device);
    return known == room.devices.end() ? room.rest.whole >= 1000 : known->second >= holding.demand.part;
  }
  std::int64_t least = 1001;
  std::uint32_t unused = 0;
  for (const auto& [device, free] : room.devices) {
    if (device == unused) ++unused;
    if (free < holding.demand.part || free >= least) continue;
    least = free;
    holding.device = device;
  }
  if (holding.device != kNone) return true;
  if (room.rest.whole < 1000) return false;
  holding.device = unused;
  return true;
}

bool ReplayRooms::take(RoomHolding& holding) {
  Room& room = rooms_[holding.band];
  const RoomDemand& wanted = holding.demand;
  if (wanted.cpu_milli > room.rest.cpu_milli || wanted.memory > room.rest.memory ||
      wanted.whole * 1000 > room.rest.whole)
    return false;
  if (wanted.part > 0) {
    if (wanted.whole > 0 || !choose_device(room, holding)) return false;
    const auto [device, is_new] = room.devices.try_emplace(holding.device, 1000);
    if (is_new) room.rest.whole -= 1000;
    device->second -= wanted.part;
  }
  room.rest.cpu_milli -= wanted.cpu_milli;
  room.rest.memory -= wanted.memory;
  room.rest.whole -= wanted.whole * 1000;
  count(room);
  return true;
}

void ReplayRooms::give_back(const std::vector<RoomHolding>& holdings) {
  for (const RoomHolding& each : holdings) give_back(each);
}

void ReplayRooms::give_back(const RoomHolding& holding) {
  Room& room = rooms_[holding.band];
  room.rest.cpu_milli += holding.demand.cpu_milli;
  room.rest.memory += holding.demand.memory;
  room.rest.whole += holding.demand.whole * 1000;
  if (holding.demand.part > 0) {
    const auto device = room.devices.find(holding.device);
    device->second += holding.demand.part;
    if (device->second == 1000) {
      room.devices.erase(device);
      room.rest.whole += 1000;
    }
  }
  count(room);
}

void ReplayRooms::count(Room& room) {
  room.rest.parts.clear();
  for (const auto& [device, free] : room.devices) room.rest.parts.push_back(free);
  sum_ -= room.value;
  room.value = requests_.value_of(room.rest);
  sum_ += room.value;
}

}  // namespace penstock::policy
