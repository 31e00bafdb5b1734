#include "worker/core/report_buffer.hpp"

namespace penstock::worker {

JobReports& ReportBuffer::section(JobId job) {
  if (batch_.jobs.empty() || batch_.jobs.back().job != job) batch_.jobs.push_back(JobReports{job, {}, {}, {}, {}});
  return batch_.jobs.back();
}

void ReportBuffer::add_replica(const ReplicaReport& replica) { batch_.replicas.push_back(replica); }

bool ReportBuffer::due(Instant now, bool idle) const {
  if (empty()) return false;
  return idle || count_ >= batch_max_ || now >= deadline();
}

ReportBatch ReportBuffer::take(Instant now) {
  batch_.number = next_number_++;
  unapplied_.push_back(Unapplied{batch_.number, std::exchange(finished_, {})});
  last_sent_ = now;
  count_ = 0;
  return std::exchange(batch_, {});
}

void ReportBuffer::applied(std::uint64_t through, std::vector<SubtaskId>& finished) {
  while (!unapplied_.empty() && unapplied_.front().number <= through) {
    const std::vector<SubtaskId>& batch = unapplied_.front().finished;
    finished.insert(finished.end(), batch.begin(), batch.end());
    unapplied_.pop_front();
  }
}

}  // namespace penstock::worker
