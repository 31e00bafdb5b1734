// The numbers that a worker counts for its metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/base/duration_counts.hpp"
#include "common/protocol/report.hpp"

namespace penstock::worker {

/// The numbers of a worker, over all incarnations of the process.
struct WorkerNumbers {
  WorkerCounters core;          ///< As the present incarnation has reported last.
  std::vector<BandLoad> loads;  ///< The same, by band.
  std::uint64_t incarnations = 0;
  DurationCounts runs;                   ///< Of ended attempts that ran.
  std::array<std::uint64_t, 5> ended{};  ///< Attempts, by `Outcome`.
  std::uint64_t batches = 0;             ///< Of reports.
  std::uint64_t fetches_failed = 0;
  std::uint64_t fetched = 0;
  std::uint64_t fetched_bytes = 0;
};

/// Reads the reports that leave for the supervisor, a batch at a time: nothing is counted where subtasks run. Any
/// thread may use it. Cost: an increment for each attempt.
class WorkerTally {
 public:
  void begin_life();
  void note(const std::vector<FromWorker>& messages);
  /// A datum of another worker came, or did not.
  void fetched(std::size_t bytes, bool came);
  WorkerNumbers take() const;

 private:
  void read(const ReportBatch& batch);

  mutable std::mutex mutex_;  // Of `numbers_`; tests/unit/worker/actors under the thread sanitizer.
  WorkerNumbers numbers_;
};

}  // namespace penstock::worker
