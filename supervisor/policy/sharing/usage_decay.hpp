// Past use that decays: resource-seconds with a half-life, exact however charges are cut.
#pragma once

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

}  // namespace penstock::policy
