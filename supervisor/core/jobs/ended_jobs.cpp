#include "supervisor/core/jobs/ended_jobs.hpp"

#include <algorithm>
#include <iterator>

namespace penstock::supervisor {
namespace {

std::uint64_t bytes_of(const SubtaskFailure& failure) {
  std::uint64_t sum =
      sizeof failure + failure.name.size() + failure.last.message.size() + failure.last.output_tail.size();
  for (const std::string& line : failure.history) sum += sizeof line + line.size();
  return sum;
}

/// The memory that an ended job takes; on the disk it is less.
std::uint64_t bytes_of(const Job& job) {
  std::uint64_t sum = sizeof job + sizeof(JobProgress) + job.spec.name.size() + job.spec.owner.size() +
                      job.status.error->message.size();
  sum += (job.outbox.last().succeeded.size() + job.outbox.last().cancelled.size()) * sizeof(SubtaskRange);
  sum += job.outputs.locations.size() * sizeof(OutputLocation);
  for (const SubtaskFailure& failure : job.outbox.failures()) sum += bytes_of(failure);
  return sum + job.outputs.keys->bytes();
}

}  // namespace

void EndedJobs::add(Job& job) {
  job.status.ended_bytes = bytes_of(job);
  if (job.outputs.kept_by_order) return kept_.push_back(job.id);
  bytes_ += job.status.ended_bytes;
  ended_.push_back(job.id);
}

void EndedJobs::kept(const Job& job) {
  remove(job);
  const auto behind = std::upper_bound(kept_.begin(), kept_.end(), job.id,
                                       [this](JobId left, JobId right) { return is_before(left, right); });
  kept_.insert(behind, job.id);
}

void EndedJobs::kept_no_longer(const Job& job) {
  kept_.erase(std::find(kept_.begin(), kept_.end(), job.id));
  const auto behind = std::upper_bound(ended_.begin(), ended_.end(), job.id,
                                       [this](JobId left, JobId right) { return is_before(left, right); });
  ended_.insert(behind, job.id);
  bytes_ += job.status.ended_bytes;
}

std::vector<JobId> EndedJobs::in_order() const {
  std::vector<JobId> all;
  all.reserve(ended_.size() + kept_.size());
  std::merge(ended_.begin(), ended_.end(), kept_.begin(), kept_.end(), std::back_inserter(all),
             [this](JobId left, JobId right) { return is_before(left, right); });
  return all;
}

void EndedJobs::weigh(Job& job) {
  if (!job.outputs.kept_by_order) bytes_ -= job.status.ended_bytes;
  job.status.ended_bytes = bytes_of(job);
  if (!job.outputs.kept_by_order) bytes_ += job.status.ended_bytes;
}

void EndedJobs::remove(const Job& job) {
  bytes_ -= job.status.ended_bytes;
  if (ended_.front() == job.id) return ended_.pop_front();  // Forgotten because it is the oldest,
  ended_.erase(std::prev(std::find(ended_.rbegin(), ended_.rend(), job.id).base()));  // or soon after its end.
}

void EndedJobs::sort() {
  for (std::deque<JobId>* jobs : {&ended_, &kept_})
    std::stable_sort(jobs->begin(), jobs->end(), [this](JobId left, JobId right) { return is_before(left, right); });
}

const Job* EndedJobs::first() const {
  for (const JobId id : ended_)
    if (const Job* job = jobs_.find(id); job->outputs.borrowed->empty()) return job;
  return nullptr;
}

const Job* EndedJobs::due(Instant now) const {
  const Job* oldest = first();
  if (oldest == nullptr) return nullptr;
  const bool too_old = later(oldest->status.ended, config_.finished_jobs_age_max) <= now;
  const bool too_many = ended_.size() > config_.finished_jobs_max;
  const bool too_large = bytes_ > static_cast<std::uint64_t>(config_.finished_jobs_bytes_max) && ended_.size() > 1;
  return too_old || too_many || too_large ? oldest : nullptr;
}

Instant EndedJobs::next_due() const {
  const Job* oldest = first();
  return oldest == nullptr ? kNever : later(oldest->status.ended, config_.finished_jobs_age_max);
}

}  // namespace penstock::supervisor
