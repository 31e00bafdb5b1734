// Whether the members of a waiting job find room when victims have gone, by counting and without a trial.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/actions/chosen_pieces.hpp"
#include "supervisor/policy/actions/gang_room.hpp"
#include "supervisor/policy/actions/solve.hpp"

namespace penstock::policy {

/// Most attempts of a search fail for want of room: each member needs a band that has room for it anyway, or that has
/// room when the victims are gone and none is placed again. Owned by one search; the trial must be as it was when it
/// was looked at, whenever a question is asked. Says no only where an attempt would fail.
class WantedRoom {
 public:
  WantedRoom(const QuotaPass& pass, const SolveRules& rules);

  /// The members that are to be placed. Cost: a choice of a band for each; O(bands) for several.
  void look_at(const std::vector<std::uint32_t>& wanted);
  /// The victims that go in any case.
  void look_at_recorded(const std::vector<const VictimPiece*>& recorded);

  /// Whether a band has room for the member at that position while none has gone.
  bool fits_anyway(std::size_t position) const { return fits_anyway_[position]; }
  const GangRoom& gang() const { return gang_; }
  bool may_be_lost(std::uint32_t project) const { return rules_.may_lose.empty() || rules_.may_lose[project]; }

  /// Whether each member finds room when the recorded pieces have gone.
  bool is_there() const { return recorded_.lacking.empty(); }
  /// Whether the first member that finds none would find it on a band that so much more has left. REQUIRES: not
  /// `is_there`.
  bool is_for_first_on(std::uint32_t band, const Resources& more) const;
  /// Whether `might_fit` would say no if the recorded pieces left and all chosen ones of the jobs there. In constant
  /// time: true only where jobs of one member each leave that band alone.
  bool is_missing_on(std::uint32_t band, const ChosenPieces& chosen) const;
  bool might_fit(const std::vector<const VictimPiece*>& pieces) const;

 private:
  /// The room that recorded pieces leave.
  struct Recorded {
    Rooms rooms;
    std::int64_t lost = 0;               ///< Thousandths of devices of members that may be lost.
    std::int64_t gain = 0;               ///< How many more of a gang fit there.
    std::vector<std::uint32_t> lacking;  ///< Members that find no room there nor anywhere.
  };

  const Resources* left_by_recorded(std::uint32_t band) const;
  Resources room_with(std::uint32_t band, const Resources& more) const;
  bool holds(const Resources& room, std::uint32_t band, std::uint32_t member) const;
  bool has_room_in(std::size_t position, const Rooms& rooms) const;
  Rooms rooms_of(const std::vector<const VictimPiece*>& pieces) const;
  std::int64_t devices_that_may_be_lost(const std::vector<const VictimPiece*>& pieces) const;

  const QuotaPass& pass_;
  const Trial& trial_;
  const SolveRules& rules_;
  std::vector<std::uint32_t> wanted_;
  std::vector<bool> fits_anyway_;    ///< By position in `wanted_`.
  GangRoom gang_;                    ///< The same for all of them together.
  std::int64_t devices_wanted_ = 0;  ///< Thousandths, whole ones.
  Recorded recorded_;
};

}  // namespace penstock::policy
