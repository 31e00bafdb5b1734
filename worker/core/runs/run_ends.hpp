// The ends of runs: their slots are free, and their outputs are stored.
#pragma once

#include <span>

#include "common/protocol/config.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/events.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct DataRoom;
class MemoryGrants;
struct Reports;
class RunStarts;
class SubtaskEnds;
class SubtaskFlow;
struct Tables;

/// Frees the slot of a run that has ended, then sees its outputs into the store, and ends the attempt.
/// Spec: worker 5, the slot is free when computing ends, whatever happens to the outputs. Cost: constant for each run.
class RunEnds {
 public:
  RunEnds(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports,
          DataRoom& data, MemoryGrants& grants, RunStarts& starts, SubtaskEnds& ends, SubtaskFlow& flow)
      : config_(config),
        event_(event),
        tables_(tables),
        bands_(bands),
        reports_(reports),
        data_(data),
        grants_(grants),
        starts_(starts),
        ends_(ends),
        flow_(flow) {}
  RunEnds(const RunEnds&) = delete;
  RunEnds& operator=(const RunEnds&) = delete;

  void ended(std::span<const RunEnd> runs);
  void stored(const worker_event::OutputsStored& event);
  /// Its outputs are stored, or will not be.
  void finish_storing(RecordIndex index, const FailureDetail* failure);
  /// Stores outputs for which there is room now. In order, but a small output that fits passes a large one that does
  /// not: storing a reduction frees its inputs. A passed output fails in the end if nothing becomes free for it.
  void serve_room();
  /// Outputs that found no room for too long fail.
  void give_up_room();

 private:
  void look_ahead(std::span<const RunEnd> runs) const;
  void run_ended(const RunEnd& run);
  void end_stopped(const RunEnd& run);
  bool refuse_outputs(RecordIndex index);
  void store_outputs(RecordIndex index, SubtaskRecord& record);
  void succeed(RecordIndex index, const SubtaskRecord& record);

  const WorkerConfig& config_;
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  Reports& reports_;
  DataRoom& data_;
  MemoryGrants& grants_;
  RunStarts& starts_;
  SubtaskEnds& ends_;
  SubtaskFlow& flow_;
};

}  // namespace penstock::worker
