#include "supervisor/core/usage.hpp"

#include <algorithm>

#include "supervisor/policy/sharing/usage_decay.hpp"

namespace penstock::supervisor {
namespace {

constexpr double kMicroseconds = 1e6;
/// A tally below this for each resource changes no order: it is forgotten.
constexpr double kForgottenBelow = 1e-6;

std::uint64_t weighted(std::uint64_t amount, std::int64_t weight, std::uint64_t per_unit) {
  return amount * static_cast<std::uint64_t>(weight) / per_unit;
}

bool is_nothing(const UsedSeconds& used) {
  return std::all_of(used.begin(), used.end(), [](double each) { return each < kForgottenBelow; });
}

}  // namespace

UsedRate used_rate(const Template& wanted, const UsageConfig& weights) {
  const auto slots = static_cast<std::uint64_t>(std::max<std::int64_t>(wanted.request.slots.value(), 1));
  const auto mib = static_cast<std::uint64_t>(std::max<std::int64_t>(wanted.request.memory.value(), 0)) >> 20U;
  const bool on_device = wants_gpu(wanted);
  const std::uint64_t most = std::max(weighted(slots, on_device ? weights.gpu : weights.cpu, 1000),
                                      weighted(mib, weights.memory, 1024));
  return {on_device ? 0 : slots, on_device ? slots : 0, mib, most};
}

void add(UsedRate& sum, const UsedRate& rate) {
  for (std::size_t i = 0; i < kUsedKinds; ++i) sum[i] += rate[i];
}

void subtract(UsedRate& sum, const UsedRate& rate) {
  for (std::size_t i = 0; i < kUsedKinds; ++i) sum[i] -= rate[i];
}

UsedSeconds seconds_of(const std::array<double, kUsedKinds>& rate_us) {
  return {rate_us[0] / 1000 / kMicroseconds, rate_us[1] / 1000 / kMicroseconds, rate_us[2] / 1024 / kMicroseconds,
          rate_us[3] / 1000 / kMicroseconds};
}

void UsageTable::charge(const Key& whom, const UsedSeconds& amounts) {
  if (std::all_of(amounts.begin(), amounts.end(), [](double each) { return each == 0; })) return;
  auto found = tallies_.find(whom);
  if (found == tallies_.end())
    found = tallies_.try_emplace({whom.first, tallies_.size() < kUsersChargedMax ? whom.second : kUsersTogether}).first;
  for (std::size_t i = 0; i < kUsedKinds; ++i) found->second[i] += amounts[i];
}

void UsageTable::fade(double left) {
  for (auto& [of, used] : tallies_)
    for (double& each : used) each *= left;
  std::erase_if(tallies_, [](const auto& each) { return is_nothing(each.second); });
}

double left_after(Duration passed, Duration half_life) {
  const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
  return policy::decay_factor(seconds(passed), seconds(half_life));
}

double billed(const UsedSeconds& used, const UsageConfig& weights) {
  if (weights.billing == "max") return used[static_cast<std::size_t>(Used::Most)];
  return (used[0] * static_cast<double>(weights.cpu) + used[1] * static_cast<double>(weights.gpu) +
          used[2] * static_cast<double>(weights.memory)) /
         1000;
}

}  // namespace penstock::supervisor
