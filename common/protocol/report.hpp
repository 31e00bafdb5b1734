// What a worker says about attempts, in order.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/seldom.hpp"
#include "common/base/units.hpp"
#include "common/protocol/cancel.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/worker_counters.hpp"

namespace penstock {

/// How an attempt stands. DO NOT RENUMBER (wire).
enum class Outcome : std::uint8_t {
  Started = 0,    ///< Not an end: it has been running for a while. Short attempts never say it.
  Succeeded = 1,
  Failed = 2,
  Cancelled = 3,
  Returned = 4,   ///< Given back unstarted; it may be assigned elsewhere.
};

/// How a successful attempt came to its slot, and why it was not forwarded. DO NOT RENUMBER (wire).
enum class ForwardResult : std::uint8_t {
  NotCached = 0,     ///< It arrived ready to run: not a successor here.
  Hit = 1,           ///< Started without asking.
  InputRemote = 2,
  InputSpilled = 3,
  Quota = 4,
  Lease = 5,         ///< Its lease was revoked before its inputs were complete.
};

static_assert(static_cast<std::size_t>(ForwardResult::Lease) + 1 == WorkerCounters::kForwardResults);

/// The latest word about one attempt. It owns the next `output_count` outputs of its batch, and the next failure if it
/// failed.
struct AttemptReport {
  SubtaskIndex subtask;
  std::uint32_t run_us = 0;        ///< Time on the slot, saturated.
  Attempt attempt;
  std::uint16_t output_count = 0;  ///< Outputs that hold bytes; empty ones are left out.
  Outcome outcome = Outcome::Succeeded;
  ForwardResult forward = ForwardResult::NotCached;
  BandIndex band;
  friend bool operator==(const AttemptReport&, const AttemptReport&) = default;
};

struct OutputReport {
  std::uint16_t output = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const OutputReport&, const OutputReport&) = default;
};

/// When an attempt went through its worker, in microseconds of that worker's clock; only differences mean anything.
struct AttemptTrace {
  SubtaskIndex subtask;
  Attempt attempt;
  BandIndex band;
  SlotIndex lane;
  std::uint64_t arrived_us = 0;
  std::uint64_t ready_us = 0;    ///< Its inputs and memory were there.
  std::uint64_t started_us = 0;
  std::uint64_t ended_us = 0;
  friend bool operator==(const AttemptTrace&, const AttemptTrace&) = default;
};

/// The reports of one job within a batch, oldest first.
struct JobReports {
  JobId job;
  std::vector<AttemptReport> attempts;
  std::vector<OutputReport> outputs;
  std::vector<FailureDetail> failures;
  std::vector<AttemptTrace> traces;  ///< Only of jobs that want them.
  JobIdentity identity{};
  friend bool operator==(const JobReports&, const JobReports&) = default;
};

/// How full a band is, for placement and for people.
struct BandLoad {
  BandIndex band;
  std::uint32_t cached = 0;     ///< Successors that wait for inputs.
  std::uint32_t queued = 0;     ///< In the prepare queue.
  std::uint32_t preparing = 0;
  std::uint32_t ready = 0;      ///< In the execution queue.
  std::uint32_t running = 0;
  Bytes quota_used;
  Bytes store_used;
  std::uint32_t yielded = 0;  ///< Runs that have lent their slot, or wait for it; not in `running`.
  friend bool operator==(const BandLoad&, const BandLoad&) = default;
};

/// A copy of a datum that this worker fetched from another, or has put on shared storage.
struct ReplicaReport {
  SubtaskId producer;
  std::uint16_t output = 0;
  bool checkpoint = false;
  friend bool operator==(const ReplicaReport&, const ReplicaReport&) = default;
};

/// One ordered stream for each worker: no successor's result stands before its producers' results (spec worker 5).
struct ReportBatch {
  std::uint64_t number = 0;  ///< Counts the batches of this incarnation from 1; `ReportsApplied` answers it.
  std::vector<JobReports> jobs;
  std::vector<ReplicaReport> replicas;
  std::vector<BandLoad> loads;  ///< With the periodic report and when a band falls idle.
  Seldom<WorkerCounters> counters{};  ///< With the loads.
  friend bool operator==(const ReportBatch&, const ReportBatch&) = default;
};

/// The answer to a `Drain`, or the news that nothing is left to finish.
struct DrainState {
  bool draining = false;
  bool empty = false;
  friend bool operator==(const DrainState&, const DrainState&) = default;
};

struct ExplainAnswer {
  std::uint64_t question = 0;
  bool known = false;      ///< False: no live attempt of it is here.
  std::string state;
  std::string reason;
  friend bool operator==(const ExplainAnswer&, const ExplainAnswer&) = default;
};

struct LogAnswer {
  std::uint64_t question = 0;
  std::string lines;  ///< Each begins with its attempt; empty: nothing was written here.
  friend bool operator==(const LogAnswer&, const LogAnswer&) = default;
};

/// What a worker holds of a band for a gang at its barrier.
struct BarrierAnswer {
  JobId job;
  BandIndex band;
  std::uint64_t barrier = 0;
  MilliSlots held;  ///< All that was asked for; 0: it has been given back, because no word came in time.
  friend bool operator==(const BarrierAnswer&, const BarrierAnswer&) = default;
};

/// How far a claimed attempt has come. DO NOT RENUMBER (wire).
enum class ClaimedStage : std::uint8_t {
  Waiting = 0,  ///< For producers.
  Queued = 1,   ///< All its producers have finished.
  Running = 2,
};

/// An attempt that an earlier life of the supervisor has given to this worker and that has not ended.
struct ClaimedAttempt {
  SubtaskIndex subtask;
  Attempt attempt;
  BandIndex band;
  ClaimedStage stage = ClaimedStage::Queued;
  friend bool operator==(const ClaimedAttempt&, const ClaimedAttempt&) = default;
};

/// A datum that is on this worker.
struct ClaimedDatum {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const ClaimedDatum&, const ClaimedDatum&) = default;
};

struct ClaimedJob {
  JobId job;
  std::vector<ClaimedAttempt> attempts;
  std::vector<ClaimedDatum> data;  ///< By producer and output; those of one producer are never parted.
  JobIdentity identity{};
  friend bool operator==(const ClaimedJob&, const ClaimedJob&) = default;
};

/// What a worker has from an earlier life of the supervisor; large claims come in several parts. Said after all reports
/// that were not known to be applied have been said again.
struct WorkerClaim {
  bool last = true;
  bool draining = false;
  std::vector<ClaimedJob> jobs;  ///< Every job that it knows, also those of which it holds nothing.
  friend bool operator==(const WorkerClaim&, const WorkerClaim&) = default;
};

using FromWorker =
    std::variant<Register, ReportBatch, DrainState, ExplainAnswer, WorkerClaim, LogAnswer, BarrierAnswer>;

}  // namespace penstock
