// Subtasks that leave by order: cancelled, preempted, stolen, or returned.
#pragma once

#include "common/protocol/assign.hpp"
#include "common/protocol/cancel.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct DataRoom;
class Entitlements;
struct Runs;
struct Tables;

/// Spec: worker 8, a cancel works in every state, is idempotent, and has at most one terminal result.
class Cancels {
 public:
  Cancels(Tables& tables, Bands& bands, DataRoom& data, Runs& runs, Entitlements& entitlements)
      : tables_(tables), bands_(bands), data_(data), runs_(runs), entitlements_(entitlements) {}
  Cancels(const Cancels&) = delete;
  Cancels& operator=(const Cancels&) = delete;

  void apply(const CancelBatch& message);
  void steal(const StealRequest& message);
  /// The job is closed here with its last subtask.
  void forget(const ForgetJob& message);
  /// Returns all that has not begun.
  void return_all();
  /// Subtasks of a job that may start nothing here must not fill the worker: the job that has to end before policy
  /// entitles theirs would find no room (seed 821017888 of the simulator). O(n) in the records of closed jobs.
  void return_one_closed();

 private:
  void cancel(RecordIndex index, Duration kill_after);
  void cancel_successors_of(JobSlot job, SubtaskIndex producer, Duration kill_after);
  void preempt(RecordIndex index, Duration grace);
  void return_unprepared(RecordIndex index);

  Tables& tables_;
  Bands& bands_;
  DataRoom& data_;
  Runs& runs_;
  Entitlements& entitlements_;
};

}  // namespace penstock::worker
