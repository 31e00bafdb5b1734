// The free room on the device bands of a replay, device by device.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/protocol/handshake.hpp"
#include "tools/policy/replay/replay_figures.hpp"

namespace penstock::policy {

/// CPU, memory and devices that the runs of a cluster leave on its device bands. Whatever runs is counted: a run that
/// has more memory than its band may leave less than nothing.
class ReplayRooms {
 public:
  /// `requests` outlives it.
  explicit ReplayRooms(const TypicalRequests& requests) : requests_(requests) {}

  /// Adds an empty band; its number counts from 0.
  std::uint32_t add(const BandDescription& band);
  /// A run with these amounts and devices begins there; no device: that of a band with one.
  void take(std::uint32_t band, const ResourceVector& request, DeviceSet devices);
  /// The same run has ended.
  void give_back(std::uint32_t band, const ResourceVector& request, DeviceSet devices);

  const BandRest& rest(std::uint32_t band) const { return rooms_[band].rest; }
  /// Part of the free devices that a request of the trace, drawn at random, could not use. Cost: constant.
  double unusable_part() const { return requests_.unusable_part(sum_); }

 private:
  struct Room {
    BandRest rest;                               ///< Without `parts`, which are in `shared`.
    std::map<DeviceSet, std::int64_t> shared{};  ///< The rest of each shared device.
    RestValue value{};                           ///< The share of this band in `sum_`.
  };
  void count(Room& room);

  const TypicalRequests& requests_;
  std::vector<Room> rooms_;
  RestValue sum_;
};

}  // namespace penstock::policy
