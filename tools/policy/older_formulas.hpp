// Formulas of older systems that reference cases state and no preset of Penstock uses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::tools {

/// Past use in periods: one bin for each, the newest first. Spec: policy-flux 6.2.
class UsageBins {
 public:
  UsageBins(std::vector<double> newest_first, double decay) : bins_(std::move(newest_first)), decay_(decay) {}

  /// A new period: all bins fade once, the oldest is dropped.
  void rotate();
  void charge(double amount) {
    if (!bins_.empty()) bins_[0] += amount;
  }
  double total() const;
  const std::vector<double>& bins() const { return bins_; }

 private:
  std::vector<double> bins_;
  double decay_;
};
std::int64_t bin_count(double reset_period_s, double half_life_s);

/// One resource of a charge.
struct BilledAmount {
  double amount = 0;
  double weight = 0;
};
enum class Billing : std::uint8_t {
  Sum,
  Max,  ///< Only the largest weighted amount counts.
};
/// The charge for a second.
double billable(const std::vector<BilledAmount>& amounts, Billing billing);

/// The priority as a sum over raw integers; 16 is neutral for a user. Spec: policy-flux 2.
struct RawInputs {
  double fair_share = 0;
  double level = 0;
  double account = 0;
  std::int64_t user = 16;
};
struct RawWeights {
  double fair_share = 100000;
  double level = 10000;
  double account = 0;
  double user = 1000;
};
std::int64_t raw_priority(const RawInputs& inputs, const RawWeights& weights);

}  // namespace penstock::tools
