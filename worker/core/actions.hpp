// The actions that a worker's core orders.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/seldom.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/report.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// One input that a runner reads.
struct RunInput {
  SubtaskIndex producer;
  std::uint16_t output = 0;
  /// The producer has made nothing. Only for a known empty output, never for one that is not found.
  bool empty = false;
  friend bool operator==(const RunInput&, const RunInput&) = default;
};

namespace worker_action {
/// Run an attempt on a lane of a band. All pointed-to memory stays unchanged until the run has ended.
struct StartSubtask {
  RecordIndex record;
  SubtaskId id;
  BandIndex band;
  SlotIndex lane;
  Attempt attempt;
  const Template* program = nullptr;
  std::string_view payload;
  std::span<const RunInput> inputs;
  JobIdentity identity{};            ///< Of its job; none: unknown.
  std::uint16_t omitted_inputs = 0;  ///< Further data inputs, all empty.
  DeviceSet devices = 0;             ///< Of a band with several, those that it may use; 0: all. Offered: the lane's.
  /// Offered: a lane of the band that ends a run may take this run over, in the order of these actions. No lane is set
  /// then.
  bool offered = false;
  bool within_job = false;  ///< The same, but only after a run of the same job.
  bool resumed = false;     ///< Go on with the run that had yielded.
};
/// Tell a run whether its slot is lent. The run goes on either way.
struct AnswerYield {
  RecordIndex record;
  Attempt attempt;
  BandIndex band;
  SlotIndex lane;
  bool lent = false;  ///< False: as many runs of the band as may have lent theirs (`worker.yields_max`).
};
/// Ask a run to stop, or end it. Each is said at most once for a run, the end once more when it is overdue.
struct StopRun {
  RecordIndex record;
  Attempt attempt;
  BandIndex band;
  SlotIndex lane;
  bool kill = false;
  bool overdue = false;  ///< The run exceeds its time limit and is killed at any cost.
};
/// Make the outputs of an ended run readable; answered by `OutputsStored`. A run that has ended with unstored outputs
/// is followed by this or by `DiscardOutputs`, once.
struct StoreOutputs {
  RecordIndex record;
  SubtaskId id;
  Attempt attempt;
};
/// The outputs of an ended run will not be stored; their bytes need not be kept.
struct DiscardOutputs {
  RecordIndex record;
  Attempt attempt;
};
struct FetchInput {
  DataKey key;
  WorkerId from;
  Bytes bytes;                 ///< Expected; 0: unknown.
  std::uint64_t priority = 0;  ///< Of the first waiting attempt; larger first.
  JobIdentity identity{};      ///< Of the datum's job; none: unknown here.
};
struct CancelFetch {
  DataKey key;
};
struct RestoreInput {
  DataKey key;
};
struct DropDatum {
  DataKey key;
};
/// Write a datum to disk and keep it in memory all the same; answered by `DatumSpilled`.
struct SpillDatum {
  DataKey key;
};
/// Put a copy of a datum that is in memory on shared storage; answered by `DatumCheckpointed`.
struct CheckpointDatum {
  DataKey key;
};
/// From now on the worker counts a datum as spilled that another incarnation has put on shared storage; `RestoreInput`
/// reads it.
struct AdoptCheckpoint {
  DataKey key;
  Incarnation writer;
};
/// Remove the data on shared storage of these incarnations of workers, which are gone.
struct SweepCheckpoints {
  std::vector<Incarnation> writers;
};
/// Remove the data that attempts of a job have saved for later ones under its name: there will be none.
struct SweepAttempts {
  std::string key;
};
/// The disk has the datum: free its memory.
struct ReleaseDatum {
  DataKey key;
};
struct SendReport {
  ReportBatch batch;
};
struct SendDrainState {
  DrainState state;
};
struct SendBarrierAnswer {
  BarrierAnswer answer;
};
struct SendExplanation {
  ExplainAnswer answer;
};
/// Introduce this worker again, as one that reclaims, before all further actions. Messages that were not sent yet are
/// dropped; the core repeats them.
struct Reclaim {};
struct SendClaim {
  WorkerClaim claim;
};
/// The last step against too much memory in use: replace idle runners.
struct RestartRunners {
  BandIndex band;
  std::vector<SlotIndex> lanes;
};
/// Idle lanes will need a process runner for this template: start it now if possible. Optional.
struct WarmRunners {
  BandIndex band;
  std::vector<SlotIndex> lanes;
  const Template* program = nullptr;  ///< Unchanged while the action is carried out.
};
/// The data under this number belong to that job and are given to no other one. No identity: the job is forgotten.
struct NameJob {
  JobId job;
  JobIdentity identity;
};
/// The peer has broken the protocol in a way that frames cannot show; log it.
struct Reject {
  Seldom<Error> error;
};
}  // namespace worker_action

using WorkerAction =
    std::variant<worker_action::StartSubtask, worker_action::StopRun, worker_action::StoreOutputs,
                 worker_action::DiscardOutputs, worker_action::FetchInput, worker_action::CancelFetch,
                 worker_action::RestoreInput, worker_action::DropDatum, worker_action::SpillDatum,
                 worker_action::ReleaseDatum, worker_action::CheckpointDatum, worker_action::AdoptCheckpoint,
                 worker_action::SweepCheckpoints, worker_action::SweepAttempts, worker_action::SendReport,
                 worker_action::SendDrainState, worker_action::SendBarrierAnswer, worker_action::SendExplanation,
                 worker_action::Reclaim, worker_action::SendClaim, worker_action::RestartRunners,
                 worker_action::WarmRunners, worker_action::Reject, worker_action::NameJob, worker_action::AnswerYield>;

}  // namespace penstock::worker
