// Collects reports to be sent, in order.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/cancel.hpp"
#include "common/protocol/report.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// A success that the supervisor knows.
struct FinishedAttempt {
  JobId job;
  AttemptRef attempt;
};

/// Collects reports into batches, and keeps their ends until they are applied: finished subtasks, and whole reports for
/// a supervisor that has lost them. Bounded by the subtasks that this worker was assigned.
/// Batching adapts (spec worker 5): at a low rate no report waits; under load a batch leaves at most every
/// `report_after`, or when it is full.
class ReportBuffer {
 public:
  ReportBuffer(std::uint32_t batch_max, Duration report_after) : batch_max_(batch_max), report_after_(report_after) {}

  /// The latest reports of `job` in the batch that is being filled.
  JobReports& section(JobId job, const JobIdentity& identity = {});
  void count_one() { ++count_; }
  void add_replica(const ReplicaReport& replica);
  void set_loads(std::vector<BandLoad> loads, const WorkerCounters& counters) {
    batch_.loads = std::move(loads);
    batch_.counters.edit() = counters;
  }
  bool empty() const { return count_ == 0 && batch_.replicas.empty() && batch_.loads.empty(); }
  /// True if the batch should be sent now. `idle`: no run can add to it soon.
  bool due(Instant now, bool idle) const;
  /// Latest time for sending the batch; `kNever` if it is empty.
  Instant deadline() const { return empty() ? kNever : later(last_sent_, report_after_); }
  ReportBatch take(Instant now);

  /// Appends the attempts that finished in the batches up to `through`; the buffer forgets them.
  void applied(std::uint64_t through, std::vector<FinishedAttempt>& finished);
  /// Calls `visit(ReportBatch&&)` with a copy of every batch that is not known to be applied, oldest first.
  template <class Visit>
  void repeat(Visit visit) const {
    for (const Unapplied& batch : unapplied_) visit(ReportBatch{batch.number, batch.jobs, {}, {}});
  }
  std::uint64_t last_number() const { return next_number_ - 1; }

 private:
  struct Unapplied {
    std::uint64_t number;
    std::vector<JobReports> jobs;  ///< Without traces.
  };

  const std::uint32_t batch_max_;
  const Duration report_after_;
  ReportBatch batch_;
  std::uint32_t count_ = 0;
  std::size_t attempts_expected_ = 0;  ///< Size of a section, as in the last batch.
  std::uint64_t next_number_ = 1;
  Instant last_sent_{};
  std::deque<Unapplied> unapplied_;
};

}  // namespace penstock::worker
