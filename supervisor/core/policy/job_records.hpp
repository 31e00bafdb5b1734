// Records about jobs that change or end.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class CommitGate;
class WallClock;

/// Writes what must survive a restart when an operator or the policy changes a job or a subtask, and when a job ends.
/// Without a journal it writes nothing. Cost: constant; the end of a job is linear in its kept outputs.
class JobRecords {
 public:
  JobRecords(const WallClock& clock, CommitGate& gate, PolicyState& policy)
      : clock_(clock), gate_(gate), policy_(policy) {}
  JobRecords(const JobRecords&) = delete;
  JobRecords& operator=(const JobRecords&) = delete;

  /// The job's priority, holds, policy settings, pool or cancellation have changed, or since when its time limit
  /// counts.
  void record_change(const Job& job);
  /// The subtask's history, priority or cancellation has changed.
  void record_change(const Job& job, std::uint32_t subtask);
  /// The job has ended, or less of it is kept than before.
  void record_end(const Job& job);

 private:
  const WallClock& clock_;
  CommitGate& gate_;
  PolicyState& policy_;
};

}  // namespace penstock::supervisor
