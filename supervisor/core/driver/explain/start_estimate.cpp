#include "supervisor/core/driver/explain/start_estimate.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

struct End {
  Duration at{0};
  std::size_t holder = 0;  ///< Beyond the last holder: of a job that has started meanwhile.
  RoomView::Amounts places;
};

void give_back(RoomView& room, const RoomView::Amounts& places) {
  for (std::size_t i = 0; i < places.size(); ++i)
    room.places[i].free = std::min(room.places[i].all, room.places[i].free + places[i]);
}

}  // namespace

StartEstimate estimate_start(RoomView room, const std::vector<std::optional<Duration>>& ends_in,
                             const std::vector<WaitingForRoom>& waiting) {
  StartEstimate estimate;
  std::vector<End> ends;
  for (std::size_t i = 0; i < room.holders.size(); ++i) {
    if (i < ends_in.size() && ends_in[i].has_value())
      ends.push_back({std::max(*ends_in[i], Duration{0}), i, room.holders[i].places});
    else
      estimate.unsure.push_back(i);
  }
  const std::size_t holders = room.holders.size();
  Duration now{0};
  for (std::size_t next = 0;;) {
    const WaitingForRoom& first = waiting[next];
    room.whole_bands = first.whole_bands;
    room.piece = first.piece;
    if (const RoomView::Amounts taken = room.place(first.need, {}); !taken.empty()) {
      if (next + 1 == waiting.size()) {
        estimate.within = now;
        return estimate;
      }
      for (std::size_t i = 0; i < taken.size(); ++i) room.places[i].free -= taken[i];
      if (first.runs_for.has_value()) ends.push_back({now + *first.runs_for, holders + next, taken});
      ++next;
      continue;
    }
    const auto soonest = std::min_element(ends.begin(), ends.end(), [](const End& a, const End& b) {
      return a.at != b.at ? a.at < b.at : a.holder < b.holder;
    });
    if (soonest == ends.end()) return estimate;
    now = soonest->at;
    give_back(room, soonest->places);
    if (soonest->holder < holders) estimate.after.push_back(soonest->holder);
    ends.erase(soonest);
  }
}

std::optional<Duration> rest_of(const Progress& progress) {
  const auto& [ended, run_us, left, at_once] = progress;
  if (ended < kEndedLeast || ended * kEndedPart < ended + left || at_once == 0) return std::nullopt;
  const double each = static_cast<double>(run_us) / static_cast<double>(ended);
  const double rest_us = each * static_cast<double>(left) / static_cast<double>(at_once);
  if (rest_us > 1e15) return std::nullopt;  // Thirty years are no estimate.
  return std::chrono::microseconds{static_cast<std::int64_t>(rest_us)};
}

}  // namespace penstock::supervisor
