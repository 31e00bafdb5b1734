#include "supervisor/policy/backfill_profile.hpp"

#include <algorithm>

namespace penstock::policy {

AvailabilityProfile::AvailabilityProfile(Instant now, std::int64_t free_now, std::vector<SlotsReturn> returns,
                                         Duration overrun)
    : steps_{{now, free_now}} {
  for (SlotsReturn& each : returns)
    if (each.at <= now) each.at = later(now, overrun);
  std::sort(returns.begin(), returns.end(), [](const SlotsReturn& a, const SlotsReturn& b) { return a.at < b.at; });
  for (const SlotsReturn& each : returns) {
    if (each.at == kNever) break;
    if (steps_.back().from < each.at) steps_.push_back({each.at, steps_.back().free});
    steps_.back().free += each.slots;
  }
}

/// Makes a step begin exactly then.
std::size_t AvailabilityProfile::step_at(Instant when) {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), when,
                                      [](Instant time, const Step& step) { return time < step.from; });
  const auto before = after - 1;
  if (before->from == when) return static_cast<std::size_t>(before - steps_.begin());
  const Step split{when, before->free};
  const auto position = static_cast<std::size_t>(after - steps_.begin());
  steps_.insert(after, split);
  return position;
}

void AvailabilityProfile::occupy(Instant from, Duration length, std::int64_t slots) {
  const Instant end = later(from, length);
  const std::size_t first = step_at(from);
  const std::size_t last = end == kNever ? steps_.size() : step_at(end);
  for (std::size_t i = first; i < last; ++i) steps_[i].free -= slots;
}

/// The first step with too few slots for a run that begins in `step`; past the end if there is none.
std::size_t AvailabilityProfile::first_shortage(std::size_t step, Instant begin, std::int64_t slots,
                                                Duration length) const {
  const Instant end = later(begin, length);
  for (std::size_t i = step; i < steps_.size() && steps_[i].from < end; ++i)
    if (steps_[i].free < slots) return i;
  return steps_.size();
}

Instant AvailabilityProfile::earliest(std::int64_t slots, Duration length, Instant not_before) const {
  std::size_t first = 0;
  while (first + 1 < steps_.size() && steps_[first + 1].from <= not_before) ++first;
  while (first < steps_.size()) {
    const Instant begin = std::max(steps_[first].from, not_before);
    const std::size_t shortage = first_shortage(first, begin, slots, length);
    if (shortage == steps_.size()) return begin;
    first = shortage + 1;  // Nothing that begins before the shortage can last.
  }
  return kNever;
}

}  // namespace penstock::policy
