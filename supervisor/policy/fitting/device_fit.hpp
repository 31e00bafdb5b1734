// The devices for a member that wants parts of devices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/policy/trial.hpp"

namespace penstock::policy {

/// `mib` of each of `devices` different devices.
struct DeviceRequest {
  std::int64_t devices = 1;
  std::int64_t mib = 0;
  Fitting fitting = Fitting::BinPack;
};

struct DeviceFit {
  bool now = true;                    ///< All of it is idle now.
  std::uint32_t opened = 0;           ///< How many whole devices are opened for sharing.
  std::vector<std::uint32_t> groups;  ///< Positions; those at or beyond the present size are to be made.
};

/// Packed: the fullest shared device first, whole ones last; spread: the other way round. Spec: policy-runai 8.
std::optional<DeviceFit> fit_devices(const BandRoom& room, const DeviceRequest& request);

/// The same without saying which: whether it fits, whether it does now, and how many devices are opened. No allocation
/// for a part of one device.
struct DevicePreview {
  bool now = true;
  std::uint32_t opened = 0;
};
std::optional<DevicePreview> look_at_devices(const BandRoom& room, const DeviceRequest& request);

/// Whether the shared device has room for `mib`, and whether it has now; nothing: not even later.
std::optional<bool> shared_part_fits(const BandRoom& room, const DeviceGroup& group, std::int64_t mib);

/// A part on that shared device, by position; kNone: on one that is opened for it. REQUIRES: there is room, now or
/// later.
DeviceFit part_on(const BandRoom& room, std::int64_t mib, std::uint32_t device);

/// Whether a device that is shared already has room for the request, now or later.
bool shared_device_fits(const BandRoom& room, const DeviceRequest& request);

/// Most memory that is left, now or later, of one device that is shared already; -1: there is none.
std::int64_t most_shared_memory(const BandRoom& room);

/// The room when others have left, with devices that are shared counted whole.
Resources room_with_shared(const BandRoom& room);

/// Whether a device is free, or will be, or a shared one has memory left when others have left.
bool has_room_for_devices(const BandRoom& room);

/// Thousandths of devices of all bands that are free or will be, shared ones counted whole.
std::int64_t free_devices(const Trial& trial);

}  // namespace penstock::policy
