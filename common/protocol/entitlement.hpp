// What policy allows a job to hold.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/base/units.hpp"
#include "common/protocol/resources.hpp"

namespace penstock {

/// The slots of one band that one job may hold now.
struct Entitlement {
  JobId job;
  BandIndex band;
  MilliSlots slots = MilliSlots::max();  ///< `max()`: not limited by policy.
  std::int32_t fair_rank = 0;            ///< Among jobs of equal priority, smaller goes first.
  /// Of a gang that waits until all its slots are held for it: these are reserved and answered for, and nothing starts
  /// before they are said again without one. 0: none.
  std::uint64_t barrier = 0;
  Duration barrier_max{0};  ///< The supervisor has given it up by then, or counts who has not heard so as lost.
  MilliGpu gpu;             ///< Reserved with the slots, and so is this:
  Bytes device_memory;
  MilliCpu cpu;
  std::vector<NamedAmount> named;
  /// No plan sees to it that others leave processors, named amounts and the memory that members need: who does not hold
  /// these after so long answers for the rest.
  Duration patience{0};
  friend bool operator==(const Entitlement&, const Entitlement&) = default;
};

/// A published plan for one worker. An older version than the one in force is ignored.
struct EntitlementBatch {
  std::uint64_t version = 0;
  std::vector<Entitlement> entitlements;
  friend bool operator==(const EntitlementBatch&, const EntitlementBatch&) = default;
};

}  // namespace penstock
