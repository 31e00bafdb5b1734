#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {

void BandIndices::change_ready(BandSlot slot, std::int32_t change) {
  BandEntry& band = workers_[slot];
  const bool had_some = band.ready_here > 0;
  band.ready_here += static_cast<std::uint32_t>(change);
  if (const bool has_some = band.ready_here > 0; has_some != had_some) {
    if (has_some)
      with_ready_.insert(slot.value());
    else
      with_ready_.erase(slot.value());
  }
  if (change > 0) mark_dirty(slot);
}

void BandIndices::offer(BandSlot slot, bool offers) {
  workers_[slot].offers = offers;
  if (offers)
    with_excess_.insert(slot.value());
  else
    with_excess_.erase(slot.value());
}

void BandIndices::offer_all() {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (band.alive && !band.offers && has_excess(band)) offer(BandSlot{i}, true);
  }
}

void BandIndices::close(BandSlot slot) {
  with_ready_.erase(slot.value());
  workers_[slot].blocked = false;  // Else the band would be offered again as its attempts leave.
  offer(slot, false);
}

}  // namespace penstock::supervisor
