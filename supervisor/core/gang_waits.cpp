#include "supervisor/core/gang_waits.hpp"

#include <algorithm>

#include "supervisor/core/decimal_text.hpp"

namespace penstock::supervisor {
namespace {

std::string gave_back(const char* what, const char* setting, Duration wait, const char* why) {
  const auto milliseconds = static_cast<std::uint64_t>(wait / std::chrono::milliseconds{1});
  return std::string{"its gang gave "} + what + " back after `policy." + setting + "`, " + decimal_text(milliseconds) +
         " s: " + why;
}

}  // namespace

bool aborts_reservation(KindShare& share, std::uint64_t all, const std::vector<PromisedPlace>& held, Instant now,
                        Duration wait) {
  std::uint64_t sum = 0;
  for (const PromisedPlace& place : held) sum += place.milli;
  // A gang that wants nothing gives all back when this pass has ended. If the pass is given up, it still has its part.
  if (sum == 0 && share.demand == 0) return false;
  const bool incomplete = sum > 0 && sum < all;
  if (!incomplete || share.gang.incomplete_since == kNever) share.gang.incomplete_since = incomplete ? now : kNever;
  if (sum > 0 && !incomplete) share.gang.gave_back.clear();
  const bool to_others = incomplete && share.gang.lost_to_others;
  share.gang.lost_to_others = to_others;
  if (!incomplete || now < later(share.gang.incomplete_since, wait)) return false;
  share.gang.gave_back =
      gave_back("the rest of its places", "gang_wait", wait,
                to_others ? "others run on a part of them and may not leave" : "a part of them was lost with a worker");
  return true;
}

bool gives_promise_back(KindShare& share, Instant now, Duration wait, Duration grace) {
  if (share.promised.empty()) share.gang.promised_since = kNever;
  if (share.promised.empty()) return false;
  if (share.gang.promised_since == kNever) share.gang.promised_since = now;
  if (now < later(share.gang.promised_since, std::max(wait, grace))) return false;
  share.promised.clear();
  share.gang.promised_since = kNever;
  share.gang.gave_back = gave_back("its promised places", wait < grace ? "grace" : "gang_wait", std::max(wait, grace),
                                   "others had not left all of them");
  return true;
}

}  // namespace penstock::supervisor
