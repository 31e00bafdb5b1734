// The fair shares that the manual promises to jobs of single subtasks, for tests that compare them with what runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

/// The demand of one job, in slots, and its weight.
struct WeighedDemand {
  std::int64_t slots = 1;
  double weight = 1;
};

/// Shares in parts of slots: in proportion to weight and demand, one slot at least and the demand at most, all slots
/// together. Spec: policy-determined 3.1. REQUIRES: `slots` is at least the number of jobs.
inline std::vector<double> shares_by_demand(const std::vector<WeighedDemand>& jobs, std::int64_t slots) {
  std::int64_t wanted = 0;
  for (const WeighedDemand& job : jobs) wanted += job.slots;
  const auto all = static_cast<double>(std::min(wanted, slots));
  std::vector<double> shares(jobs.size(), 0);
  double low = 0;
  double high = 1e6;
  for (int round = 0; round < 200; ++round) {
    const double lambda = (low + high) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto most = static_cast<double>(jobs[i].slots);
      shares[i] = std::clamp(lambda * jobs[i].weight * most, 1.0, most);
      sum += shares[i];
    }
    (sum < all ? low : high) = lambda;
  }
  return shares;
}

}  // namespace penstock
