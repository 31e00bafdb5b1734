// The free room on the bands of a replay, device by device.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tools/policy/replay/replay_figures.hpp"

namespace penstock::policy {

/// The amounts that one member takes of a band. `whole` counts devices; `part` is in thousandths of one more.
struct RoomDemand {
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t whole = 0;
  std::int64_t part = 0;
};

/// The amounts that a member holds on one band. `device`: the index of the shared device, where `part` is not 0.
struct RoomHolding {
  std::uint32_t band = kNone;
  RoomDemand demand;
  std::uint32_t device = kNone;
};

/// CPU, memory and devices of the bands. No band is ever over any of them.
class ReplayRooms {
 public:
  ReplayRooms(const std::vector<Band>& bands, const TypicalRequests& requests);

  /// How many members the band could take now, up to `most`.
  std::int64_t room_for(std::uint32_t band, const RoomDemand& demand, std::int64_t most) const;
  /// All or nothing. A part without a device gets the fullest one with room.
  bool take(std::vector<RoomHolding>& holdings);
  void give_back(const std::vector<RoomHolding>& holdings);

  std::int64_t cpu_left(std::uint32_t band) const { return rooms_[band].rest.cpu_milli; }
  /// Part of the free devices that a request of the trace, drawn at random, could not use. Cost: constant.
  double unusable_part() const { return requests_.unusable_part(sum_); }

 private:
  struct Room {
    BandRest rest;                                  ///< Without `parts`, which are in `devices`.
    std::map<std::uint32_t, std::int64_t> devices;  ///< Shared ones: the rest of each.
    RestValue value;                                ///< The share of this band in `sum_`.
  };
  bool take(RoomHolding& holding);
  void give_back(const RoomHolding& holding);
  void count(Room& room);
  static bool choose_device(const Room& room, RoomHolding& holding);

  const TypicalRequests& requests_;
  std::vector<Room> rooms_;
  RestValue sum_;
};

}  // namespace penstock::policy
