// The amounts that policy allows a job to hold.
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
  /// For a gang that waits until all its slots are reserved: the worker reserves these and answers, and nothing starts
  /// before a later message without a barrier. 0: none.
  std::uint64_t barrier = 0;
  /// By then the supervisor has given the barrier up, or counts an uninformed worker as lost.
  Duration barrier_max{0};
  MilliGpu gpu;  ///< Reserved with the slots, like the members below:
  Bytes device_memory;
  MilliCpu cpu;
  std::vector<NamedAmount> named;
  /// No plan makes room for processors, named amounts and the memory of members: the worker waits for these only so
  /// long, and then answers as soon as the slots are reserved.
  Duration patience{0};
  /// Of a band with several devices: thousandths of slots that runs of the job may hold on each. Empty: on any.
  std::vector<std::uint16_t> device_slots{};
  friend bool operator==(const Entitlement&, const Entitlement&) = default;
};

/// A published plan for one worker. An older version than the one in force is ignored.
struct EntitlementBatch {
  std::uint64_t version = 0;
  std::vector<Entitlement> entitlements;
  friend bool operator==(const EntitlementBatch&, const EntitlementBatch&) = default;
};

}  // namespace penstock
