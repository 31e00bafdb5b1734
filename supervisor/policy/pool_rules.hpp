// Decisions about pools and bands before any pass: routing, shapes, reconnecting, elastic size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::policy {

/// The pool that a request goes to when it names none. Spec: policy-determined 9.1.
struct PoolDefaults {
  std::string light;    ///< For requests without slots.
  std::string compute;  ///< For all others.
};
const std::string& route(const PoolDefaults& defaults, const std::string& named, std::int64_t slots);

/// Whether a gang of `slots` can be cut into equal parts of at most `slots_per_part_max`. Spec: policy-determined 10.1.
Result<void> check_gang_shape(std::int64_t slots, std::int64_t slots_per_part_max);

/// Whether the priority of a running job may change: only of one that may be started again. Spec:
/// policy-determined 5.6.
Result<void> check_priority_change(bool preemptible);

/// One device as a worker reports it.
struct DeviceRecord {
  std::int64_t id = 0;
  std::string brand;
  std::string uuid;
  std::string type;
  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

/// A worker that comes back must be in the pool and have the devices that it had. Spec: policy-determined 9.4.
Result<void> check_pool_unchanged(const std::string& known, const std::string& reported);
Result<void> check_devices_unchanged(const std::vector<DeviceRecord>& known, const std::vector<DeviceRecord>& reported);

/// One request to a pool that grows and shrinks.
struct DesiredRequest {
  std::uint32_t workload = 0;
  std::int64_t slots = 0;
  bool waits = true;
};

/// How many workers the waiting requests call for. `slots_max` caps each workload (by position, negative: no cap);
/// empty applies none. Spec: policy-determined 9.6.
struct WorkerShape {
  std::int64_t slots = 0;
  std::int64_t light_places = 0;
};
std::int64_t desired_workers(const std::vector<DesiredRequest>& requests, const std::vector<std::int64_t>& slots_max,
                             const WorkerShape& shape);

}  // namespace penstock::policy
