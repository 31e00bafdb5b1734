#include "supervisor/policy/actions/wanted_room.hpp"

#include <algorithm>

#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/fitting/device_fit.hpp"

namespace penstock::policy {

WantedRoom::WantedRoom(const QuotaPass& pass, const SolveRules& rules)
    : pass_(pass), trial_(pass.trial()), rules_(rules) {}

void WantedRoom::look_at(const std::vector<std::uint32_t>& wanted) {
  wanted_ = wanted;
  fits_anyway_.clear();
  devices_wanted_ = 0;
  for (const std::uint32_t member : wanted) {
    fits_anyway_.push_back(choose_band(trial_, member, Trial::When::Later, {}).has_value());
    devices_wanted_ += pass_.snapshot().members[member].request.gpu;
  }
  gang_ = GangRoom{trial_, wanted};
  recorded_ = {};
}

void WantedRoom::look_at_recorded(const std::vector<const VictimPiece*>& recorded) {
  recorded_ = {rooms_of(recorded), devices_that_may_be_lost(recorded), 0, {}};
  for (const auto& [band, room] : recorded_.rooms) recorded_.gain += gang_.gain(band, room);
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (!has_room_in(i, recorded_.rooms)) recorded_.lacking.push_back(wanted_[i]);
}

const Resources* WantedRoom::left_by_recorded(std::uint32_t band) const {
  const auto room = std::find_if(recorded_.rooms.begin(), recorded_.rooms.end(),
                                 [band](const auto& each) { return each.first == band; });
  return room == recorded_.rooms.end() ? nullptr : &room->second;
}

/// The room of a band when the recorded pieces have left it and `more` as well.
Resources WantedRoom::room_with(std::uint32_t band, const Resources& more) const {
  const Resources* known = left_by_recorded(band);
  return (known != nullptr ? *known : room_with_shared(trial_.room(band))) + more;
}

bool WantedRoom::holds(const Resources& room, std::uint32_t band, std::uint32_t member) const {
  const Member& source = pass_.snapshot().members[member];
  return source.request.within(room) && band_allowed(pass_.snapshot(), source, band);
}

bool WantedRoom::is_for_first_on(std::uint32_t band, const Resources& more) const {
  return holds(room_with(band, more), band, recorded_.lacking.front());
}

bool WantedRoom::is_missing_on(std::uint32_t band, const ChosenPieces& chosen) const {
  if (!chosen.are_single_on(band)) return false;
  const std::int64_t missing = devices_wanted_ - rules_.free_devices - recorded_.lost - chosen.lost_from(band);
  if (!rules_.may_lose.empty() && missing > 0) return true;
  const Resources room = room_with(band, chosen.gone_from(band));
  for (const std::uint32_t member : recorded_.lacking)
    if (!holds(room, band, member)) return true;
  const Resources* known = left_by_recorded(band);
  const std::int64_t gain = recorded_.gain - (known != nullptr ? gang_.gain(band, *known) : 0);
  return !gang_.is_enough(gain + gang_.gain(band, room));
}

std::int64_t WantedRoom::devices_that_may_be_lost(const std::vector<const VictimPiece*>& pieces) const {
  std::int64_t sum = 0;
  for (const VictimPiece* piece : pieces)
    if (may_be_lost(pass_.snapshot().workloads[piece->workload].project))
      for (const std::uint32_t member : piece->members) sum += pass_.snapshot().members[member].request.gpu;
  return sum;
}

/// The room on the bands of the pieces when these are gone and none is placed again.
Rooms WantedRoom::rooms_of(const std::vector<const VictimPiece*>& pieces) const {
  Rooms rooms;
  for (const VictimPiece* piece : pieces)
    for (const std::uint32_t member : piece->members) {
      const std::uint32_t band = trial_.holdings(member).band;
      const auto same = [band](const auto& room) { return room.first == band; };
      auto room = std::find_if(rooms.begin(), rooms.end(), same);
      if (room == rooms.end()) room = rooms.insert(rooms.end(), {band, room_with_shared(trial_.room(band))});
      room->second += pass_.snapshot().members[member].request;
    }
  return rooms;
}

/// Whether that one of `wanted_` has room anyway or in these, as far as counting tells.
bool WantedRoom::has_room_in(std::size_t position, const Rooms& rooms) const {
  const std::uint32_t member = wanted_[position];
  if (fits_anyway_[position] || pass_.snapshot().members[member].devices > 0) return true;
  return std::any_of(rooms.begin(), rooms.end(),
                     [&](const auto& room) { return holds(room.second, room.first, member); });
}

bool WantedRoom::might_fit(const std::vector<const VictimPiece*>& pieces) const {
  // Devices come from free ones, or from members that may lose theirs.
  if (!rules_.may_lose.empty() && devices_wanted_ > rules_.free_devices + devices_that_may_be_lost(pieces))
    return false;
  const Rooms rooms = rooms_of(pieces);
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (!has_room_in(i, rooms)) return false;
  return gang_.might_fit(rooms);
}

}  // namespace penstock::policy
