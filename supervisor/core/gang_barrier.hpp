// Where a gang waits that has been given all its slots, until workers hold all of them for it. Decision 0016.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Passive; `GangBarriers` moves it. Always true: a gang that has begun waits at none.
struct GangBarrier {
  std::uint64_t number = 0;       ///< Workers answer to it; unique in this term. 0: the gang waits at no barrier.
  bool open = false;              ///< The gang has begun,
  std::uint64_t opened = 0;       ///< because all was held for this one; 0: for another reason, or that was given back.
  Instant since = kNever;         ///< The gang waits,
  Instant until = kNever;         ///< no longer than this; a reload does not move it;
  std::vector<bool> held;         ///< and these bands, by slot, hold their part.
  std::uint32_t missing = 0;      ///< At least so many do not, as of when all were looked at last.
  bool reported = false;          ///< Workers keep slots for it and do not know yet that it is over.
  std::uint64_t backs_off_through = 0;  ///< Nothing that passes up to this one give it counts: others come first.

  bool waits() const { return number != 0; }
  bool is_held(BandSlot band) const { return band.value() < held.size() && held[band.value()]; }
  /// Half of its time: resources that no plan counts are not waited for any longer.
  Instant halfway() const { return since + (until - since) / 2; }
  /// Whether these may have been the last.
  bool now_held(BandSlot band) {
    if (held.size() <= band.value()) held.resize(band.value() + 1);
    held[band.value()] = true;
    missing -= missing > 0 ? 1 : 0;
    return missing == 0;
  }
  void begin(std::uint64_t anew, Instant now, Instant end) {
    number = anew;
    reported = true;
    open = false;
    opened = 0;
    missing = 0;
    since = now;
    until = end;
    held.clear();
  }
  /// The gang asks for other slots: earlier answers are void, also if it asks for the same once more.
  void ask_anew(std::uint64_t anew) {
    number = anew;
    reported = true;
    missing = 0;
    held.clear();
  }
  /// All is held. A worker that later gives up its part of this very barrier takes it from under the gang.
  void open_as_held() {
    const std::uint64_t held_for = number;
    end(true);
    reported = false;
    opened = held_for;
  }
  void end(bool opens) {
    opened = 0;
    number = 0;
    open = opens;
    since = until = kNever;
    held.clear();
  }
};

}  // namespace penstock::supervisor
