#include "supervisor/core/turns.hpp"

namespace penstock::supervisor {

void note_turn(KindShare& share, bool holds, bool wants, bool kept_from, Instant now, Duration starvation_after) {
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
  }
  share.since.waits = kNever;
}

bool is_in_turn(const KindShare& share, Instant now, Duration starvation_after) {
  return share.since.has_turn && share.since.holds != kNever && now < later(share.since.holds, starvation_after);
}

}  // namespace penstock::supervisor
