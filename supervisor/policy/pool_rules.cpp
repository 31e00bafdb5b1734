#include "supervisor/policy/pool_rules.hpp"

#include <algorithm>

namespace penstock::policy {

const std::string& route(const PoolDefaults& defaults, const std::string& named, std::int64_t slots) {
  if (!named.empty()) return named;
  return slots == 0 ? defaults.light : defaults.compute;
}

Result<void> check_gang_shape(std::int64_t slots, std::int64_t slots_per_part_max) {
  if (slots <= slots_per_part_max || (slots_per_part_max > 0 && slots % slots_per_part_max == 0)) return {};
  return Error{ErrorCode::InvalidArgument,
               {},
               "a gang of " + std::to_string(slots) + " slots has no equal parts of at most " +
                   std::to_string(slots_per_part_max),
               "ask for a multiple of " + std::to_string(slots_per_part_max)};
}

Result<void> check_priority_change(bool preemptible) {
  if (preemptible) return {};
  return Error{ErrorCode::WrongState,
               {},
               "a job that may not be preempted keeps the priority it started with",
               "submit it again"};
}

Result<void> check_pool_unchanged(const std::string& known, const std::string& reported) {
  if (known == reported) return {};
  return Error{ErrorCode::WrongState, reported, "resource pool has changed: it was '" + known + "'",
               "restart the worker"};
}

Result<void> check_devices_unchanged(const std::vector<DeviceRecord>& known,
                                     const std::vector<DeviceRecord>& reported) {
  if (known.size() != reported.size())
    return Error{ErrorCode::WrongState,
                 {},
                 "device count has changed: " + std::to_string(known.size()) + " were known, " +
                     std::to_string(reported.size()) + " are reported",
                 "restart the worker"};
  for (const DeviceRecord& device : known)
    if (std::find(reported.begin(), reported.end(), device) == reported.end())
      return Error{ErrorCode::WrongState, device.uuid, "device properties have changed", "restart the worker"};
  return {};
}

std::int64_t desired_workers(const std::vector<DesiredRequest>& requests, const std::vector<std::int64_t>& slots_max,
                             const WorkerShape& shape) {
  std::int64_t light = 0;
  std::uint32_t workloads = 0;
  for (const DesiredRequest& request : requests) workloads = std::max(workloads, request.workload + 1);
  std::vector<std::int64_t> wanted(workloads, 0);
  for (const DesiredRequest& request : requests) {
    if (!request.waits) continue;
    if (request.slots == 0)
      ++light;
    else if (shape.slots > 0 && (request.slots <= shape.slots || request.slots % shape.slots == 0))
      wanted[request.workload] += request.slots;
  }
  std::int64_t sum = 0;
  for (std::uint32_t workload = 0; workload < workloads; ++workload) {
    const bool capped = workload < slots_max.size() && slots_max[workload] >= 0;
    sum += capped ? std::min(wanted[workload], slots_max[workload]) : wanted[workload];
  }
  const auto workers = [](std::int64_t amount, std::int64_t each) {
    return each == 0 ? 0 : (amount + each - 1) / each;
  };
  return std::max(workers(light, shape.light_places), workers(sum, shape.slots));
}

}  // namespace penstock::policy
