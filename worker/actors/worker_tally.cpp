#include "worker/actors/worker_tally.hpp"

#include <variant>

namespace penstock::worker {

void WorkerTally::begin_life() {
  const std::lock_guard lock{mutex_};
  ++numbers_.incarnations;
  numbers_.core = {};
  numbers_.loads.clear();
}

void WorkerTally::note(const std::vector<FromWorker>& messages) {
  const std::lock_guard lock{mutex_};
  for (const FromWorker& message : messages)
    if (const auto* batch = std::get_if<ReportBatch>(&message)) read(*batch);
}

void WorkerTally::read(const ReportBatch& batch) {
  ++numbers_.batches;
  for (const JobReports& job : batch.jobs)
    for (const AttemptReport& attempt : job.attempts) {
      if (!is_end(attempt.outcome)) continue;
      ++numbers_.ended[static_cast<std::size_t>(attempt.outcome)];
      if (attempt.run_us > 0 || attempt.outcome == Outcome::Succeeded) numbers_.runs.add_us(attempt.run_us);
    }
  if (batch.counters.any()) numbers_.core = *batch.counters;
  if (!batch.loads.empty()) numbers_.loads = batch.loads;
}

void WorkerTally::fetched(std::size_t bytes, bool came) {
  const std::lock_guard lock{mutex_};
  ++(came ? numbers_.fetched : numbers_.fetches_failed);
  numbers_.fetched_bytes += bytes;
}

WorkerNumbers WorkerTally::take() const {
  const std::lock_guard lock{mutex_};
  return numbers_;
}

}  // namespace penstock::worker
