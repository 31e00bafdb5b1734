#include "supervisor/core/driver/device_places.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/jobs/job_table.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::uint64_t kDeviceMilli = 1000;

DeviceSet bit(std::size_t device) { return static_cast<DeviceSet>(1U << device); }

bool names_devices(const BandEntry& band) { return band.description.devices.size() > 1; }

/// The devices of the attempt, if it runs there and they are known.
const DeviceRun* run_of(const Job& job, const AssignedRef& ref, const BandEntry& band) {
  if (ref.job != job.id || ref.subtask >= job.total()) return nullptr;
  const SubtaskHot& hot = job.hot[ref.subtask];
  const bool runs =
      hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && (hot.flags & SubtaskFlag::kStarted) != 0;
  const DeviceRun* run = runs ? job.extras.devices->find(SubtaskIndex{ref.subtask}) : nullptr;
  const bool known =
      run != nullptr && run->attempt == ref.attempt && std::bit_width(run->devices) <= band.description.devices.size();
  return known ? run : nullptr;
}

/// Whether plans give it parts of devices: of a job with larger subtasks as well, parts have whole ones.
bool takes_parts(const Job& job) {
  return job.shares != nullptr &&
         job.shares->kinds[static_cast<std::size_t>(BandKind::Gpu)].allocation_unit.milli < kDeviceMilli;
}

bool is_leaving(const Job& job, const AssignedRef& ref) {
  const std::uint64_t* asked = job.shares->preempting->find(SubtaskIndex{ref.subtask});
  return asked != nullptr && *asked == ref.attempt;
}

/// Thousandths of slots of a device that are held, or that a run has.
std::uint64_t used_on(const PassDevices& devices, std::size_t device) {
  return devices.parts[device] + devices.runs[device];
}

/// The device of an attempt that runs on a part of one; as many as there are: none is known.
std::size_t part_run_by(const Job& job, const AssignedRef& ref, const BandEntry& band) {
  const DeviceRun* found = run_of(job, ref, band);
  const bool is_part = found != nullptr && std::popcount(found->devices) == 1;
  return is_part ? static_cast<std::size_t>(std::countr_zero(found->devices)) : band.description.devices.size();
}

/// The runs of the job are shown from now on.
void leave_to_parts(PassDevices& devices, const Job& job, const BandEntry& band) {
  const std::uint64_t each = job.shares->kinds[static_cast<std::size_t>(BandKind::Gpu)].unit_on(band);
  for (const AssignedRef& ref : band.assigned)
    if (const std::size_t device = part_run_by(job, ref, band); device < devices.runs.size())
      devices.runs[device] -= std::min(devices.runs[device], each);
}

/// The devices of the job's parts on the band, in the order in which they are shown.
std::vector<std::uint8_t> parts_of(const PassDevices& devices, const Job& job, BandSlot slot, const BandEntry& band,
                                   std::uint64_t milli) {
  std::vector<std::uint8_t> stay;
  std::vector<std::uint8_t> run;
  std::vector<std::uint8_t> leave;
  for (const AssignedRef& ref : band.assigned) {
    const auto device = static_cast<std::uint8_t>(part_run_by(job, ref, band));
    if (device == band.description.devices.size()) continue;
    const bool stays = !job.graph.shape->template_of(ref.subtask).retryable;
    (is_leaving(job, ref) ? leave : stays ? stay : run).push_back(device);
  }
  std::vector<std::uint8_t> order = std::move(stay);
  order.insert(order.end(), run.begin(), run.end());
  if (const auto known = job.shares->devices->find(slot); known != job.shares->devices->end()) {
    const std::vector<std::uint16_t>& planned = known->second.planned;
    for (std::size_t i = 0; i < planned.size(); ++i) {
      if ((devices.whole & bit(i)) != 0) continue;  // Another run has taken all of it meanwhile.
      const auto begun = std::count(order.begin(), order.end(), static_cast<std::uint8_t>(i));
      // Runs of other jobs may be there in place of what was planned.
      const std::uint64_t room = kDeviceMilli - std::min(kDeviceMilli, used_on(devices, i));
      const std::uint64_t most = std::min<std::uint64_t>(planned[i], room);
      for (std::uint64_t at = static_cast<std::uint64_t>(begun) * milli; at + milli <= most; at += milli)
        order.push_back(static_cast<std::uint8_t>(i));
    }
  }
  order.insert(order.end(), leave.begin(), leave.end());
  return order;
}

