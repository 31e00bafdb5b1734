// Reports of a worker to its supervisor.
#pragma once

#include <vector>

#include "common/protocol/assign.hpp"
#include "common/protocol/config.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/job_table.hpp"
#include "worker/core/jobs/subtask_record.hpp"
#include "worker/core/reports/report_buffer.hpp"

namespace penstock::worker {

/// Writes reports of attempts, copies of data and loads into the buffer, and sends a batch when it is due. Each attempt
/// gets one terminal report: `SubtaskEnds` asks for it. Cost: constant for each report; a load follows a change by at
/// most `load_report_every`.
class Reporter {
 public:
  Reporter(const WorkerConfig& config, EventContext& event, const JobTable& jobs, WorkerCounters& counters)
      : config_(config),
        event_(event),
        jobs_(jobs),
        counters_(counters),
        buffer_(config.report_batch_max, config.report_after) {}
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void report(const SubtaskRecord& record, Outcome outcome, const FailureDetail* failure = nullptr);
  /// All assignments of the batch go back. No record is needed for that.
  void give_back(const AssignBatch& batch);
  void trace_run(const SubtaskRecord& record, Instant ended);
  void add_replica(const ReplicaReport& replica) { buffer_.add_replica(replica); }
  /// Something changed that a load tells.
  void expect_load() {
    if (load_at_ == kNever) load_at_ = later(event_.now, config_.load_report_every);
  }
  /// The supervisor sends a band so much that its slots stay busy. So it must know of runs that do not need theirs
  /// before the work that they wait for finds no room.
  void hurry_load() { load_at_ = std::min(load_at_, later(event_.now, config_.report_after)); }
  bool load_due() const { return event_.now >= load_at_; }
  void set_loads(std::vector<BandLoad> loads, const WorkerCounters& counters);
  /// Sends what is due. `idle`: no run can add to the batch soon.
  void flush(bool idle);
  /// Sends all reports that are not known to be applied, for a supervisor that may have lost them.
  void repeat_all();
  /// Appends the attempts that finished in the batches up to `through`, which are forgotten.
  void applied(std::uint64_t through, std::vector<FinishedAttempt>& finished) { buffer_.applied(through, finished); }
  Instant deadline() const { return std::min(buffer_.deadline(), load_at_); }

 private:
  const WorkerConfig& config_;
  EventContext& event_;
  const JobTable& jobs_;
  WorkerCounters& counters_;
  ReportBuffer buffer_;
  Instant load_at_ = kNever;
};

}  // namespace penstock::worker
