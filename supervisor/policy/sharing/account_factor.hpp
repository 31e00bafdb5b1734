// The fair-share factor of every account and user: 1 under-served, 0.5 on share, 0 over-served.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

struct FactorOptions {
  FairShareFactor kind = FairShareFactor::Balanced;
  double lambda = 0.5;                ///< Balanced: part of the own usage against the account's.
  std::optional<double> usage_total;  ///< Decayed capacity; else the sum of all usage is the whole.
};

/// By position in `accounts`. Shares count among siblings, usage of an account is that of its users. An account without
/// shares has factor 0. REQUIRES: parents form no circle. Cost: O(n log n). Spec: policy-flux 5.
std::vector<double> account_factors(const std::vector<Account>& accounts, const FactorOptions& options);

/// Normalised shares and usage, as `explain` shows them.
struct AccountMeasure {
  double sibling_share = 0;   ///< Part of its parent's.
  double share = 0;           ///< Part of the whole.
  double usage = 0;           ///< Resource-seconds, descendants included.
  double sibling_usage = 0;   ///< Sum over itself and its siblings.
  double sibling_shares = 0;  ///< Sum of `share` over itself and its siblings.
};
std::vector<AccountMeasure> measure_accounts(const std::vector<Account>& accounts);

}  // namespace penstock::policy
