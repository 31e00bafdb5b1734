// The settings of a simulated cluster.
#pragma once

#include "common/base/rng.hpp"
#include "common/protocol/config.hpp"
#include "tests/simulation/world/options.hpp"

namespace penstock::simulation {

/// Of one device.
inline constexpr Bytes kDeviceMemory = kGiB * 8;

/// The settings of all parts of one world, drawn from its seed.
struct WorldConfig {
  WorldConfig(const WorldOptions& options, Rng& r);

  LinkConfig link;
  WorkerConfig worker;
  SupervisorConfig supervisor;
  std::uint32_t devices = 0;  ///< Of each worker, in one band; jobs take parts of them, or several.
  bool has_rules = false;     ///< The policy has levels of service, queues and limits, and operators hold jobs.

 private:
  void draw_policy_parts(const WorldOptions& options);
};

}  // namespace penstock::simulation
