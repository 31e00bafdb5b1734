// Past use that decays: resource-seconds with a half-life, exact however charges are cut.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::policy {

/// One tally. Times are seconds on any common line. Partial tallies of many workers add up in any order.
/// Spec: policy-flux 6.1.
class UsageTally {
 public:
  /// A half-life of 0 forgets nothing.
  explicit UsageTally(double half_life_s, double value = 0, double at_s = 0)
      : half_life_s_(half_life_s), value_(value), at_s_(at_s) {}

  /// Goes on to `at_s`; never back.
  void advance(double at_s);
  void charge(double amount, double at_s);
  /// `rate` from `from_s` to `to_s`, as if charged in infinitely small parts.
  void charge_rate(double rate, double from_s, double to_s);
  /// Adds a tally of the same half-life.
  void merge(const UsageTally& other);

  double value() const { return value_; }
  double value_at(double at_s) const;

 private:
  double half_life_s_;
  double value_;
  double at_s_;
};

/// The rest of 1 after `seconds`.
double decay_factor(double seconds, double half_life_s);

/// The older form in periods: one bin for each, the newest first. Spec: policy-flux 6.2.
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

}  // namespace penstock::policy
