// Priorities of jobs and subtasks that change.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class BandIndices;
class BandQueues;
struct JobIndices;
class JobRecords;
class Placer;
class PolicyTurns;
class PolicyView;
class WorkerMail;

/// Changes the order in which jobs, and the subtasks of one, are served, here and on the workers that have heard of the
/// job. Cost: linear in the bands of the job.
class JobPriorities {
 public:
  JobPriorities(WorkerTable& workers, WorkerMail& mail, BandIndices& bands, PolicyState& policy, JobIndices& indices,
                const PolicyView& view, PolicyTurns& turns, JobRecords& records, BandQueues& queues, Placer& placer)
      : workers_(workers),
        mail_(mail),
        bands_(bands),
        policy_(policy),
        indices_(indices),
        view_(view),
        turns_(turns),
        records_(records),
        queues_(queues),
        placer_(placer) {}
  JobPriorities(const JobPriorities&) = delete;
  JobPriorities& operator=(const JobPriorities&) = delete;

  /// As jobs are ordered inside, larger first.
  void change_priority(Job& job, std::int32_t priority);
  /// Nothing of the job is kept for any band.
  void clear_placements(Job& job);
  /// Replaces the user's priority of the subtask.
  void change_subtask_priority(Job& job, std::uint32_t subtask, std::int32_t priority);
  /// Follows a reload that changes how the pool writes priorities; an operator that has changed the order of jobs has
  /// to do so again.
  void follow_scale(Job& job);

 private:
  void send_priority(const Job& job);

  WorkerTable& workers_;
  WorkerMail& mail_;
  BandIndices& bands_;
  PolicyState& policy_;
  JobIndices& indices_;
  const PolicyView& view_;
  PolicyTurns& turns_;
  JobRecords& records_;
  BandQueues& queues_;
  Placer& placer_;
};

}  // namespace penstock::supervisor
