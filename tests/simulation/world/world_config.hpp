// The settings of a simulated cluster.
#pragma once

#include "common/base/rng.hpp"
#include "common/protocol/config.hpp"
#include "tests/simulation/world/options.hpp"

namespace penstock::simulation {

/// The settings of all parts of one world, drawn from its seed.
struct WorldConfig {
  WorldConfig(const WorldOptions& options, Rng& r);

  LinkConfig link;
  WorkerConfig worker;
  SupervisorConfig supervisor;
  bool has_devices = false;  ///< Each worker has one, of which jobs take parts.
  bool has_rules = false;    ///< The policy has levels of service, queues and limits, and operators hold jobs.

 private:
  void draw_policy_parts(const WorldOptions& options);
};

}  // namespace penstock::simulation
