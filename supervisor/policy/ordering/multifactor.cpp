#include "supervisor/policy/ordering/multifactor.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "supervisor/policy/sharing/account_factor.hpp"

namespace penstock::policy {

std::int64_t round_priority(double sum) {
  if (!(sum > 1)) return 1;
  return std::min(static_cast<std::int64_t>(std::floor(std::min(sum, 1e18) + 0.5)), kPriorityFirst - 1);
}

PriorityTerms weigh(const Factors& factors, const FactorWeights& weights) {
  PriorityTerms all;
  const double parts[6][2] = {{weights.wait, factors.wait},       {weights.fair_share, factors.fair_share},
                              {weights.quality, factors.quality}, {weights.level, factors.level},
                              {weights.size, factors.size},       {weights.user, factors.user}};
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i) sum += all.terms[i] = parts[i][0] * parts[i][1];
  all.priority = round_priority(sum);
  return all;
}

double wait_factor(double waited_s, double max_s) { return max_s <= 0 ? 0 : std::clamp(waited_s / max_s, 0.0, 1.0); }

double size_factor(double amount, double whole, SizeFavor favor) {
  if (favor == SizeFavor::Large) return whole <= 0 ? 0 : std::clamp(amount / whole, 0.0, 1.0);
  if (amount <= 1 || whole <= 1) return 1;
  return std::clamp(1 - (amount - 1) / (whole - 1), 0.0, 1.0);
}

double level_factor(double priority, double priority_max) {
  return priority_max <= 0 ? 0 : std::clamp(priority / priority_max, 0.0, 1.0);
}

Result<double> quality_factor(std::string_view level) {
  if (level == "expedite") return 1.0;
  if (level == "normal" || level.empty()) return 0.5;
  if (level == "standby") return 0.0;
  return Error{ErrorCode::NotFound, std::string{level}, "there is no such level of service",
               "use expedite, normal or standby"};
}

Result<double> user_factor(std::optional<double> wish, bool privileged) {
  if (!wish) return 1.0;
  if (!(*wish >= 0)) return Error{ErrorCode::InvalidArgument, {}, "a user factor is out of range", "use 0 to 1"};
  if (*wish > 1 && !privileged)
    return Error{ErrorCode::InvalidArgument, {}, "users may only lower their factor", "use 0 to 1"};
  return std::min(*wish, 1.0);
}

std::vector<PriorityTerms> multifactor_priorities(const Snapshot& snapshot, const MultifactorOptions& options,
                                                  std::int64_t capacity) {
  const std::vector<double> fair_share =
      account_factors(snapshot.accounts, {options.factor, options.lambda, std::nullopt});
  std::vector<std::int64_t> sizes(snapshot.workloads.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max<std::int64_t>(snapshot.workloads[i].size, 0);
  for (const Member& member : snapshot.members) sizes[member.workload] = std::max(sizes[member.workload], member.slots);
  std::vector<PriorityTerms> all;
  for (std::size_t i = 0; i < snapshot.workloads.size(); ++i) {
    const Workload& workload = snapshot.workloads[i];
    const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
    Factors factors;
    factors.wait = wait_factor(seconds(snapshot.now - workload.submitted_at), seconds(options.wait_max));
    factors.fair_share = workload.account == kNone ? 0.5 : fair_share[workload.account];
    factors.quality = std::clamp(workload.quality_factor, 0.0, 1.0);
    factors.level = std::clamp(workload.level_factor, 0.0, 1.0);
    factors.size = size_factor(static_cast<double>(sizes[i]), static_cast<double>(capacity), options.favor);
    factors.user = std::clamp(workload.user_factor, 0.0, 1.0);
    all.push_back(weigh(factors, options.weights));
  }
  return all;
}

}  // namespace penstock::policy
