// Subtasks without a band: what ends their wait.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AwaitedOutputs;
struct EventContext;
class ExternalInputs;
struct JobIndices;
class JobTable;
class Placer;
class Recomputation;
class SubtaskEnds;

/// Places subtasks again that no present band could have, or fails them when the band, or the holder of an external
/// input, stays away for too long. Cost: linear in the subtasks that wait.
class PlacementWaits {
 public:
  PlacementWaits(const SupervisorConfig& config, EventContext& event, JobTable& jobs, WorkerTable& workers,
                 AwaitedOutputs& awaited, JobIndices& indices, std::map<SubtaskId, Instant>& holders_drain_until,
                 ExternalInputs& external_inputs, Placer& placer, SubtaskEnds& ends, Recomputation& recomputation)
      : config_(config),
        event_(event),
        jobs_(jobs),
        workers_(workers),
        awaited_(awaited),
        indices_(indices),
        holders_drain_until_(holders_drain_until),
        external_inputs_(external_inputs),
        placer_(placer),
        ends_(ends),
        recomputation_(recomputation) {}
  PlacementWaits(const PlacementWaits&) = delete;
  PlacementWaits& operator=(const PlacementWaits&) = delete;

  /// A band has come, or takes work again: tries all that found none.
  void place_all_unschedulable();
  /// Spec: worker 10, a subtask fails with `NoAvailableBand` when its required band is gone. The band gets a while to
  /// come back, because workers are restarted. Without any worker no band is known, and everything waits.
  void give_up_missing_bands();
  /// Something about the datum has changed: the waiter is placed, waits on, or fails.
  void resolve_external_input(const SubtaskId& waiter);
  /// A worker that drains takes nothing new, and may do so for ever.
  void give_up_draining_holders();

 private:
  const SupervisorConfig& config_;
  EventContext& event_;
  JobTable& jobs_;
  WorkerTable& workers_;
  AwaitedOutputs& awaited_;
  JobIndices& indices_;
  std::map<SubtaskId, Instant>& holders_drain_until_;
  ExternalInputs& external_inputs_;
  Placer& placer_;
  SubtaskEnds& ends_;
  Recomputation& recomputation_;
};

}  // namespace penstock::supervisor
