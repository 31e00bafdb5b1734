#include "supervisor/core/driver/explain/room_view.hpp"

#include <algorithm>

#include "supervisor/core/gang_sizes.hpp"

namespace penstock::supervisor {
namespace {

RoomView::Amounts in_pieces(const RoomView& room, std::uint64_t need, const RoomView::Amounts& free) {
  RoomView::Amounts taken(free.size(), 0);
  for (std::size_t i = 0; i < free.size() && need > 0; ++i) {
    const std::uint64_t here = std::min(free[i] / room.piece, (need + room.piece - 1) / room.piece) * room.piece;
    taken[i] = here;
    need -= std::min(need, here);
  }
  return need > 0 ? RoomView::Amounts{} : taken;
}

/// The smallest size of which as many are empty as it needs.
RoomView::Amounts on_whole_bands(const RoomView& room, std::uint64_t need, const RoomView::Amounts& free) {
  BandSizes empty;
  for (std::size_t i = 0; i < free.size(); ++i)
    if (room.places[i].open && free[i] == room.places[i].all && free[i] > 0) ++empty[free[i]];
  for (const auto& [size, count] : empty) {
    if (!holds_gang({{size, count}}, need)) continue;
    RoomView::Amounts taken(free.size(), 0);
    for (std::size_t i = 0; i < free.size() && need > 0; ++i) {
      if (free[i] != size || room.places[i].all != size) continue;
      taken[i] = std::min(size, need);
      need -= taken[i];
    }
    return taken;
  }
  return {};
}

}  // namespace

RoomView::Amounts RoomView::place(std::uint64_t need, const Amounts& back) const {
  Amounts now(places.size(), 0);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].open) now[i] = std::min(places[i].all, places[i].free + (i < back.size() ? back[i] : 0));
  if (piece > 0) return in_pieces(*this, need, now);
  std::size_t best = places.size();
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] >= need && (best == places.size() || now[i] < now[best])) best = i;
  if (best < places.size()) {
    Amounts taken(places.size(), 0);
    taken[best] = need;
    return taken;
  }
  return whole_bands ? on_whole_bands(*this, need, now) : Amounts{};
}

RoomView::Amounts RoomView::held() const {
  Amounts sum(places.size(), 0);
  for (std::size_t i = 0; i < places.size(); ++i) sum[i] = places[i].all - places[i].free;
  return sum;
}

std::uint64_t RoomView::roomiest() const {
  std::uint64_t most = 0;
  for (const Place& place : places)
    if (place.open) most = std::max(most, place.free);
  return most;
}

void add_to(RoomView::Amounts& sum, const RoomView::Amounts& amounts) {
  if (sum.size() < amounts.size()) sum.resize(amounts.size(), 0);
  for (std::size_t i = 0; i < amounts.size(); ++i) sum[i] += amounts[i];
}

}  // namespace penstock::supervisor
