// The free slots on the bands where a job could be, and the holders of the rest. Pure; for `explain`.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Amounts are thousandths of slots.
struct RoomView {
  using Amounts = std::vector<std::uint64_t>;  ///< By place; missing places at the end are 0.
  struct Place {
    BandSlot band;  ///< None: of a worker that is not there.
    std::uint64_t all = 0;
    std::uint64_t free = 0;
    bool open = true;  ///< The band takes new work.
  };
  struct Holder {
    JobId job;
    Instant ends_by = kNever;  ///< By its time limit.
    Amounts places;            ///< The amount that it holds of each.
  };
  std::vector<Place> places;
  std::vector<Holder> holders;  ///< By their ends; unknown ones by their arrival.
  bool whole_bands = false;     ///< A need takes one place, or several empty ones of one size.
  std::uint64_t piece = 0;      ///< Not 0: it comes in pieces, each of which takes a place of its own.

  /// The amounts taken of each place for that need if `back` had come back; empty: there is no room for all of it at
  /// once. REQUIRES: need > 0.
  Amounts place(std::uint64_t need, const Amounts& back) const;
  bool fits(std::uint64_t need, const Amounts& back) const { return !place(need, back).empty(); }
  /// All that is held.
  Amounts held() const;
  /// Most that is free on one open place.
  std::uint64_t roomiest() const;
};

/// Adds place by place.
void add_to(RoomView::Amounts& sum, const RoomView::Amounts& amounts);

}  // namespace penstock::supervisor