/// Free devices that are as near to `device` as any.
std::int64_t near_to(const BandEntry& band, DeviceSet free, std::size_t device) {
  const std::vector<DeviceDescription>& all = band.description.devices;
  std::int64_t near = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool linked =
        all[device].linked != 0 ? all[i].linked == all[device].linked : all[i].numa_node == all[device].numa_node;
    near += (free & bit(i)) != 0 && linked ? 1 : 0;
  }
  return near;
}

/// A device without a part: of the smallest set of free ones that are near each other, so that larger ones stay whole.
std::uint32_t device_to_share(const PassDevices& devices, const BandEntry& band) {
  const auto all = static_cast<DeviceSet>((1U << band.description.devices.size()) - 1);
  DeviceSet free = static_cast<DeviceSet>(all & ~devices.shared & ~devices.whole);
  for (std::size_t i = 0; i < devices.runs.size(); ++i)
    if (devices.runs[i] > 0) free &= static_cast<DeviceSet>(~bit(i));
  if (free == 0) free = static_cast<DeviceSet>(all & ~devices.shared);
  std::uint32_t best = policy::kNone;
  for (std::uint32_t i = 0; i < band.description.devices.size(); ++i)
    if ((free & bit(i)) != 0 && (best == policy::kNone || near_to(band, free, i) < near_to(band, free, best))) best = i;
  return best;
}

/// The fullest shared device with room, else a free one, else the first.
std::uint32_t device_with_room(const PassDevices& devices, const BandEntry& band, std::uint64_t milli) {
  std::uint32_t best = policy::kNone;
  for (std::uint32_t i = 0; i < devices.parts.size(); ++i)
    if ((devices.shared & bit(i)) != 0 && used_on(devices, i) + milli <= kDeviceMilli &&
        (best == policy::kNone || devices.parts[i] > devices.parts[best]))
      best = i;
  if (best == policy::kNone) best = device_to_share(devices, band);
  return best == policy::kNone ? 0 : best;
}

/// On a band of which devices are not named: the first number with room.
std::uint32_t number_with_room(std::vector<std::uint64_t>& parts, std::uint32_t slots, std::uint64_t milli) {
  auto found =
      std::find_if(parts.begin(), parts.end(), [&](std::uint64_t used) { return used + milli <= kDeviceMilli; });
  if (found == parts.end() && parts.size() < slots) found = parts.insert(parts.end(), 0);
  if (found == parts.end()) found = parts.begin();
  return static_cast<std::uint32_t>(found - parts.begin());
}

std::vector<std::uint16_t>& planned_on(JobShares& shares, const BandEntry& band, BandSlot slot) {
  std::vector<std::uint16_t>& planned = shares.devices.edit()[slot].planned;
  planned.resize(band.description.devices.size());
  return planned;
}

}  // namespace

PassDevices devices_of(const BandEntry& band, const JobTable& jobs) {
  PassDevices devices;
  if (!names_devices(band)) return devices;
  devices.named = true;
  devices.parts.resize(band.description.devices.size());
  devices.runs.resize(band.description.devices.size());
  for (const AssignedRef& ref : band.assigned) {
    if (!jobs.knows(ref.job)) continue;
    const Job& job = jobs[ref.job];
    const DeviceRun* run = run_of(job, ref, band);
    if (run != nullptr && !takes_parts(job)) devices.whole |= run->devices;
    if (!takes_parts(job)) continue;
    if (const std::size_t device = part_run_by(job, ref, band); device < devices.runs.size())
      devices.runs[device] += job.shares->kinds[static_cast<std::size_t>(BandKind::Gpu)].unit_on(band);
  }
  return devices;
}

std::uint32_t show_part(PassDevices& devices, const Job& job, BandSlot slot, const BandEntry& band,
                        std::uint64_t milli) {
  std::uint32_t device = policy::kNone;
  if (!devices.named) {
    device = number_with_room(devices.parts, band.slots, milli);
  } else {
    if (devices.shown != job.id) {
      devices.shown = job.id;
      leave_to_parts(devices, job, band);
      devices.order = parts_of(devices, job, slot, band, milli);
    }
    if (devices.order.empty()) {
      device = device_with_room(devices, band, milli);
    } else {
      device = devices.order.front();
      devices.order.erase(devices.order.begin());
    }
    devices.shared |= bit(device);
    devices.seen |= bit(device);
  }
  devices.parts[device] += milli;
  return device;
}

