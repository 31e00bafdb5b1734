// Runs that are stopped, overdue, or not reported as started.
#pragma once

#include "common/protocol/config.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct Reports;
struct Tables;

/// Asks runs to stop, ends them after their grace or time limit, and reports long ones as started.
/// A stop ends nothing here: ends arrive as events. Cost: O(runs) when something is due.
class RunWatch {
 public:
  RunWatch(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports)
      : config_(config), event_(event), tables_(tables), bands_(bands), reports_(reports) {}
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  void started(const SubtaskRecord& record) {
    look_at(std::min(record.stop_at, later(record.started, config_.started_after)));
  }
  /// A run that is being stopped already is stopped no later, and for the better reason.
  void stop(RecordIndex index, StopReason reason, Duration kill_after);
  void check();
  /// Earliest instant at which a run may need attention.
  Instant deadline() const { return check_at_; }

 private:
  void look_at(Instant at) { check_at_ = std::min(check_at_, at); }
  void advance(RecordIndex index);
  void report_started(SubtaskRecord& record);

  const WorkerConfig& config_;
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  Reports& reports_;
  Instant check_at_ = kNever;
};

}  // namespace penstock::worker
