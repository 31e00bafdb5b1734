#include "worker/core/reports/reporter.hpp"

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

void Reporter::report(const SubtaskRecord& record, Outcome outcome, const FailureDetail* failure) {
  JobReports& section = buffer_.section(jobs_[record.job].id, jobs_[record.job].identity);
  AttemptReport& entry = section.attempts.emplace_back();
  entry.subtask = record.subtask;
  entry.attempt = record.attempt;
  entry.band = record.band;
  entry.outcome = outcome;
  entry.run_us = record.run_us;
  entry.forward = record.forward;
  if (outcome == Outcome::Started) entry.devices = record.devices;
  if (outcome == Outcome::Succeeded) {
    entry.output_count = static_cast<std::uint16_t>(record.outputs.size());
    section.outputs.insert(section.outputs.end(), record.outputs.begin(), record.outputs.end());
    ++counters_.succeeded;
  } else if (outcome == Outcome::Failed) {
    section.failures.push_back(failure == nullptr ? FailureDetail{} : *failure);
    ++counters_.failed;
  } else if (outcome == Outcome::Cancelled) {
    ++counters_.cancelled;
  } else if (outcome == Outcome::Returned) {
    ++counters_.returned;
  }
  buffer_.count_one();
}

// Another job of that number is known here, and its data would be read as those of this one. Returned assignments go
// to other workers, or come again when the other job is forgotten.
void Reporter::give_back(const AssignBatch& batch) {
  PENSTOCK_COVERAGE_MARK("a supervisor means another job of that number");
  ++counters_.stale;
  JobReports& section = buffer_.section(batch.job, batch.identity);
  for (const Assignment& assignment : batch.assignments) {
    AttemptReport& report = section.attempts.emplace_back();
    report.subtask = assignment.subtask;
    report.attempt = assignment.attempt;
    report.band = assignment.band;
    report.outcome = Outcome::Returned;
    buffer_.count_one();
  }
}

void Reporter::trace_run(const SubtaskRecord& record, Instant ended) {
  const auto us = [](Instant at) { return static_cast<std::uint64_t>(at.time_since_epoch().count()) / 1000; };
  buffer_.section(jobs_[record.job].id, jobs_[record.job].identity)
      .traces.push_back({record.subtask, record.attempt, record.band, record.lane, us(record.arrived), us(record.ready),
                         us(record.started), us(ended)});
}

void Reporter::set_loads(std::vector<BandLoad> loads, const WorkerCounters& counters) {
  load_at_ = kNever;
  buffer_.set_loads(std::move(loads), counters);
}

void Reporter::flush(bool idle) {
  if (buffer_.due(event_.now, idle)) event_.out->add(worker_action::SendReport{buffer_.take(event_.now)});
}

void Reporter::repeat_all() {
  // The buffer keeps the batch, and it is sent below with the others.
  if (!buffer_.empty()) static_cast<void>(buffer_.take(event_.now));
  buffer_.repeat([this](ReportBatch&& batch) { event_.out->add(worker_action::SendReport{std::move(batch)}); });
}

}  // namespace penstock::worker
