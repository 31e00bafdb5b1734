// Random clusters of projects for properties of the quota policy.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/rng.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {

/// Whether requests may be odd: gangs, several devices (whole), and parts of devices too (any). Plain ones fit wherever
/// a device is free. Parts: any, and processors and memory are short as well, and guaranteed.
enum class Shapes : std::uint8_t { Plain, Whole, Any, Parts };

/// So that of one device there are so much of the others on most bands.
inline constexpr std::int64_t kCpuOfADevice = 4000;
inline constexpr std::int64_t kMemoryOfADevice = 1000;

/// A quarter of the bands has no devices; each project is guaranteed about as much of all as it is of devices, or has a
/// limit.
inline void divide_all_resources(PolicyBuilder& builder, Rng& rng) {
  for (Band& band : builder.snapshot.bands) {
    if (rng.chance(1, 4)) band.capacity.gpu = 0;
    band.capacity.cpu = band.slots * kCpuOfADevice;
    band.capacity.memory = band.slots * kMemoryOfADevice + rng.between(-1, 2) * kMemoryOfADevice / 2;
  }
  for (Project& project : builder.snapshot.projects) {
    if (project.parent == kNone) continue;
    const std::int64_t devices = project.shares[2].guaranteed / 1000;
    project.shares[0] = {.guaranteed = devices * kCpuOfADevice, .weight = rng.between(0, 2) * 1000};
    project.shares[1] = {.guaranteed = devices * kMemoryOfADevice, .weight = rng.between(0, 2) * 1000};
    for (std::size_t resource = 0; resource < 2; ++resource)
      if (rng.chance(1, 6))
        project.shares[resource].limit = project.shares[resource].guaranteed + rng.between(0, 2) * 1000;
  }
  for (std::uint32_t department = 0; department < builder.snapshot.projects.size(); ++department) {
    if (builder.snapshot.projects[department].parent != kNone) continue;
    for (std::size_t resource = 0; resource < 2; ++resource) {
      std::int64_t sum = 0;
      for (const Project& part : builder.snapshot.projects)
        if (part.parent == department) sum += part.shares[resource].guaranteed;
      builder.snapshot.projects[department].shares[resource] = {.guaranteed = sum, .weight = 1000};
    }
  }
}

/// A whole device or none, or a part of one, with as much of the others or more or less.
inline void wants_some_of_all(PolicyBuilder& builder, Rng& rng, int members) {
  const bool part = rng.chance(1, 3);
  const std::int64_t devices = part ? 0 : rng.between(0, 2);
  const std::int64_t share = rng.between(1, 10) * 100;
  const std::int64_t cpu = rng.between(0, 2) * kCpuOfADevice / 2 + 500;
  const std::int64_t memory = rng.between(0, 3) * kMemoryOfADevice / 2 + 100;
  for (int i = 0; i < members; ++i) {
    if (part)
      builder.wants_part(share);
    else
      builder.wants(devices);
    builder.last_member().request.cpu = cpu;
    builder.last_member().request.memory = memory;
  }
}

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
    if (rng.chance(1, 4)) builder.snapshot.projects[department].shares[2].limit = (sum + rng.between(0, 2)) * 1000;
  }
  if (shapes == Shapes::Parts) divide_all_resources(builder, rng);
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
    if (shapes == Shapes::Parts)
      wants_some_of_all(builder, rng, members);
    else if (shapes == Shapes::Any && rng.chance(1, 3))
      for (int k = 0; k < members; ++k) builder.wants_part(rng.between(1, 10) * 100);
    else
      builder.wants(rng.between(1, 3), members);
  }
}

}  // namespace penstock::policy
