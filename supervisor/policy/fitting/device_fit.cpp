#include "supervisor/policy/fitting/device_fit.hpp"

#include <algorithm>

namespace penstock::policy {
namespace {

constexpr std::int64_t kOneDevice = 1000;

/// A shared device, or one of the whole ones.
struct Candidate {
  std::int64_t used_mib = 0;
  bool whole = false;
  bool now = true;
  std::uint32_t group = 0;
};

bool fits_later(const BandRoom& room, const DeviceGroup& group, std::int64_t mib) {
  return group.used() && !group.wholly_leaving() && room.device_memory_mib - group.held_mib - group.promised_mib >= mib;
}

// A device that is only promised, and held by none, is not free yet.
bool fits_now(const BandRoom& room, const DeviceGroup& group, std::int64_t mib) {
  return group.held + group.leaving > 0 && room.device_memory_mib - group.held_mib - group.leaving_mib >= mib &&
         room.device_memory_mib - group.used_mib() + group.leaving_mib >= mib;
}

std::vector<Candidate> candidates(const BandRoom& room, const DeviceRequest& request) {
  std::vector<Candidate> all;
  std::vector<std::uint32_t> unused;
  for (std::uint32_t i = 0; i < room.groups.size(); ++i) {
    const DeviceGroup& group = room.groups[i];
    if (!group.used()) unused.push_back(i);
    if (!fits_later(room, group, request.mib)) continue;
    all.push_back({group.used_mib(), false, fits_now(room, group, request.mib), i});
  }
  if (room.device_memory_mib < request.mib) return all;
  const std::int64_t idle = room.idle.gpu / kOneDevice;
  const std::int64_t whole = room.later().gpu / kOneDevice;
  for (std::int64_t i = 0; i < std::min(whole, request.devices); ++i) {
    const auto position = static_cast<std::size_t>(i);
    const std::uint32_t group = position < unused.size()
                                    ? unused[position]
                                    : static_cast<std::uint32_t>(room.groups.size() + position - unused.size());
    all.push_back({0, true, i < idle, group});
  }
  return all;
}

}  // namespace

std::optional<bool> shared_part_fits(const BandRoom& room, const DeviceGroup& group, std::int64_t mib) {
  if (!fits_later(room, group, mib)) return std::nullopt;
  return fits_now(room, group, mib);
}

DeviceFit part_on(const BandRoom& room, std::int64_t mib, std::uint32_t device) {
  if (device != kNone) return {fits_now(room, room.groups[device], mib), 0, {device}};
  const auto unused =
      std::find_if(room.groups.begin(), room.groups.end(), [](const DeviceGroup& group) { return !group.used(); });
  return {room.idle.gpu >= kOneDevice, 1, {static_cast<std::uint32_t>(unused - room.groups.begin())}};
}

bool shared_device_fits(const BandRoom& room, const DeviceRequest& request) {
  return std::any_of(room.groups.begin(), room.groups.end(),
                     [&](const DeviceGroup& group) { return fits_later(room, group, request.mib); });
}

std::int64_t most_shared_memory(const BandRoom& room) {
  std::int64_t most = -1;
  for (const DeviceGroup& group : room.groups)
    if (group.used() && !group.wholly_leaving())
      most = std::max(most, room.device_memory_mib - group.held_mib - group.promised_mib);
  return most;
}

std::optional<DevicePreview> look_at_devices(const BandRoom& room, const DeviceRequest& request) {
  if (request.devices != 1 || request.fitting == Fitting::Spread) {
    const std::optional<DeviceFit> fit = fit_devices(room, request);
    return fit ? std::optional{DevicePreview{fit->now, fit->opened}} : std::nullopt;
  }
  const DeviceGroup* fullest = nullptr;
  for (const DeviceGroup& group : room.groups)
    if (fits_later(room, group, request.mib) && (fullest == nullptr || group.used_mib() > fullest->used_mib()))
      fullest = &group;
  if (fullest != nullptr) return DevicePreview{fits_now(room, *fullest, request.mib), 0};
  if (room.device_memory_mib < request.mib || room.later().gpu < kOneDevice) return std::nullopt;
  return DevicePreview{room.idle.gpu >= kOneDevice, 1};
}

std::optional<DeviceFit> fit_devices(const BandRoom& room, const DeviceRequest& request) {
  std::vector<Candidate> all = candidates(room, request);
  if (static_cast<std::int64_t>(all.size()) < request.devices) return std::nullopt;
  const bool spread = request.fitting == Fitting::Spread;
  std::stable_sort(all.begin(), all.end(), [spread](const Candidate& a, const Candidate& b) {
    if (a.whole != b.whole) return a.whole == spread;
    return spread ? a.used_mib < b.used_mib : a.used_mib > b.used_mib;
  });
  DeviceFit fit;
  for (std::int64_t i = 0; i < request.devices; ++i) {
    const Candidate& chosen = all[static_cast<std::size_t>(i)];
    fit.now = fit.now && chosen.now;
    fit.opened += chosen.whole ? 1 : 0;
    fit.groups.push_back(chosen.group);
  }
  return fit;
}

Resources room_with_shared(const BandRoom& room) {
  Resources all = room.later();
  for (const DeviceGroup& group : room.groups) all.gpu += group.used() ? kOneDevice : 0;
  return all;
}

bool has_room_for_devices(const BandRoom& room) {
  if (room.later().gpu > 0) return true;
  return std::any_of(room.groups.begin(), room.groups.end(), [&](const DeviceGroup& group) {
    return group.used() && group.held_mib + group.promised_mib < room.device_memory_mib;
  });
}

std::int64_t free_devices(const Trial& trial) {
  std::int64_t free = 0;
  for (const std::uint32_t band : trial.bands())
    free += std::max<std::int64_t>(0, room_with_shared(trial.room(band)).gpu);
  return free;
}

}  // namespace penstock::policy
