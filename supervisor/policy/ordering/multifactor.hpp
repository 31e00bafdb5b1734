// The multi-factor priority: a weighted sum of six factors from 0 to 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// All from 0 to 1. Spec: policy-flux 3.
struct Factors {
  double wait = 0;
  double fair_share = 0;
  double quality = 0;
  double level = 0;
  double size = 0;
  double user = 0;
};

/// The largest priority puts a job before all; the sum never reaches it, nor 0, which holds one.
inline constexpr std::int64_t kPriorityFirst = 4294967295;

/// A priority with its six terms, in the order of `Factors`; they add up to it before it is rounded.
struct PriorityTerms {
  std::int64_t priority = 0;
  double terms[6] = {};
};
PriorityTerms weigh(const Factors& factors, const FactorWeights& weights);
/// Half up, and kept between the two special values. Spec: policy-flux 2.
std::int64_t round_priority(double sum);

double wait_factor(double waited_s, double max_s);
/// `amount` of a machine of `whole`, in hosts or in the largest part of any resource.
double size_factor(double amount, double whole, SizeFavor favor);
double level_factor(double priority, double priority_max);
/// expedite 1, normal 0.5, standby 0. Error: NotFound.
Result<double> quality_factor(std::string_view level);
/// Users may only lower theirs. Error: InvalidArgument.
Result<double> user_factor(std::optional<double> wish, bool privileged);

/// The priorities of all workloads at `snapshot.now`. `capacity` is the measure of a workload's size, in slots.
std::vector<PriorityTerms> multifactor_priorities(const Snapshot& snapshot, const MultifactorOptions& options,
                                                  std::int64_t capacity);

}  // namespace penstock::policy
