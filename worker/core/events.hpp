// The events of a worker's core.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/report.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// The end of a run of an attempt, as its runner reports it. `record` and `attempt` are those of `StartSubtask`.
struct RunEnd {
  RecordIndex record;
  Attempt attempt;
  bool succeeded = true;
  /// The outputs can be read already; false: they go through `StoreOutputs` first.
  bool stored = true;
  std::uint32_t run_us = 0;
  std::uint32_t run_ns = 0;                ///< The same, if the runner measures it; saturated.
  Bytes peak;                              ///< The most memory that it used; 0: not measured.
  std::span<const OutputReport> outputs;   ///< Outputs with bytes.
  const FailureDetail* failure = nullptr;  ///< Of a run that failed.
  Instant ended = kNever;                  ///< If the runner knows better than `now`.
  /// The offered subtask that its lane took over in that instant; none: the lane is idle.
  RecordIndex next;
};

/// The present memory of a run. `record` and `attempt` are those of `StartSubtask`.
struct RunMemory {
  RecordIndex record;
  Attempt attempt;
  Bytes used;
};

/// The end of one transfer to this worker.
struct FetchEnd {
  DataKey key;
  bool succeeded = true;
  Bytes bytes;        ///< Its true size.
  bool gone = false;  ///< The holder no longer has it; false: a passing fault of the network.
};

namespace worker_event {
struct MessageArrived {
  const ToWorker& message;
};
struct RunsEnded {
  std::span<const RunEnd> runs;   ///< Runs of one lane are in order.
  bool offers_withdrawn = false;  ///< No run on offer can be taken over any more, except those in `runs`.
};
/// The combining thread is about to leave: lanes may take runs over until the next event. Answered by `StartSubtask`
/// with `offered`. While runs are on offer the next event is `RunsEnded` with `offers_withdrawn`.
struct OffersWanted {};
struct FetchesEnded {
  std::span<const FetchEnd> fetches;
};
/// Outputs of an attempt that had to be stored after its run can be read now, or could not be stored.
struct OutputsStored {
  RecordIndex record;
  Attempt attempt;
  const FailureDetail* failure = nullptr;
};
/// The disk has a datum, which memory keeps until `ReleaseDatum`; or the disk has failed.
struct DatumSpilled {
  DataKey key;
  bool succeeded = true;
};
/// Shared storage has a copy, or has failed.
struct DatumCheckpointed {
  DataKey key;
  bool succeeded = true;
};
/// The datum is back in memory; the disk still has it.
struct DatumRestored {
  DataKey key;
  bool succeeded = true;  ///< False: its bytes on disk are damaged or gone; the datum is lost.
  Bytes bytes;            ///< Its true size; 0: not known.
};
/// A running attempt is about to wait for nested work. Answered by `AnswerYield`; until then it still has its slot.
struct SlotYielded {
  RecordIndex record;
  Attempt attempt;
};
/// The attempt goes on as soon as it has its slot again: `StartSubtask` with `resumed`.
struct SlotWanted {
  RecordIndex record;
  Attempt attempt;
};
struct LanesRestarted {
  BandIndex band;
  std::span<const SlotIndex> lanes;
};
/// The measured memory of a band's commands together, or of its process runners.
struct MemoryMeasured {
  BandIndex band;
  Bytes used;
  RunnerKind by = RunnerKind::Command;
  Bytes idle;  ///< The part of it that runners without a run hold. No quota counts it.
};
/// The present memory of runs. The most that they need is known at their end; that it is more than granted is known
/// now.
struct RunsMeasured {
  std::span<const RunMemory> runs;
};
/// Data that other processes of the host have mapped: clients that read results. The memory is not free until they let
/// go.
struct DataMapped {
  std::span<const DataKey> here;  ///< Also in memory here.
  Bytes beyond;                   ///< Of data that were dropped, or have left for the disk.
};
/// The supervisor has died, and its next term has made a link: messages on the old one may be lost.
struct SupervisorReturned {};
/// The supervisor has confirmed that it received all that was sent before `sent`.
struct SupervisorHeard {
  Instant sent{};
};
struct Tick {};
}  // namespace worker_event

using WorkerEvent = std::variant<worker_event::MessageArrived, worker_event::RunsEnded, worker_event::FetchesEnded,
                                 worker_event::OutputsStored, worker_event::DatumSpilled, worker_event::DatumRestored,
                                 worker_event::SlotYielded, worker_event::SlotWanted, worker_event::LanesRestarted,
                                 worker_event::MemoryMeasured, worker_event::SupervisorReturned, worker_event::Tick,
                                 worker_event::OffersWanted, worker_event::DatumCheckpointed,
                                 worker_event::RunsMeasured, worker_event::DataMapped, worker_event::SupervisorHeard>;

}  // namespace penstock::worker
