// The devices of a band, as runners see them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/resources.hpp"
#include "worker/store/device_tier.hpp"

namespace penstock::worker {

/// One device of a band.
struct BandDevice {
  std::string uuid;
  DeviceTier* tier = nullptr;  ///< Its memory; null: none. Outlives the runners.
};

/// The devices of a band in their order; most bands have none, or one.
class BandDevices {
 public:
  BandDevices() = default;
  explicit BandDevices(std::vector<BandDevice> devices) : devices_(std::move(devices)) {}

  bool empty() const { return devices_.empty(); }
  /// The value of CUDA_VISIBLE_DEVICES with which a program sees these devices and no others; 0 names all.
  std::string visible(DeviceSet devices = 0) const {
    std::string text;
    visit(devices, [&](const BandDevice& device) { text += (text.empty() ? "" : ",") + device.uuid; });
    return text;
  }
  /// The memory of the first of these devices; null: none.
  DeviceTier* tier(DeviceSet devices = 0) const {
    DeviceTier* first = nullptr;
    visit(devices, [&](const BandDevice& device) { first = first == nullptr ? device.tier : first; });
    return first;
  }
  /// Claims so much memory of each of these devices; `make_free` follows.
  std::vector<DeviceClaim> claim(DeviceSet devices, Bytes bytes) const {
    std::vector<DeviceClaim> claims;
    visit(devices, [&](const BandDevice& device) { claims.emplace_back(device.tier, bytes); });
    return claims;
  }
  /// The same for each but the first of several, and makes it free.
  std::vector<DeviceClaim> claim_others(DeviceSet devices, Bytes bytes) const {
    const auto others = static_cast<DeviceSet>(devices & (devices - 1));
    if (others == 0 || bytes <= Bytes{0}) return {};
    std::vector<DeviceClaim> claims = claim(others, bytes);
    make_free(others);
    return claims;
  }
  /// See `DeviceTier::make_free`.
  void make_free(DeviceSet devices) const {
    visit(devices, [](const BandDevice& device) {
      if (device.tier != nullptr) device.tier->make_free();
    });
  }
  /// Whether `make_free` might have something to do.
  bool any_open(DeviceSet devices) const {
    bool open = false;
    visit(devices, [&](const BandDevice& device) { open |= device.tier != nullptr && device.tier->is_open(); });
    return open;
  }

 private:
  /// Visits these devices; 0: all.
  template <class Visit>
  void visit(DeviceSet devices, Visit visit_it) const {
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (devices == 0 || ((devices >> i) & 1U) != 0) visit_it(devices_[i]);
  }

  std::vector<BandDevice> devices_;
};

}  // namespace penstock::worker
