// The messages that give subtasks to workers.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class EntitlementMail;
class WallClock;
class WorkerMail;

/// Writes assignments into batches for workers: inputs with their places, payloads, and the templates and jobs that the
/// worker does not know yet. Cost: linear in the inputs of a subtask.
class AssignmentWriter {
 public:
  AssignmentWriter(const SupervisorConfig& config, const WallClock& clock, const WorkerTable& workers, WorkerMail& mail,
                   EntitlementMail& entitlement_mail)
      : config_(config), clock_(clock), workers_(workers), mail_(mail), entitlement_mail_(entitlement_mail) {}
  AssignmentWriter(const AssignmentWriter&) = delete;
  AssignmentWriter& operator=(const AssignmentWriter&) = delete;

  /// REQUIRES: the subtask is assigned to that band already.
  void write_assignment(Job& job, std::uint32_t subtask, BandSlot band);
  /// The last message to the worker if that is a batch of this job with room, else a new one.
  AssignBatch& open_batch(Job& job, WorkerSlot worker);

 private:
  /// Returns how many data inputs were left out because all of the subtask's are finished and empty.
  std::uint16_t write_inputs(const Job& job, std::uint32_t subtask, WorkerSlot worker, AssignBatch& batch) const;
  void place_input(const Job& job, AssignedInput& input, const SubtaskHot& producer, WorkerSlot worker) const;
  void define_template(Job& job, std::uint32_t template_index, WorkerSlot worker, AssignBatch& batch);

  const SupervisorConfig& config_;
  const WallClock& clock_;
  const WorkerTable& workers_;
  WorkerMail& mail_;
  EntitlementMail& entitlement_mail_;
};

}  // namespace penstock::supervisor
