// The data that a worker holds: brought to it, made here, and dropped.
#pragma once

#include <optional>
#include <vector>

#include "common/base/heap.hpp"
#include "common/protocol/config.hpp"
#include "worker/core/data/data_table.hpp"
#include "worker/core/data/memory_room.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_table.hpp"
#include "worker/core/reports/reporter.hpp"

namespace penstock::worker {

/// A datum in the line of those that are to be brought, by the best record that waits for it.
struct FetchTurn {
  std::uint64_t priority;
  std::uint64_t sequence;
  DatumIndex datum;
  friend bool operator<(const FetchTurn& a, const FetchTurn& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
  }
};

/// A datum for which the wait is over.
struct InputNews {
  DatumIndex datum;                      ///< None: nothing follows.
  std::optional<FailureDetail> failure;  ///< Otherwise it has arrived.
};

/// Owns the transfers to this worker, from others and from disk, and decides what is dropped. Records that wait for a
/// datum are told by `InputNews`.
/// Invariant: each wait for a datum belongs to a transfer that is under way or has its turn; a pinned or awaited datum
/// is not dropped. Cost: O(log n) for each transfer.
class DataKeeper {
 public:
  DataKeeper(const WorkerConfig& config, EventContext& event, JobTable& jobs, SubtaskTable& subtasks,
             WorkerCounters& counters, Reporter& reporter, DataTable& table, const MemoryRoom& room)
      : config_(config),
        event_(event),
        jobs_(jobs),
        subtasks_(subtasks),
        counters_(counters),
        reporter_(reporter),
        table_(table),
        room_(room) {}
  DataKeeper(const DataKeeper&) = delete;
  DataKeeper& operator=(const DataKeeper&) = delete;

  // Transfers.
  /// The record waits until the datum is in memory. Spec: worker 3, all waiting records share one transfer.
  void want(DatumIndex index, RecordIndex waiter);
  /// The datum is brought here after all that a record waits for. REQUIRES: the datum is remote.
  void keep(DatumIndex index);
  /// Starts transfers in turn, as far as there are free ones and room.
  void start_fetches();
  /// Bytes of the first datum in line, if there was no room for it.
  Bytes blocked() const { return blocked_; }
  InputNews fetched(const FetchEnd& fetch);
  InputNews restored(const worker_event::DatumRestored& event);
  /// An attempt of this worker has made the datum, which is in the store. True if its readers have it now: `arrived` is
  /// next. `checkpoint`: a new datum goes to shared storage, too.
  bool made_here(DatumIndex index, Bytes bytes, bool checkpoint);
  /// The datum is in memory. Returns the records that have waited for it.
  std::vector<RecordIndex> arrived(DatumIndex index);
  /// The records that have waited for it wait no longer.
  std::vector<RecordIndex> take_waiters(DatumIndex index) { return std::exchange(table_[index].waiters, {}); }
  /// No attempt needs the datum here any more.
  void stop_fetching(DatumIndex index);

  // Pins and drops.
  void unpin(DatumIndex index);
  /// Drops a datum from the store that is not needed: a dropped one, the outputs of a run that does not count, or a
  /// late arrival from another worker. While an attempt that makes the same datum is under way, the store may have the
  /// new one already: then the end of the attempt decides.
  void drop_from_store(const DataKey& key);
  /// The same datum may be here from elsewhere, for a reader: the store has it once, and it stays.
  void drop_uncounted(const DataKey& key);
  void drop(DatumIndex index);
  /// The copy goes, but the datum stays known: a waiting reader must fail, not run without it.
  void lose(DatumIndex index);
  void drop_all_of(JobSlot slot);
  void validate() const;

 private:
  struct NoTrack {
    void operator()(const FetchTurn&, std::uint32_t) const {}
  };
  bool start_fetch(const FetchTurn& turn);
  bool is_other_datum(DatumIndex index, Bytes bytes) const;

  const WorkerConfig& config_;
  EventContext& event_;
  JobTable& jobs_;
  SubtaskTable& subtasks_;
  WorkerCounters& counters_;
  Reporter& reporter_;
  DataTable& table_;
  const MemoryRoom& room_;
  std::uint32_t fetches_running_ = 0;
  Heap<FetchTurn, NoTrack> fetch_turns_;  ///< Data that wait for a transfer; some may be cancelled.
  Bytes blocked_;
};

}  // namespace penstock::worker