std::uint32_t planned_device(PassDevices& devices, const BandEntry& band, std::uint32_t label) {
  if (!devices.named) return policy::kNone;
  if (label < devices.parts.size() && (devices.seen & bit(label)) != 0) return label;
  const auto known = devices.opened.find(label);
  if (known != devices.opened.end()) return known->second;
  PENSTOCK_COVERAGE_MARK("a plan opens a device of several for parts");
  const std::uint32_t device = device_to_share(devices, band);
  if (device == policy::kNone) return 0;
  devices.opened[label] = device;
  devices.shared |= bit(device);
  return device;
}

void forget_planned_devices(JobShares& shares) {
  if (!shares.devices.any()) return;
  for (auto& [band, share] : shares.devices.edit()) share.planned.clear();
}

void plan_device(JobShares& shares, const BandEntry& band, BandSlot slot, std::uint32_t device, std::uint64_t milli) {
  std::uint16_t& planned = planned_on(shares, band, slot)[device];
  planned = static_cast<std::uint16_t>(std::min<std::uint64_t>(planned + milli, kDeviceMilli));
}

void keep_whole_devices_apart(Job& job, const WorkerTable& workers, const std::vector<DeviceSet>& shared) {
  for (std::uint32_t i = 0; i < shared.size() && i < job.shares->bands.size(); ++i) {
    const BandSlot slot{i};
    if (shared[i] == 0 || job.shares->bands[i].planned == 0) continue;
    const auto known = job.shares->devices->find(slot);
    if (known != job.shares->devices->end() && !known->second.planned.empty()) continue;  // The job takes parts.
    PENSTOCK_COVERAGE_MARK("whole devices are kept apart from shared ones");
    std::vector<std::uint16_t>& planned = planned_on(*job.shares, workers[slot], slot);
    for (std::size_t device = 0; device < planned.size(); ++device)
      planned[device] = (shared[i] & bit(device)) != 0 ? 0 : kDeviceMilli;
  }
}

std::vector<std::uint16_t> device_slots_of(const JobShares& shares, const KindShare& share, BandSlot slot) {
  const auto known = shares.devices->find(slot);
  if (known == shares.devices->end()) return {};
  std::vector<std::uint16_t> slots = known->second.planned;
  // Of whole devices the plan names those that the job may use: its slots say how many.
  for (std::uint16_t& each : slots)
    if (share.allocation_unit.milli < kDeviceMilli)
      each = static_cast<std::uint16_t>(
          std::min<std::int64_t>(share.entitled_by(each).value(), static_cast<std::int64_t>(kDeviceMilli)));
  return slots;
}

void count_on_devices(const Job& job, const AssignedRef& ref, DeviceMilli& held, std::int64_t sign) {
  const DeviceRun* run = job.extras.devices->find(SubtaskIndex{ref.subtask});
  if (run == nullptr || run->attempt != ref.attempt) return;
  const std::int64_t slots = job.graph.shape->template_of(ref.subtask).request.slots.value();
  for (std::size_t i = 0; i < held.size(); ++i)
    if ((run->devices & bit(i)) != 0) held[i] += sign * slots / std::popcount(run->devices);
}

bool exceeds_device(const Job& job, BandSlot slot, const AssignedRef& ref, const DeviceMilli& held,
                    Instant pass_begun) {
  const auto known = job.shares->devices->find(slot);
  const DeviceRun* run = job.extras.devices->find(SubtaskIndex{ref.subtask});
  if (known == job.shares->devices->end() || run == nullptr || run->attempt != ref.attempt || run->since >= pass_begun)
    return false;
  const std::vector<std::uint16_t>& entitled = known->second.entitled;
  for (std::size_t i = 0; i < entitled.size(); ++i)
    if ((run->devices & bit(i)) != 0 && held[i] > entitled[i]) return true;
  return false;
}

}  // namespace penstock::supervisor
