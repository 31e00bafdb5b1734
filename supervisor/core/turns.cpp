#include "supervisor/core/turns.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

/// Not a setting: beyond 65,536 times `starvation_after` nothing doubles any more.
constexpr std::uint8_t kTurnsMax = 17;

}  // namespace

void note_turn(KindShare& share, bool holds, bool wants, bool kept_from, Instant now, Duration starvation_after,
               std::uint64_t ended_runs) {
  if (!holds) {
    share.since.holds = kNever;
    share.since.has_turn = false;
    if (wants && share.since.waits == kNever) share.since.waits = now;
    if (!wants && !kept_from) share.since.waits = kNever;
    return;
  }
  if (share.since.holds == kNever) {
    share.since.holds = now;
    const bool waited = share.since.waits != kNever && now >= later(share.since.waits, starvation_after);
    share.since.has_turn = waited && starvation_after > Duration{0};
    if (share.since.has_turn) {
      // Fewer have ended when outputs are lost and made again.
      const bool goes_on = share.since.turns > 0 && ended_runs <= share.since.ended_runs;
      share.since.turns = goes_on ? std::min<std::uint8_t>(share.since.turns + 1, kTurnsMax) : 1;
      share.since.ended_runs = ended_runs;
    }
  }
  share.since.waits = kNever;
}

bool is_in_turn(const KindShare& share, Instant now, Duration starvation_after) {
  if (!share.since.has_turn || share.since.holds == kNever) return false;
  const std::int64_t times = std::int64_t{1} << (share.since.turns - 1);
  return (now - share.since.holds) / times < starvation_after;
}

}  // namespace penstock::supervisor
