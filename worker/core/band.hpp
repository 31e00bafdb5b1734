// One band of a worker: its two latched queues, its memory quota and what runs on it.
#pragma once

#include <deque>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/handshake.hpp"
#include "worker/core/latched_queue.hpp"
#include "worker/core/memory_quota.hpp"
#include "worker/core/runner_kinds.hpp"

namespace penstock::worker {

/// Progress of the steps against too much memory in use (spec worker 4).
enum class ReliefStep : std::uint8_t { None, GrantsStopped, SpillRequested, RunnersRestarted };

struct WorkerTemplate;

/// Subtasks that have arrived and not started, of one kind of process runner.
struct RunnerWish {
  std::uint64_t kind = 0;
  JobId job;  ///< Of the template.
  const WorkerTemplate* program = nullptr;
  std::uint32_t subtasks = 0;
};

/// A passive bundle; `WorkerCore` moves subtasks through it.
struct Band {
  Band(BandIndex index, const BandDescription& description, const WorkerConfig& config);

  // Constant after construction.
  const BandIndex index;
  const BandDescription description;
  const ResourceVector permit;  ///< The part of `prepare` that one subtask holds.

  // State.
  LatchedQueue prepare;  ///< Its slots are permits, its memory the bytes that prepared inputs may pin.
  LatchedQueue execute;
  MemoryQuota quota;
  std::vector<RecordIndex> running;  ///< Running and yielded records.
  std::uint32_t store_permits_free;
  std::deque<RecordIndex> waiting_to_store;
  std::uint32_t cached = 0;
  RunnerKinds runner_kinds;               ///< Kinds that were started, or ordered to be started.
  std::vector<RunnerWish> runner_wishes;  ///< Of the event that is being handled.
  Bytes commands_use;                     ///< As last measured.
  Bytes runners_use;
  Bytes idle_use;  ///< The part of `runners_use` that a restart of idle runners frees.
  ReliefStep relief = ReliefStep::None;
  Instant relief_at = kNever;  ///< Not before this, the next step.
  bool dirty = false;          ///< Something changed since the queues were last pumped.
  bool preparing = false;      ///< During a pump, before the execution queue has its turn.
  bool may_offer = false;      ///< A run has ended since offers were last withdrawn.
  bool held_back = false;      ///< Slots are free, but waiting items are left to the running lanes.
  Instant progress_at{};       ///< When a run last started or ended.
};

/// A gang that waits here until all its slots are held, on all of its workers.
struct BarrierHere {
  JobSlot job;
  BandIndex band;
  std::uint64_t number = 0;
  MilliSlots slots;
  Instant until{};          ///< Without a message from the supervisor the slots are given back then.
  Instant patient_until{};  ///< Until then it waits for resources beside the slots, and for members to be prepared.
  bool told = false;        ///< Answered: all slots are held,
  bool over = false;        ///< or: they were given back.
};

}  // namespace penstock::worker
