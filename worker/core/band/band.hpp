// One band of a worker: its two latched queues, its memory quota, its runs and its latches.
#pragma once

#include <vector>

#include "common/protocol/handshake.hpp"
#include "worker/core/band/latched_queue.hpp"
#include "worker/core/band/memory_quota.hpp"
#include "worker/core/band/memory_relief.hpp"
#include "worker/core/band/runner_warmer.hpp"
#include "worker/core/band/running_list.hpp"
#include "worker/core/band/store_permits.hpp"

namespace penstock {
struct Entitlement;
struct WorkerConfig;
}  // namespace penstock

namespace penstock::worker {

/// A gang that waits on a band until all its slots are held, on all of its workers.
struct BarrierHere {
  JobSlot job;
  std::uint64_t number = 0;
  MilliSlots slots;
  Instant until{};          ///< Without a message from the supervisor the slots are given back then.
  Instant patient_until{};  ///< Until then it waits for resources beside the slots, and for members to be prepared.
  bool told = false;        ///< Answered: all slots are held,
  bool over = false;        ///< or: they were given back.
};

/// All that is queued, held or running on one band. Owns its parts by value; the way of a subtask through them is
/// decided in worker/core/runs. Changes of both queues at once have their one place here.
struct Band {
  Band(BandIndex index, const BandDescription& description, const WorkerConfig& config);
  Band(const Band&) = delete;
  Band& operator=(const Band&) = delete;

  // Both queues, and the quota.
  void update_priority(RecordIndex place, std::uint64_t priority);
  /// The slots that the job may hold from now on. Its permits are latched, too: otherwise a job at its entitlement
  /// would hold all of them, prepared in vain.
  /// `on_devices`: thousandths of slots on each device; none: on any.
  void set_entitlement(JobSlot slot, MilliSlots slots, std::int32_t fair_rank,
                       const std::vector<std::uint16_t>& on_devices = {});
  /// No limit of an earlier term applies any more.
  void lift_entitlement(JobSlot slot) { set_entitlement(slot, MilliSlots::max(), 0); }
  void forget_job(JobSlot slot);
  /// Gives back the permit and the memory that the record holds, and its place in a queue.
  void give_back(RecordIndex place, SubtaskRecord& record);
  void release_permit(RecordIndex place, SubtaskRecord& record) {
    if (!record.holds_permit) return;
    prepare.release(place);
    record.holds_permit = false;
    dirty = true;
  }

  // Gangs (decision 0016).
  /// The job begins nothing here until a message without a barrier comes; its members are prepared.
  void join_barrier(JobSlot slot, const Entitlement& entitlement, Instant now, Duration margin);
  /// The reservation goes to the job, which begins on it, or is dropped for all. True if the job has waited in vain.
  bool leave_barrier(JobSlot slot, bool opens);
  void give_back_barrier(BarrierHere& barrier);
  bool waits_at_barrier(JobSlot slot) const;
  /// Whether all that the gang needs to begin is held. O(n) in the job's records here, while its slots are held and not
  /// answered for.
  bool is_ready_to_begin(const BarrierHere& barrier, const JobTable& jobs, const SubtaskTable& subtasks,
                         Instant now) const;

  /// Runners that will be needed, unless the band is short of memory.
  void warm_runners(const JobTable& jobs, bool may_start, Actions<WorkerAction>& out) {
    if (warmer.any()) warmer.order(index, execute, quota, jobs, may_start && !relief.active(), out);
  }
  /// Ends all idle runners; their lanes start nothing before they are restarted.
  void restart_idle_runners(Actions<WorkerAction>& out);
  BandLoad load(Bytes store_used) const;
  /// Also checks work conservation: no slot and no permit is free beside one that may use it. `holds_back`: the worker
  /// starts hardly anything now.
  void validate(const SubtaskTable& subtasks, bool holds_back) const;
  /// Checks that the record of a subtask of this band agrees with queues and quota.
  void validate(RecordIndex place, const SubtaskRecord& record) const;

  // Constant after construction.
  const BandIndex index;
  const BandDescription description;
  const ResourceVector permit;  ///< The part of `prepare` that one subtask holds.

  // Parts.
  LatchedQueue prepare;  ///< Its slots are permits, its memory the bytes that prepared inputs may pin.
  LatchedQueue execute;
  MemoryQuota quota;
  RunningList running;
  StorePermits store_permits;
  RunnerWarmer warmer;
  MemoryRelief relief;

  // State.
  std::vector<BarrierHere> barriers;  ///< Almost always none.
  std::uint32_t cached = 0;
  bool dirty = false;      ///< Something changed since the queues were last pumped.
  bool preparing = false;  ///< During a pump, before the execution queue has its turn.
  bool held_back = false;  ///< Slots are free, but waiting items are left to the running lanes.
};

}  // namespace penstock::worker
