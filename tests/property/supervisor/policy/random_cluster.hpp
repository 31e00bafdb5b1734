// Random clusters of projects for properties of the quota policy.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/rng.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {

/// Whether requests may be odd: gangs, several devices (whole), and parts of devices too (any). Plain ones fit wherever
/// a device is free.
enum class Shapes : std::uint8_t { Plain, Whole, Any };

inline PolicyBuilder random_cluster(Rng& rng, Shapes shapes) {
  PolicyBuilder builder;
  std::int64_t devices = 0;
  for (std::uint64_t i = 0; i <= rng.below(4); ++i) {
    const std::int64_t here = rng.between(1, 5);
    builder.device_band(here);
    devices += here;
  }
  std::vector<std::uint32_t> projects;
  for (std::uint64_t i = 0; i <= rng.below(2); ++i) {
    const std::uint32_t department = builder.project("department" + std::to_string(i), 0);
    std::int64_t sum = 0;
    for (std::uint64_t k = 0; k <= rng.below(3); ++k) {
      const std::int64_t guaranteed = rng.between(0, std::min<std::int64_t>(4, devices));
      devices -= guaranteed;
      sum += guaranteed;
      projects.push_back(
          builder.project("p" + std::to_string(builder.snapshot.projects.size()), guaranteed, department));
      if (rng.chance(1, 2)) builder.snapshot.projects.back().shares[2].weight = rng.between(0, 3) * 1000;
      if (shapes != Shapes::Plain && rng.chance(1, 5))
        builder.snapshot.projects.back().shares[2].limit = (guaranteed + rng.between(0, 2)) * 1000;
    }
    builder.snapshot.projects[department].shares[2].guaranteed = sum * 1000;
    builder.snapshot.projects[department].shares[2].weight = 1000;
  }
  return builder;
}

inline void add_jobs(PolicyBuilder& builder, Rng& rng, Shapes shapes) {
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t i = 0; i < builder.snapshot.projects.size(); ++i)
    if (builder.snapshot.projects[i].parent != kNone) leaves.push_back(i);
  for (std::uint64_t i = 0; i < rng.below(6); ++i) {
    static constexpr std::int64_t kPriorities[] = {50, 75, 100};
    const std::string name = "job" + std::to_string(builder.snapshot.workloads.size());
    Workload& job = builder.job(name, leaves[rng.below(leaves.size())], kPriorities[rng.below(3)]);
    if (shapes == Shapes::Plain) {
      builder.wants(1);
      continue;
    }
    const int members = static_cast<int>(rng.between(1, 4));
    job.sets[0].min = rng.between(1, members);
    if (shapes == Shapes::Any && rng.chance(1, 3))
      for (int k = 0; k < members; ++k) builder.wants_part(rng.between(1, 10) * 100);
    else
      builder.wants(rng.between(1, 3), members);
  }
}

}  // namespace penstock::policy
