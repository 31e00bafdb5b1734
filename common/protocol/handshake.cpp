#include "common/protocol/handshake.hpp"

#include <algorithm>

namespace penstock {

bool devices_could_hold(const ResourceVector& request, const std::vector<DeviceDescription>& devices) {
  const bool wants_device = request.gpu > MilliGpu{0} || request.device_memory > Bytes{0};
  if (devices.empty() || !wants_device) return true;
  const auto large_enough = std::count_if(devices.begin(), devices.end(), [&](const DeviceDescription& device) {
    return device.memory >= request.device_memory;
  });
  return large_enough >= std::max<std::int64_t>(1, whole_devices(request));
}

}  // namespace penstock
