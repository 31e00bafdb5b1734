#include "supervisor/policy/actions/limit_relief.hpp"

#include <algorithm>

namespace penstock::policy {
namespace {

/// On a band, a part of a device that is asked for as memory counts in steps of this.
constexpr std::int64_t kStepOfAPart = 10;

bool is_excess(const Resources& excess) { return excess.cpu > 0 || excess.memory > 0 || excess.gpu > 0; }

}  // namespace

LimitRelief::LimitRelief(const Trial& trial, std::uint32_t project, const Resources& amount)
    : owners_(&trial.owners()) {
  for (std::uint32_t at = project; at != kNone; at = (*owners_)[at].parent) {
    Level level{at, {}};
    for (std::size_t resource = 0; resource < kResources; ++resource) {
      const OwnedAmount& owned = (*owners_)[at].of[resource];
      if (amount.of(resource) > 0 && owned.limit != kUnlimited)
        level.excess.of(resource) = owned.allocated + amount.of(resource) - owned.limit;
    }
    if (is_excess(level.excess)) levels_.push_back(level);
  }
}

bool LimitRelief::is_below(std::uint32_t project, std::uint32_t owner) const {
  for (std::uint32_t at = project; at != kNone; at = (*owners_)[at].parent)
    if (at == owner) return true;
  return false;
}

bool LimitRelief::is_helped_by(std::uint32_t project, const Resources& amount) const {
  return std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) {
    bool less = false;
    for (std::size_t resource = 0; resource < kResources; ++resource)
      less = less || (level.excess.of(resource) > 0 && amount.of(resource) > 0);
    return less && is_below(project, level.owner);
  });
}

void LimitRelief::take(std::uint32_t project, const Resources& amount) {
  for (Level& level : levels_)
    if (is_below(project, level.owner)) level.excess -= amount;
  std::erase_if(levels_, [](const Level& level) { return !is_excess(level.excess); });
}

Resources amount_at_most(const Trial& trial, std::uint32_t member) {
  Resources amount = trial.amount(member, kNone);
  const Member& source = trial.snapshot().members[member];
  if (source.device_memory_mib > 0) amount.gpu += kStepOfAPart * source.devices;
  return amount;
}

}  // namespace penstock::policy
