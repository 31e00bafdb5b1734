// Runs that lanes take over by themselves, because asking the core for each would take longer than the runs.
#pragma once

#include <vector>

#include "common/protocol/config.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

struct Band;
class Bands;
struct DataRoom;
class RunStarts;
struct Tables;

/// Spec: worker 2, an item leaves only together with its slot: a lane that ends a run takes the next item over with the
/// slot and in the order of the queue, and a withdrawal precedes any event that could change this order. Only the path
/// is shorter. Nothing is offered unless a run has ended since the last withdrawal: a band of long runs would be asked
/// again and again for nothing.
class RunOffers {
 public:
  RunOffers(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, DataRoom& data,
            RunStarts& starts)
      : config_(config), event_(event), tables_(tables), bands_(bands), data_(data), starts_(starts) {}
  RunOffers(const RunOffers&) = delete;
  RunOffers& operator=(const RunOffers&) = delete;

  void offer(Band& band);
  void withdraw();
  /// The number of waiting items that may start now. When runs are very short, further lanes stay asleep and waiting
  /// items are left to the running lane; but not once it has shown no progress for `report_after`: then its run is not
  /// short.
  std::size_t starts_allowed(Band& band);
  /// Runs that lanes have taken over are withdrawn by then.
  Instant deadline() const { return end_at_; }

 private:
  const WorkerConfig& config_;
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  DataRoom& data_;
  RunStarts& starts_;
  Instant end_at_ = kNever;
  std::vector<RecordIndex> offered_;  ///< Scratch.
};

}  // namespace penstock::worker
