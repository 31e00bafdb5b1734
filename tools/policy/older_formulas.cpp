#include "tools/policy/older_formulas.hpp"

#include <algorithm>
#include <cmath>

#include "supervisor/policy/ordering/multifactor.hpp"

namespace penstock::tools {

using policy::kPriorityFirst;

void UsageBins::rotate() {
  if (bins_.empty()) return;
  for (double& bin : bins_) bin *= decay_;
  std::rotate(bins_.begin(), bins_.end() - 1, bins_.end());
  bins_[0] = 0;
}

double UsageBins::total() const {
  double sum = 0;
  for (const double bin : bins_) sum += bin;
  return sum;
}

std::int64_t bin_count(double reset_period_s, double half_life_s) {
  return half_life_s <= 0 ? 1 : std::max<std::int64_t>(1, std::llround(std::floor(reset_period_s / half_life_s)));
}

double billable(const std::vector<BilledAmount>& amounts, Billing billing) {
  double sum = 0;
  double most = 0;
  for (const BilledAmount& each : amounts) {
    sum += each.amount * each.weight;
    most = std::max(most, each.amount * each.weight);
  }
  return billing == Billing::Sum ? sum : most;
}

std::int64_t raw_priority(const RawInputs& inputs, const RawWeights& weights) {
  constexpr std::int64_t kHold = 0;
  constexpr std::int64_t kNeutral = 16;
  constexpr std::int64_t kExpedite = 31;
  if (inputs.user == kHold) return kHold;
  if (inputs.user == kExpedite) return kPriorityFirst;
  const double sum = weights.fair_share * inputs.fair_share + weights.level * inputs.level +
                     weights.account * inputs.account + weights.user * static_cast<double>(inputs.user - kNeutral);
  // Below the priority that puts a job before all, which only its owner sets; cut before it is rounded to an integer.
  return std::llround(std::clamp(sum, 0.0, static_cast<double>(kPriorityFirst - 1)));
}

}  // namespace penstock::tools
