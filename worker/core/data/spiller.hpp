// Data that are needed last go to disk.
#pragma once

#include <vector>

#include "common/protocol/config.hpp"
#include "worker/core/data/data_keeper.hpp"

namespace penstock::worker {

/// Chooses data for the disk before memory is full, so that outputs hardly ever wait. Data that no waiting record reads
/// go first, the oldest of them before others; then those that are read last.
/// Cost: O(records and data) for a search, at most a few percent of a processor.
class Spiller {
 public:
  Spiller(const WorkerConfig& config, EventContext& event, JobTable& jobs, SubtaskTable& subtasks,
          WorkerCounters& counters, Bands& bands, DataTable& table, MemoryRoom& room);
  Spiller(const Spiller&) = delete;
  Spiller& operator=(const Spiller&) = delete;

  /// Spills as much as waiting outputs, a transfer without room and the limit ask for.
  void keep_room(Bytes blocked);
  void spill(Bytes excess);
  void spilled(const worker_event::DatumSpilled& event);
  /// Of a further look for data, if one is wanted.
  Instant deadline() const { return postponed_ ? again_at_ : kNever; }

 private:
  void mark_needs();

  const WorkerConfig& config_;
  const Bytes spill_from_;
  EventContext& event_;
  JobTable& jobs_;
  SubtaskTable& subtasks_;
  WorkerCounters& counters_;
  Bands& bands_;
  DataTable& table_;
  MemoryRoom& room_;
  Instant again_at_ = kNever;  ///< Earliest time of another search.
  bool postponed_ = false;     ///< A further look is wanted then.
  struct Need {
    bool needed = false;
    bool mapped = false;  ///< Spilling it would free no memory.
    FetchTurn turn{};     ///< Of the first in line that reads it.
  };
  std::vector<Need> needs_;  ///< By datum; scratch.
  std::vector<DatumIndex> victims_;
};

}  // namespace penstock::worker
