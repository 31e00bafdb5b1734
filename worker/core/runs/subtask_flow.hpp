// The way of a subtask from its arrival to the execution queue.
#pragma once

#include <vector>

#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct DataRoom;
struct InputNews;
class MemoryGrants;
class SubtaskEnds;
struct Tables;

/// Moves subtasks through the stages before their slot: producers, permit, memory, inputs. `BandPump` calls for the
/// next stage when a queue or the quota allows it. Cost: O(log n) for each stage.
class SubtaskFlow {
 public:
  SubtaskFlow(EventContext& event, Tables& tables, Bands& bands, DataRoom& data, const MemoryGrants& grants,
              SubtaskEnds& ends)
      : event_(event), tables_(tables), bands_(bands), data_(data), grants_(grants), ends_(ends) {}
  SubtaskFlow(const SubtaskFlow&) = delete;
  SubtaskFlow& operator=(const SubtaskFlow&) = delete;

  /// All producers have finished: the subtask waits for a permit, or is ready if it needs none.
  void enqueue(RecordIndex index);
  /// The subtask gives its permit, memory and inputs back and waits for a permit again.
  void put_back(RecordIndex index);
  /// The subtask has a permit. Spec: worker 3, sizes are known by now; then quota, then fetch, then the execution
  /// queue.
  void begin_prepare(RecordIndex index);
  /// The subtask has its memory.
  void bring_inputs(RecordIndex index);
  /// A datum is in memory: records that have waited for it alone are ready.
  void input_arrived(DatumIndex index);
  /// The same, or the records fail.
  void input_settled(const InputNews& news);

  // Cached successors.
  void cache(SubtaskRecord& record);
  /// The producer has finished here: successors that are complete now go on. After its report: no successor may be
  /// reported before its producer.
  void producer_finished(JobSlot slot, const AttemptRef& producer);
  /// The producer has finished elsewhere; complete successors go on with `forward_complete`.
  void producer_noticed(JobSlot slot, SubtaskIndex producer);
  void forward_complete();
  /// All producers of this successor finished here before it arrived: forwards it like any other.
  void forward_late(RecordIndex index);

 private:
  bool nothing_to_prepare(const SubtaskRecord& record) const;
  void make_ready(RecordIndex index, SubtaskRecord& record);
  void forward(RecordIndex index);
  ForwardResult try_forward(RecordIndex index, SubtaskRecord& record);

  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  DataRoom& data_;
  const MemoryGrants& grants_;
  SubtaskEnds& ends_;
  std::vector<RecordIndex> complete_;  ///< Successors with all producers finished, to be forwarded.
};

}  // namespace penstock::worker
