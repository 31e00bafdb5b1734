// Attempts from before a restart of the supervisor.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AttemptCounts;
struct EventContext;
class Placer;
class SubtaskMachine;
struct SupervisorCounters;
class WorkerMail;

enum class Proof : std::uint8_t { None, Success };

/// Makes an attempt of an earlier term of the state one of this term, or fences it: (subtask, attempt) names one
/// execution for ever, and no two of a subtask count. Cost: constant for an attempt.
class Adoption {
 public:
  Adoption(const SupervisorConfig& config, EventContext& event, WorkerTable& workers, WorkerMail& mail,
           SubtaskMachine& machine, SupervisorCounters& counters, Placer& placer, AttemptCounts& attempts)
      : config_(config),
        event_(event),
        workers_(workers),
        mail_(mail),
        machine_(machine),
        counters_(counters),
        placer_(placer),
        attempts_(attempts) {}
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

  /// Makes an attempt from before the restart an attempt of this term. The first claim of a subtask wins; a success
  /// wins over attempts that still run. False: the claim is refused.
  bool adopt(WorkerSlot slot, Job& job, const ClaimedAttempt& claim, Proof proof);
  /// Ends an attempt that does not count; successors that wait for the subtask at that worker wait on.
  void fence(WorkerSlot slot, Job& job, std::uint32_t subtask, std::uint64_t attempt);
  /// The end of an attempt that is unknown in this term: the attempt is adopted, and then ended like any other.
  void claim_end(WorkerSlot slot, Job& job, const AttemptReport& report);

 private:
  /// Whether this attempt, or a later one, is known to have failed: in this term, or by a record of an earlier one.
  static bool has_failed(const Job& job, std::uint32_t subtask, Attempt attempt);

  const SupervisorConfig& config_;
  EventContext& event_;
  WorkerTable& workers_;
  WorkerMail& mail_;
  SubtaskMachine& machine_;
  SupervisorCounters& counters_;
  Placer& placer_;
  AttemptCounts& attempts_;
};

}  // namespace penstock::supervisor
