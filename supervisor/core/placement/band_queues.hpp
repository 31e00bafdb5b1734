// The subtasks that are kept here for each band, and the jobs that wait for it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class BandIndices;
class JobTable;
class PolicyTurns;
struct SupervisorCounters;

/// The part of a band that a job may fill: all of it, or its share.
struct Credit {
  std::uint32_t slots;
  std::uint32_t in_flight;
  std::uint32_t runnable;
  std::uint32_t runs;  ///< Runs that fit at once: more than slots, where each takes a part of one.
};

/// Runnable subtasks that a band may hold beyond its slots, whatever its credit: they are prepared while others run.
inline constexpr std::uint32_t kPreparedAhead = 2;

/// Keeps, for each band, the jobs that have something for it, by priority and by what they hold; and for each job the
/// subtasks that are placed on the band. Writes `LocalSet`, `WaitingJobs` and `BandEntry::entitled`.
/// Invariant: a job with subtasks for a present band has an entry there, or nothing of it may be sent to the band now.
/// Cost: logarithmic in the jobs that wait for the band.
class BandQueues {
 public:
  BandQueues(JobTable& jobs, WorkerTable& workers, BandIndices& bands, SupervisorCounters& counters, PolicyTurns& turns)
      : jobs_(jobs), workers_(workers), bands_(bands), counters_(counters), turns_(turns) {}
  BandQueues(const BandQueues&) = delete;
  BandQueues& operator=(const BandQueues&) = delete;

  /// Brings the entry up to date. False if it was removed, as the job has nothing that it may send to the band now.
  bool correct_waiting(BandSlot band, std::size_t at);
  /// The best job with something that may be sent to the band now; null: there is none.
  Job* first_waiting(BandSlot band);
  /// The job waits for the band, if it does not yet.
  void enter_waiting(const Job& job, BandSlot band, LocalSet& local);
  /// Its entries name another priority than it has now, or nothing of it could be sent before.
  void enter_waiting_anew(Job& job);
  /// A subtask that can run is kept for the band.
  void keep_ready(Job& job, BandSlot band, std::uint32_t subtask);
  /// The last pass saw nothing of the job that needs a slot of that kind, and something waits for one.
  /// REQUIRES: the job has shares.
  void ask_for_slots(const Job& job, BandSlot band);
  /// The entitlement of the job on the band has changed. REQUIRES: the job has shares.
  void follow_entitlement(Job& job, BandSlot band);
  /// Where policy sets no limit to the job, all that is on the band counts, as without a policy. Runs that have lent
  /// their slot wait for others, which must find room beside them; their jobs are not told, so each job has it.
  Credit credit_of(const Job& job, BandSlot slot) const;
  /// Whether policy lets the job run more on the band.
  bool has_slots_for(const Job& job, BandSlot slot) const;

 private:
  /// The job may run nothing on the band: its bands with slots for more look for the work again. REQUIRES: the job has
  /// shares.
  void offer_to_short_bands(const Job& job, BandSlot band);

  JobTable& jobs_;
  WorkerTable& workers_;
  BandIndices& bands_;
  SupervisorCounters& counters_;
  PolicyTurns& turns_;
};

}  // namespace penstock::supervisor
