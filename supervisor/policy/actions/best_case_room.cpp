#include "supervisor/policy/actions/best_case_room.hpp"

#include <algorithm>

namespace penstock::policy {
namespace {

constexpr std::int64_t kOneDevice = 1000;

/// Of bands that do not say, devices have some memory, so that whole ones can be counted.
std::int64_t device_mib(const BandRoom& room) {
  return room.device_memory_mib > 0 ? room.device_memory_mib : kOneDevice;
}

}  // namespace

void BestCaseRoom::TopTwo::offer(std::int64_t value, std::uint32_t band) {
  if (value > first.first) {
    second = first.first;
    first = {value, band};
  } else {
    second = std::max(second, value);
  }
}

BestCaseRoom::BestCaseRoom(const Trial& trial)
    : trial_(trial),
      best_(trial.snapshot().bands.size()),
      mib_(best_.size(), kOneDevice),
      takeable_(best_.size(), 0),
      tied_(best_.size(), false) {
  for (const std::uint32_t band : trial.bands()) {
    const BandRoom& room = trial.room(band);
    const Resources later = room.later();
    const std::int64_t mib = mib_[band] = device_mib(room);
    BandBest& best = best_[band];
    best = {later.cpu, later.memory, later.gpu * mib / kOneDevice};
    for (const DeviceGroup& group : room.groups)
      if (group.used() && !group.wholly_leaving()) best.device_mib += mib - group.held_mib - group.promised_mib;
    if (!room.open) continue;
    whole_.offer(later.gpu, band);
    offer_rest(later, band);
    if (room.shared_memory_mib < 0) continue;
    shared_mib_.offer(room.shared_memory_mib, band);
    // Rounded up, as the part of a member's is rounded down.
    shared_part_.offer((room.shared_memory_mib + 1) * kOneDevice / mib + 1, band);
  }
}

void BestCaseRoom::offer_rest(const Resources& later, std::uint32_t band) {
  const auto devices = static_cast<std::size_t>(std::max<std::int64_t>(0, later.gpu / kOneDevice));
  if (rest_.size() <= devices) rest_.resize(devices + 1);
  for (std::size_t count = 0; count <= devices; ++count) {
    rest_[count].cpu.offer(later.cpu, band);
    rest_[count].memory.offer(later.memory, band);
  }
}

BandBest BestCaseRoom::size_of(std::uint32_t member, std::uint32_t band) const {
  const Member& source = trial_.snapshot().members[member];
  const std::int64_t shared = source.devices > 0 ? source.devices * trial_.memory_on(member, band) : 0;
  return {source.request.cpu, source.request.memory, source.request.gpu * mib_[band] / kOneDevice + shared};
}

bool BestCaseRoom::has_room_elsewhere(std::uint32_t member, std::uint32_t band) const {
  const Member& source = trial_.snapshot().members[member];
  const auto devices = static_cast<std::size_t>((source.request.gpu + kOneDevice - 1) / kOneDevice);
  if (devices >= rest_.size() || rest_[devices].cpu.without(band) < source.request.cpu ||
      rest_[devices].memory.without(band) < source.request.memory)
    return false;
  if (source.request.gpu == 0 && source.devices == 0) return true;
  if (whole_.without(band) < source.request.gpu) return false;
  if (source.devices == 0 || whole_.without(band) >= kOneDevice) return true;
  return source.device_memory_mib > 0 ? shared_mib_.without(band) >= source.device_memory_mib
                                      : shared_part_.without(band) >= source.device_share;
}

void BestCaseRoom::may_go(std::uint32_t member, bool lost, bool anywhere, std::int64_t together) {
  const std::uint32_t band = trial_.holdings(member).band;
  takeable_[band] += together;
  if (anywhere) tied_[band] = true;
  if (!lost && !anywhere && !has_room_elsewhere(member, band)) return;
  const BandBest size = size_of(member, band);
  BandBest& best = best_[band];
  best.cpu += size.cpu;
  best.memory += size.memory;
  best.device_mib += size.device_mib;
}

std::int64_t BestCaseRoom::might_hold_of(std::uint32_t member, std::uint32_t band, std::int64_t count) const {
  const BandBest size = size_of(member, band);
  const BandBest& best = best_[band];
  if (size.cpu > best.cpu || size.memory > best.memory || size.device_mib > best.device_mib) return 0;
  if (size.cpu > 0) count = std::min(count, best.cpu / size.cpu);
  if (size.memory > 0) count = std::min(count, best.memory / size.memory);
  if (size.device_mib > 0) count = std::min(count, best.device_mib / size.device_mib);
  return count;
}

}  // namespace penstock::policy
