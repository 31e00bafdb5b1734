// Items of a band move as far as its latches and its quota allow.
#pragma once

#include <vector>

#include "worker/core/band/latched_queue.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

struct Band;
class Bands;
struct DataRoom;
class MemoryGrants;
class RunOffers;
class RunStarts;
class SubtaskFlow;
struct Tables;

/// Pumps bands on which something changed: permits, then memory, then slots. Subtasks that are prepared in vain go
/// back. Invariant: after `pump_all` no slot and no permit is free beside an item that may use it. Cost: O(log n) for
/// each item that moves; O(n) where a prepared item has to go back.
class BandPump {
 public:
  BandPump(Tables& tables, Bands& bands, DataRoom& data, const MemoryGrants& grants, RunStarts& starts,
           RunOffers& offers, SubtaskFlow& flow)
      : tables_(tables), bands_(bands), data_(data), grants_(grants), starts_(starts), offers_(offers), flow_(flow) {}
  BandPump(const BandPump&) = delete;
  BandPump& operator=(const BandPump&) = delete;

  void pump_all();
  /// Grants are stopped: subtasks in the execution queue without memory of their own go back and wait with the rest.
  void unready(Band& band);
  /// A gang that does not begin holds nothing that other subtasks wait for, and its members can be returned. The job
  /// may have been opened since.
  void unprepare(JobSlot slot, Band& band);

 private:
  void pump(Band& band);
  void demote_if_stuck(Band& band);
  void resume_if_stuck(Band& band);
  void demote_for_room(Band& band);
  void demote_for_gangs(Band& band);
  void demote(RecordIndex index);

  Tables& tables_;
  Bands& bands_;
  DataRoom& data_;
  const MemoryGrants& grants_;
  RunStarts& starts_;
  RunOffers& offers_;
  SubtaskFlow& flow_;
  std::vector<Taken> taken_;
  std::vector<RecordIndex> granted_;
};

}  // namespace penstock::worker
