#include "supervisor/policy/backfill_profile.hpp"

#include <algorithm>

namespace penstock::policy {

AvailabilityProfile::AvailabilityProfile(Instant now, std::int64_t free_now) : steps_{{now, free_now}} {}

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

void AvailabilityProfile::free_at(Instant when, std::int64_t slots) {
  // Who is past his limit ends at any moment, but not in the past.
  const Instant from = std::max(when, later(steps_.front().from, Duration{1}));
  if (from == kNever) return;
  for (std::size_t i = step_at(from); i < steps_.size(); ++i) steps_[i].free += slots;
}

void AvailabilityProfile::occupy(Instant from, Duration length, std::int64_t slots) {
  const Instant end = later(from, length);
  const std::size_t first = step_at(from);
  const std::size_t last = end == kNever ? steps_.size() : step_at(end);
  for (std::size_t i = first; i < last; ++i) steps_[i].free -= slots;
}

Instant AvailabilityProfile::earliest(std::int64_t slots, Duration length) const {
  for (std::size_t first = 0; first < steps_.size(); ++first) {
    const Instant end = later(steps_[first].from, length);
    std::size_t i = first;
    while (i < steps_.size() && steps_[i].from < end && steps_[i].free >= slots) ++i;
    if (i == steps_.size() || steps_[i].from >= end) return steps_[first].from;
    first = i;  // Nothing that begins before the shortage can last.
  }
  return kNever;
}

}  // namespace penstock::policy
