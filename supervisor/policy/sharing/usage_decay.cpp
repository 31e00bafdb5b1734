#include "supervisor/policy/sharing/usage_decay.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace penstock::policy {

double decay_factor(double seconds, double half_life_s) {
  return half_life_s <= 0 ? 1 : std::exp2(-seconds / half_life_s);
}

void UsageTally::advance(double at_s) {
  if (at_s <= at_s_) return;
  value_ *= decay_factor(at_s - at_s_, half_life_s_);
  at_s_ = at_s;
}

void UsageTally::charge(double amount, double at_s) {
  // An amount that is charged late has decayed already.
  const double faded = at_s < at_s_ ? amount * decay_factor(at_s_ - at_s, half_life_s_) : amount;
  advance(at_s);
  value_ += faded;
}

void UsageTally::charge_rate(double rate, double from_s, double to_s) {
  if (to_s <= from_s) return;
  const double seconds = to_s - from_s;
  const double exponent = std::numbers::ln2 / half_life_s_;
  // expm1: exact for intervals that are short against the half-life.
  charge(half_life_s_ <= 0 ? rate * seconds : rate * -std::expm1(-seconds * exponent) / exponent, to_s);
}

void UsageTally::merge(const UsageTally& other) { charge(other.value_, other.at_s_); }

double UsageTally::value_at(double at_s) const {
  return value_ * decay_factor(std::max(0.0, at_s - at_s_), half_life_s_);
}

}  // namespace penstock::policy
