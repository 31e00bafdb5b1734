// Room for data in memory, and the finished outputs that wait for it.
#pragma once

#include <deque>
#include <vector>

#include "common/protocol/config.hpp"
#include "worker/core/band/bands.hpp"
#include "worker/core/data/data_table.hpp"
#include "worker/core/event_context.hpp"

namespace penstock::worker {

/// The limit of memory for data, `worker.store_bytes_max`, the bytes against it, and the attempts with outputs that
/// wait for room (fault F42): their slots are free, but hardly anything is started while they wait.
class MemoryRoom {
 public:
  MemoryRoom(const WorkerConfig& config, const EventContext& event, const DataTable& table, SubtaskTable& subtasks,
             Bands& bands)
      : config_(config), event_(event), table_(table), subtasks_(subtasks), bands_(bands) {}
  MemoryRoom(const MemoryRoom&) = delete;
  MemoryRoom& operator=(const MemoryRoom&) = delete;

  bool bounded() const { return !config_.store_bytes_max.is_zero(); }
  Bytes bytes_here() const { return table_.bytes_here() + mapped_beyond_; }
  Bytes bytes_taken() const { return bytes_here() + table_.bytes_arriving(); }
  Bytes bytes_beyond() const { return mapped_beyond_; }
  bool has_room(Bytes bytes) const { return !bounded() || bytes_taken() + bytes <= config_.store_bytes_max; }
  bool too_large(Bytes bytes) const { return bounded() && bytes > config_.store_bytes_max; }
  /// Nothing runs and nothing leaves for the disk: unless something is started, which may read what can be dropped
  /// then, nothing would ever become free.
  bool at_rest() const { return bands_.idle() && nothing_leaves(); }
  bool nothing_leaves() const { return table_.bytes_leaving().is_zero(); }

  /// Mappings of other processes hold memory whatever happens to the datum here: writing it to disk would make no room,
  /// and a dropped datum still takes some. Such a process never sees changed bytes: sealed memory is not used again.
  void mapped(const worker_event::DataMapped& event);
  const std::vector<DataKey>& mapped() const { return mapped_; }

  // Attempts with outputs that wait, in order.
  void wait(RecordIndex index);
  /// Idempotent.
  void stop_waiting(RecordIndex index);
  bool any_waiting() const { return !waiting_.empty(); }
  std::size_t waiting() const { return waiting_.size(); }
  RecordIndex waiting(std::size_t position) const { return waiting_[position]; }
  Bytes waiting_bytes() const { return waiting_bytes_; }
  /// Memory became free: the first in line waits anew.
  void note_progress() {
    if (any_waiting()) given_up_at_ = later(event_.now, config_.store_wait_max);
  }
  /// While outputs wait, the first of them fails then.
  Instant given_up_at() const { return given_up_at_; }
  void validate() const;

 private:
  const WorkerConfig& config_;
  const EventContext& event_;
  const DataTable& table_;
  SubtaskTable& subtasks_;
  Bands& bands_;
  std::deque<RecordIndex> waiting_;
  Bytes waiting_bytes_;          ///< Of the outputs of those.
  std::vector<DataKey> mapped_;  ///< By other processes, and in memory here.
  Bytes mapped_beyond_;          ///< In memory for other processes alone.
  Instant given_up_at_ = kNever;
};

}  // namespace penstock::worker
