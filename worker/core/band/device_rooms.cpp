#include "worker/core/band/device_rooms.hpp"

#include <algorithm>
#include <bit>

#include "common/base/check.hpp"
#include "common/base/coverage_mark.hpp"

namespace penstock::worker {
namespace {

DeviceSet bit(std::size_t device) { return static_cast<DeviceSet>(1U << device); }

/// The first `count` devices of a set.
DeviceSet first_of(DeviceSet devices, std::int64_t count) {
  DeviceSet chosen = 0;
  for (; count > 0 && devices != 0; --count) {
    const auto lowest = static_cast<DeviceSet>(devices & (~devices + 1));
    chosen |= lowest;
    devices = static_cast<DeviceSet>(devices & ~lowest);
  }
  return chosen;
}

/// Thousandths of slots that a run of that request holds on each of its devices.
std::int64_t slots_on_each(const ResourceVector& request) {
  return request.slots.value() / std::max<std::int64_t>(whole_devices(request), 1);
}

}  // namespace

DeviceRooms::DeviceRooms(const std::vector<DeviceDescription>& devices) {
  PENSTOCK_CHECK(devices.size() <= kBandDevicesMax);
  for (const DeviceDescription& device : devices)
    rooms_.push_back({MilliGpu{1000}, device.memory, device.linked, device.numa_node, device.memory});
}

const DeviceRooms::JobSlots* DeviceRooms::find(JobSlot job) const {
  for (const JobSlots& each : of_job_)
    if (each.job == job) return &each;
  return nullptr;
}

DeviceRooms::JobSlots& DeviceRooms::at(JobSlot job) {
  for (JobSlots& each : of_job_)
    if (each.job == job) return each;
  return of_job_.emplace_back(JobSlots{.job = job});
}

void DeviceRooms::forget_idle() {
  std::erase_if(of_job_, [](const JobSlots& each) {
    return !each.kept && std::all_of(each.holds.begin(), each.holds.end(), [](std::int32_t held) { return held == 0; });
  });
}

void DeviceRooms::keep_to(JobSlot job, const std::vector<std::uint16_t>& slots) {
  PENSTOCK_CHECK(slots.empty() || slots.size() == rooms_.size());
  if (slots.empty() && find(job) == nullptr) return;
  JobSlots& of = at(job);
  kept_jobs_ = kept_jobs_ - (of.kept ? 1 : 0) + (slots.empty() ? 0 : 1);
  of.kept = !slots.empty();
  std::copy(slots.begin(), slots.end(), of.may_hold.begin());
  forget_idle();
}

DeviceSet DeviceRooms::allowed_to(JobSlot job, const ResourceVector& request) const {
  const auto all = static_cast<DeviceSet>((1U << rooms_.size()) - 1);
  const JobSlots* of = kept_jobs_ == 0 ? nullptr : find(job);
  if (of == nullptr || !of->kept) return all;
  DeviceSet allowed = 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i)
    if (of->holds[i] + slots_on_each(request) <= of->may_hold[i]) allowed |= bit(i);
  return allowed;
}

bool DeviceRooms::exceeds_kept(JobSlot job, const ResourceVector& request) const {
  if (kept_jobs_ == 0 || !concern(request)) return false;
  return std::popcount(allowed_to(job, request)) < std::max<std::int64_t>(whole_devices(request), 1);
}

DeviceSet DeviceRooms::choose(JobSlot job, DeviceSet last, const ResourceVector& request) const {
  const DeviceSet allowed = allowed_to(job, request);
  return whole_devices(request) > 0 ? choose_whole(allowed, last, request) : choose_part(allowed, last, request);
}

DeviceSet DeviceRooms::choose_part(DeviceSet allowed, DeviceSet last, const ResourceVector& request) const {
  std::size_t best = rooms_.size();
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((allowed & bit(i)) == 0 || !has_room(rooms_[i], request)) continue;
    if (best == rooms_.size()) {
      best = i;
      continue;
    }
    const Room& here = rooms_[i];
    const Room& there = rooms_[best];
    const bool fuller = here.free != there.free ? here.free < there.free : here.memory < there.memory;
    const bool equal = here.free == there.free && here.memory == there.memory;
    if (fuller || (equal && last == bit(i))) best = i;
  }
  return best == rooms_.size() ? 0 : bit(best);
}

