// The devices of a band: the held part of each, the lanes that hold it, and the devices that jobs may use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/resources.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// One run on a lane, as its devices are counted.
struct DeviceUse {
  JobSlot job;
  SlotIndex lane;
  const ResourceVector* request = nullptr;
};

/// Chooses devices for runs: a part of a device goes to the fullest one that has room, so that others stay whole; whole
/// devices come from the smallest set of free ones that are linked, else from one NUMA node, else from anywhere. Where
/// these leave a choice, a lane gets the devices that it had before: its runner has used them. The devices of a lane
/// go with it when one run follows another. A job may be kept to some devices, and to a part of each: a run that
/// resumes goes to its own in any case. Of a band with one device, or with a request for none, nothing is kept.
/// Owned by a `LatchedQueue`. Cost: O(devices squared + jobs there) for each call.
class DeviceRooms {
 public:
  explicit DeviceRooms(const std::vector<DeviceDescription>& devices);

  std::size_t size() const { return rooms_.size(); }
  /// Keeps the job to so many thousandths of slots on each device; empty: to none. REQUIRES: one for each device.
  void keep_to(JobSlot job, const std::vector<std::uint16_t>& slots);
  /// Whether any job is kept to some of the devices.
  bool any_kept() const { return kept_jobs_ != 0; }
  /// Whether the job may not hold so much more on any of its devices, whatever others hold.
  bool exceeds_kept(JobSlot job, const ResourceVector& request) const;

  /// Whether free devices could hold the request; `again` valid: whether the devices that this lane had last could.
  bool fit(JobSlot job, const ResourceVector& request, SlotIndex again = SlotIndex::none()) const {
    if (!concern(request)) return true;
    return again.valid() ? fit_again(again, request) : choose(job, 0, request) != 0;
  }
  /// The lane has devices from now on; `again`: those that it had last. REQUIRES: they fit; the lane has none.
  void take(JobSlot job, SlotIndex lane, const ResourceVector& request, bool again = false) {
    if (concern(request)) assign(job, lane, request, again);
  }
  /// The lane remembers its devices. REQUIRES: it has them for that request, for a run of that job.
  void give_back(JobSlot job, SlotIndex lane, const ResourceVector& request) {
    if (concern(request)) add(job, of(lane), request, -1);
  }
  /// A run of another job follows on the lane, with the same request.
  void hand_over(JobSlot before, JobSlot after, SlotIndex lane, const ResourceVector& request) {
    if (before == after || !concern(request)) return;
    add(before, of(lane), request, -1);
    add(after, of(lane), request, 1);
  }
  /// The devices of a run on the lane; 0: the band has not several, or the run requests none.
  DeviceSet of(SlotIndex lane, const ResourceVector& request) const { return concern(request) ? of(lane) : 0; }
  /// The shortage that keeps free devices from holding the request, for people; empty: none does.
  std::string shortage(JobSlot job, const ResourceVector& request, SlotIndex again = SlotIndex::none()) const;
  /// Whether all that is not free is held by these.
  bool agree(const std::vector<DeviceUse>& uses) const;

 private:
  struct Room {
    MilliGpu free;
    Bytes memory;
    std::uint32_t linked = 0;
    std::uint32_t numa_node = 0;
    Bytes capacity;
    bool whole() const { return free == MilliGpu{1000} && memory == capacity; }
  };

  /// The sums of the queue say all of a band with one device.
  bool concern(const ResourceVector& request) const {
    return rooms_.size() > 1 && (request.gpu > MilliGpu{0} || request.device_memory > Bytes{0});
  }
  /// The devices that the lane has, or had last.
  DeviceSet of(SlotIndex lane) const { return lane.value() < of_lane_.size() ? of_lane_[lane.value()] : 0; }
  bool fit_again(SlotIndex lane, const ResourceVector& request) const;
  void assign(JobSlot job, SlotIndex lane, const ResourceVector& request, bool again);
  DeviceSet choose(JobSlot job, DeviceSet last, const ResourceVector& request) const;
  DeviceSet choose_part(DeviceSet allowed, DeviceSet last, const ResourceVector& request) const;
  DeviceSet choose_whole(DeviceSet allowed, DeviceSet last, const ResourceVector& request) const;
  DeviceSet free_for_whole(DeviceSet allowed, const ResourceVector& request) const;
  /// The devices where the job may hold so much more.
  DeviceSet allowed_to(JobSlot job, const ResourceVector& request) const;
  template <class Group>
  DeviceSet smallest_group(DeviceSet free, std::int64_t count, Group group_of) const;
  bool has_room(const Room& room, const ResourceVector& request) const {
    return request.gpu <= room.free && request.device_memory <= room.memory;
  }
  void add(JobSlot job, DeviceSet devices, const ResourceVector& request, std::int64_t sign);

  /// The slots of one job on each device, in thousandths.
  struct JobSlots {
    JobSlot job;
    bool kept = false;
    std::array<std::int32_t, kBandDevicesMax> may_hold{};  ///< If `kept`.
    std::array<std::int32_t, kBandDevicesMax> holds{};
  };
  const JobSlots* find(JobSlot job) const;
  JobSlots& at(JobSlot job);
  void forget_idle();

  std::vector<Room> rooms_;
  std::vector<DeviceSet> of_lane_;
  std::vector<JobSlots> of_job_;  ///< Jobs that hold something or are kept, in no order that matters.
  std::uint32_t kept_jobs_ = 0;
};

}  // namespace penstock::worker
