// Steps against too much memory in use on a band.
#pragma once

#include <cstdint>

#include "common/base/time.hpp"
#include "common/base/units.hpp"
#include "common/protocol/graph.hpp"
#include "worker/core/band/memory_quota.hpp"
#include "worker/core/events.hpp"

namespace penstock::worker {

/// One step of relief, to be carried out in the order of its members.
struct ReliefStep {
  bool ends = false;          ///< Memory is below the limits again: grants are allowed.
  bool any = false;           ///< This is a step, and counts.
  bool restart_idle = false;  ///< Idle runners are restarted.
  bool stop_grants = false;   ///< New grants stop.
  Bytes spill;                ///< So much is spilled.
};

/// Decides the next step when the memory of a band was measured (spec worker 4). A crossing of the hard limit first
/// stops new grants, then asks for spill, then restarts idle runners. Memory of idle runners goes first, because no run
/// needs it.
class MemoryRelief {
 public:
  ReliefStep measured(const worker_event::MemoryMeasured& event, const MemoryQuota& quota, Instant now, Duration every);

  bool active() const { return stage_ != Stage::None; }
  /// The part of the runners' memory that a restart of idle runners frees.
  Bytes idle_use() const { return idle_use_; }
  /// Idle runners were restarted, and what they held is free.
  void idle_restarted();

 private:
  enum class Stage : std::uint8_t { None, GrantsStopped, SpillRequested, RunnersRestarted };

  Bytes commands_use_;  ///< As last measured.
  Bytes runners_use_;
  Bytes idle_use_;
  Stage stage_ = Stage::None;
  Instant next_at_ = kNever;  ///< Not before this, the next step.
};

}  // namespace penstock::worker
