#include "worker/core/reports/report_buffer.hpp"

#include <algorithm>

namespace penstock::worker {
namespace {

/// Sections that are searched: few jobs take turns on a band.
constexpr std::size_t kLookedAt = 16;

}  // namespace

// Reports of different jobs are independent, so only the order inside a job is kept.
JobReports& ReportBuffer::section(JobId job, const JobIdentity& identity) {
  std::vector<JobReports>& sections = batch_.jobs;
  for (std::size_t i = 0; i < std::min(sections.size(), kLookedAt); ++i)
    if (JobReports& known = sections[sections.size() - 1 - i]; known.job == job && known.identity == identity)
      return known;
  JobReports& fresh = sections.emplace_back(JobReports{job, {}, {}, {}, {}, identity});
  fresh.attempts.reserve(attempts_expected_);
  return fresh;
}

void ReportBuffer::add_replica(const ReplicaReport& replica) { batch_.replicas.push_back(replica); }

bool ReportBuffer::due(Instant now, bool idle) const {
  if (empty()) return false;
  return idle || count_ >= batch_max_ || now >= deadline();
}

ReportBatch ReportBuffer::take(Instant now) {
  batch_.number = next_number_++;
  Unapplied& kept = unapplied_.emplace_back(Unapplied{batch_.number, {}});
  kept.jobs.reserve(batch_.jobs.size());
  for (const JobReports& job : batch_.jobs)
    kept.jobs.push_back(JobReports{job.job, job.attempts, job.outputs, job.failures, {}, job.identity});
  last_sent_ = now;
  attempts_expected_ = batch_.jobs.empty() ? 0 : count_ / batch_.jobs.size();
  count_ = 0;
  return std::exchange(batch_, {});
}

void ReportBuffer::applied(std::uint64_t through, std::vector<FinishedAttempt>& finished) {
  while (!unapplied_.empty() && unapplied_.front().number <= through) {
    for (const JobReports& job : unapplied_.front().jobs)
      for (const AttemptReport& report : job.attempts)
        if (report.outcome == Outcome::Succeeded) finished.push_back({job.job, {report.subtask, report.attempt}});
    unapplied_.pop_front();
  }
}

}  // namespace penstock::worker
