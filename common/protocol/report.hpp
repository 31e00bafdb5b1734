// Messages from a worker about attempts, in order.
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

/// The state of an attempt in a report. DO NOT RENUMBER (wire).
enum class Outcome : std::uint8_t {
  Started = 0,  ///< Not an end: it has been running for a while. Short attempts never report it.
  Succeeded = 1,
  Failed = 2,
  Cancelled = 3,
  Returned = 4,  ///< Given back unstarted; it may be assigned again.
  Lent = 5,      ///< Not an end: the run has lent its slot, and waits for others,
  Wanted = 6,    ///< and waits to have a slot again. To an older supervisor both are as `Started`.
};
constexpr bool is_end(Outcome outcome) {
  return outcome != Outcome::Started && outcome != Outcome::Lent && outcome != Outcome::Wanted;
}

/// The way of a successful attempt to its slot, or why it was not forwarded. DO NOT RENUMBER (wire).
enum class ForwardResult : std::uint8_t {
  NotCached = 0,  ///< Arrived ready to run: not a cached successor.
  Hit = 1,        ///< Started without asking.
  InputRemote = 2,
  InputSpilled = 3,
  Quota = 4,
  Lease = 5,  ///< Its lease was revoked before its inputs were complete.
};

static_assert(static_cast<std::size_t>(ForwardResult::Lease) + 1 == WorkerCounters::kForwardResults);

/// The latest state of one attempt. The report owns the next `output_count` outputs of its batch, and the next failure
/// if it failed.
struct AttemptReport {
  SubtaskIndex subtask;
  std::uint32_t run_us = 0;        ///< Time on the slot, saturated.
  Attempt attempt;
  std::uint16_t output_count = 0;  ///< Outputs with bytes; empty ones are left out.
  Outcome outcome = Outcome::Succeeded;
  ForwardResult forward = ForwardResult::NotCached;
  BandIndex band;
  DeviceSet devices = 0;  ///< Of a run that has started on a band with several; 0: it has none of them.
  friend bool operator==(const AttemptReport&, const AttemptReport&) = default;
};

struct OutputReport {
  std::uint16_t output = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const OutputReport&, const OutputReport&) = default;
};

/// Times of an attempt, in microseconds of its worker's clock; only differences mean anything.
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
  std::vector<AttemptTrace> traces;  ///< Only of traced jobs.
  JobIdentity identity{};
  friend bool operator==(const JobReports&, const JobReports&) = default;
};

/// The load of a band, for placement and for people.
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

/// One ordered stream for each worker: a successor's result never precedes its producers' results (spec worker 5).
struct ReportBatch {
  std::uint64_t number = 0;  ///< Counts the batches of this incarnation from 1; `ReportsApplied` answers it.
  std::vector<JobReports> jobs;
  std::vector<ReplicaReport> replicas;
  std::vector<BandLoad> loads;  ///< With the periodic report and when a band falls idle.
  Seldom<WorkerCounters> counters{};  ///< With the loads.
  friend bool operator==(const ReportBatch&, const ReportBatch&) = default;
};

/// The answer to a `Drain`, or the message that nothing is left to finish.
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
  std::string lines;  ///< Each line begins with its attempt; empty: nothing was written here.
  friend bool operator==(const LogAnswer&, const LogAnswer&) = default;
};

/// The slots of a band that a worker holds for a gang at its barrier.
struct BarrierAnswer {
  JobId job;
  BandIndex band;
  std::uint64_t barrier = 0;
  MilliSlots held;  ///< All requested slots; 0: given back, because no message came in time.
  friend bool operator==(const BarrierAnswer&, const BarrierAnswer&) = default;
};

/// The progress of a claimed attempt. DO NOT RENUMBER (wire).
enum class ClaimedStage : std::uint8_t {
  Waiting = 0,  ///< For producers.
  Queued = 1,   ///< All its producers have finished.
  Running = 2,
};

/// An attempt that an earlier term of the supervisor has given to this worker and that has not ended.
struct ClaimedAttempt {
  SubtaskIndex subtask;
  Attempt attempt;
  BandIndex band;
  ClaimedStage stage = ClaimedStage::Queued;
  DeviceSet devices = 0;  ///< As in `AttemptReport`.
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
  std::vector<ClaimedDatum> data;  ///< By producer and output; those of one producer are never split.
  JobIdentity identity{};
  friend bool operator==(const ClaimedJob&, const ClaimedJob&) = default;
};

/// The attempts and data that a worker holds from an earlier term of the supervisor; large claims come in several
/// parts. Sent after all reports that may not have been applied have been sent again.
struct WorkerClaim {
  bool last = true;
  bool draining = false;
  std::vector<ClaimedJob> jobs;  ///< Every job that it knows, also those of which it holds nothing.
  friend bool operator==(const WorkerClaim&, const WorkerClaim&) = default;
};

using FromWorker =
    std::variant<Register, ReportBatch, DrainState, ExplainAnswer, WorkerClaim, LogAnswer, BarrierAnswer>;

}  // namespace penstock
