// The devices of bands with several: where parts of them are, and where those of a plan go.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/protocol/handshake.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class JobTable;

/// The devices of a band at the beginning of a pass. Cost: linear in its attempts.
PassDevices devices_of(const BandEntry& band, const JobTable& jobs);

/// The device on which the next held part of the job on the band is shown: first those of its runs, as workers have
/// reported them, then those that the last plan gave it, then those of runs that leave. A part of an unknown device is
/// shown on a shared one with room, else on a free one. Of a band that does not name its devices: any number.
/// REQUIRES: all parts of one job are shown in a row.
std::uint32_t show_part(PassDevices& devices, const Job& job, BandSlot slot, const BandEntry& band,
                        std::uint64_t milli);

/// The device that a plan means by `label`: one that was shown, or a free one that is shared from now on, out of the
/// smallest set of free ones that are near each other. `kNone` if the band does not name its devices.
std::uint32_t planned_device(PassDevices& devices, const BandEntry& band, std::uint32_t label);

/// The last plan of the job is void.
void forget_planned_devices(JobShares& shares);
/// The plan gives the job so much of the device. `milli`: thousandths of slots, as the plan counts them.
void plan_device(JobShares& shares, const BandEntry& band, BandSlot slot, std::uint32_t device, std::uint64_t milli);
/// Keeps the job's whole devices on bands where it has some apart from those that are shared by a plan. `shared` is by
/// band slot. REQUIRES: all parts of the plan were given out.
void keep_whole_devices_apart(Job& job, const WorkerTable& workers, const std::vector<DeviceSet>& shared);

/// The slots on each device of the band that the worker is told, in thousandths; empty: any.
std::vector<std::uint16_t> device_slots_of(const JobShares& shares, const KindShare& share, BandSlot slot);
/// Thousandths of slots on each device of a band.
using DeviceMilli = std::array<std::int64_t, kBandDevicesMax>;
/// Adds the attempt's slots, times `sign`, on its devices; nothing where these are not known.
void count_on_devices(const Job& job, const AssignedRef& ref, DeviceMilli& held, std::int64_t sign);
/// Whether the job may not hold so much on one of the attempt's devices. An attempt that was reported after the last
/// pass began is not known to the plan, and never held against it.
bool exceeds_device(const Job& job, BandSlot slot, const AssignedRef& ref, const DeviceMilli& held, Instant pass_begun);

}  // namespace penstock::supervisor