DeviceSet DeviceRooms::free_for_whole(DeviceSet allowed, const ResourceVector& request) const {
  DeviceSet free = 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i)
    if ((allowed & bit(i)) != 0 && rooms_[i].whole() && request.device_memory <= rooms_[i].memory) free |= bit(i);
  return free;
}

/// Of the groups with enough devices in `free` that with the fewest; 0: none has.
template <class Group>
DeviceSet DeviceRooms::smallest_group(DeviceSet free, std::int64_t count, Group group_of) const {
  DeviceSet best = 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((free & bit(i)) == 0) continue;
    const std::uint32_t group = group_of(rooms_[i]);
    DeviceSet members = 0;
    for (std::size_t other = 0; other < rooms_.size(); ++other)
      if ((free & bit(other)) != 0 && group != 0 && group_of(rooms_[other]) == group) members |= bit(other);
    if (std::popcount(members) < count) continue;
    if (best == 0 || std::popcount(members) < std::popcount(best)) best = members;
  }
  return best;
}

DeviceSet DeviceRooms::choose_whole(DeviceSet allowed, DeviceSet last, const ResourceVector& request) const {
  const std::int64_t count = whole_devices(request);
  const DeviceSet free = free_for_whole(allowed, request);
  if (std::popcount(free) < count) return 0;
  DeviceSet near = smallest_group(free, count, [](const Room& room) { return room.linked; });
  if (near == 0) near = smallest_group(free, count, [](const Room& room) { return room.numa_node + 1; });
  if (near == 0) near = free;
  return std::popcount(last) == count && (last & ~near) == 0 ? last : first_of(near, count);
}

bool DeviceRooms::fit_again(SlotIndex lane, const ResourceVector& request) const {
  const DeviceSet devices = of(lane);
  const bool whole = whole_devices(request) > 0;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((devices & bit(i)) == 0) continue;
    if (whole ? !rooms_[i].whole() : !has_room(rooms_[i], request)) return false;
  }
  return true;
}

void DeviceRooms::assign(JobSlot job, SlotIndex lane, const ResourceVector& request, bool again) {
  const DeviceSet devices = again ? of(lane) : choose(job, of(lane), request);
  PENSTOCK_CHECK(devices != 0);
  if (std::popcount(devices) > 1) PENSTOCK_COVERAGE_MARK("a run has several devices");
  if (of_lane_.size() <= lane.value()) of_lane_.resize(lane.value() + std::size_t{1}, 0);
  of_lane_[lane.value()] = devices;
  add(job, devices, request, 1);
}

// A whole device is held with all of its memory.
void DeviceRooms::add(JobSlot job, DeviceSet devices, const ResourceVector& request, std::int64_t sign) {
  const bool whole = whole_devices(request) > 0;
  JobSlots& of_job = at(job);
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if ((devices & bit(i)) == 0) continue;
    Room& room = rooms_[i];
    room.free -= (whole ? MilliGpu{1000} : request.gpu) * sign;
    room.memory -= (whole ? room.capacity : request.device_memory) * sign;
    of_job.holds[i] += static_cast<std::int32_t>(sign * slots_on_each(request));
    PENSTOCK_CHECK(room.free >= MilliGpu{0} && room.memory >= Bytes{0} && of_job.holds[i] >= 0);
  }
  if (sign < 0 && !of_job.kept) forget_idle();
}

std::string DeviceRooms::shortage(JobSlot job, const ResourceVector& request, SlotIndex again) const {
  if (fit(job, request, again)) return {};
  if (again.valid()) return "gpu: another run is on its devices";
  const std::int64_t count = whole_devices(request);
  if (count == 0) return "gpu " + std::to_string(request.gpu.value()) + " > the rest of any device";
  return "gpu " + std::to_string(count) + " > " +
         std::to_string(std::popcount(free_for_whole(allowed_to(job, request), request))) + " free devices";
}

bool DeviceRooms::agree(const std::vector<DeviceUse>& uses) const {
  DeviceRooms rest = *this;
  for (const DeviceUse& use : uses) rest.give_back(use.job, use.lane, *use.request);
  rest.forget_idle();
  const bool none_holds = std::all_of(rest.of_job_.begin(), rest.of_job_.end(), [](const JobSlots& each) {
    return std::all_of(each.holds.begin(), each.holds.end(), [](std::int32_t held) { return held == 0; });
  });
  return none_holds &&
         std::all_of(rest.rooms_.begin(), rest.rooms_.end(), [](const Room& room) { return room.whole(); });
}

}  // namespace penstock::worker
