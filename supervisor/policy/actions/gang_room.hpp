// Whether there is room for a gang of equal members, found by counting.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/actions/best_case_room.hpp"
#include "supervisor/policy/trial.hpp"

namespace penstock::policy {

/// Bands, each once, with the room that they would have.
using Rooms = std::vector<std::pair<std::uint32_t, Resources>>;

/// Each of several members may find room where all of them together do not. Says no only where they cannot fit,
/// whatever leaves; it never says no for members that differ or want parts of devices.
class GangRoom {
 public:
  GangRoom() = default;
  /// Counts the members that fit while none has gone. Cost: O(bands that they may use).
  GangRoom(const Trial& trial, const std::vector<std::uint32_t>& members);

  /// Whether all fit as it is; true also if that is not known.
  bool fits_anyway() const { return fits_anyway_ >= wanted_; }
  /// Whether all might fit if those bands, each once, had that room.
  bool might_fit(const Rooms& rooms) const;
  /// How many more would fit if that band had that room, and whether so many more in all are enough.
  std::int64_t gain(std::uint32_t band, const Resources& room) const;
  bool is_enough(std::int64_t gain) const { return fits_anyway_ + gain >= wanted_; }
  /// Whether all might fit when every member that may go has gone.
  bool might_fit(const BestCaseRoom& best_case) const;

 private:
  bool is_allowed(std::uint32_t band) const;
  std::int64_t count(const Resources& room) const;

  const Trial* trial_ = nullptr;
  std::uint32_t member_ = kNone;  ///< One of them.
  std::int64_t wanted_ = 0;       ///< 0: nothing is known.
  std::int64_t fits_anyway_ = 0;
};

}  // namespace penstock::policy
