// Bands by what has changed of them and what they have to give.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/core/index_set.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Finds bands that are to be filled, and bands from which idle ones may take work, without a look at all bands.
/// Writes `BandEntry::{dirty, ready_here, runnable, offers}` and the sets that follow from them.
/// Invariant: a band is in `with_ready` if subtasks that can run are kept for it at the supervisor.
/// Cost: constant for a change.
class BandIndices {
 public:
  explicit BandIndices(WorkerTable& workers) : workers_(workers) {}
  BandIndices(const BandIndices&) = delete;
  BandIndices& operator=(const BandIndices&) = delete;

  /// The band is filled before the event ends.
  void mark_dirty(BandSlot slot) {
    BandEntry& band = workers_[slot];
    if (band.dirty || !band.alive) return;
    band.dirty = true;
    dirty_.push_back(slot);
  }
  /// Runnable subtasks that are kept here for the band are more, or fewer.
  void change_ready(BandSlot slot, std::int32_t change);
  /// Runnable attempts that the band holds are more, or fewer. 0: see whether the band has too many now.
  void change_runnable(BandSlot slot, std::int32_t change) {
    BandEntry& band = workers_[slot];
    band.runnable += static_cast<std::uint32_t>(change);
    if (const bool excess = has_excess(band); excess != band.offers) offer(slot, excess);
  }
  /// Whether idle bands may ask for what the band holds.
  void offer(BandSlot slot, bool offers);
  /// Every band with excess offers it from now on.
  void offer_all();
  /// The band is going away: nothing of it is to be had.
  void close(BandSlot slot);

  /// Bands for which runnable subtasks are kept here.
  const IndexSet& with_ready() const { return with_ready_; }
  /// Bands that hold more runnable attempts than slots.
  const IndexSet& with_excess() const { return with_excess_; }
  /// Whether any band has something to give.
  bool none_to_take() const { return with_ready_.empty() && with_excess_.empty(); }

  /// Calls `fill` for every dirty band in the order in which they were marked. Filling one may mark others.
  template <class Fill>
  void fill_dirty(Fill fill) {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
      const BandSlot slot = dirty_[i];
      workers_[slot].dirty = false;
      if (workers_[slot].alive) fill(slot);
    }
    dirty_.clear();
  }

 private:
  static bool has_excess(const BandEntry& band) { return band.runnable > band.slots || band.blocked; }

  WorkerTable& workers_;
  std::vector<BandSlot> dirty_;
  IndexSet with_ready_;
  IndexSet with_excess_;
};

}  // namespace penstock::supervisor
