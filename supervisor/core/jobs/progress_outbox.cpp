#include "supervisor/core/jobs/progress_outbox.hpp"

#include <algorithm>

#include "common/base/check.hpp"
#include "common/base/coverage_mark.hpp"

namespace penstock::supervisor {
namespace {

bool is_visible(const Job& job, std::uint32_t subtask) {
  return (job.hot[subtask].flags & SubtaskFlag::kVisible) != 0;
}

}  // namespace

void ProgressOutbox::submitted(Job& job, ClientId client) {
  job.outbox.followers_.push_back(client);
  follows_.emplace(client, job.id);
}

void ProgressOutbox::follow(Job& job, ClientId client) {
  JobOutbox& outbox = job.outbox;
  // The client may follow the job already, when it repeats a question after the answer was lost.
  std::erase(outbox.followers_, client);
  follows_.emplace(client, job.id);
  // Progress that others have not been told is a part of everything. All get it first, so that nobody gets it twice.
  if (outbox.unsent_count_ > 0) send(job);
  tell(client, everything_so_far(job));
  outbox.followers_.push_back(client);
}

bool ProgressOutbox::unfollow(Job& job, ClientId client) {
  follows_.erase({client, job.id});
  return std::erase(job.outbox.followers_, client) > 0 && job.outbox.followers_.empty();
}

std::vector<JobId> ProgressOutbox::followed_by(ClientId client) const {
  std::vector<JobId> jobs;
  for (auto at = follows_.lower_bound({client, JobId{0}}); at != follows_.end() && at->first == client; ++at)
    jobs.push_back(at->second);
  return jobs;
}

void ProgressOutbox::forget(const Job& job) {
  for (const ClientId client : job.outbox.followers_) follows_.erase({client, job.id});
}

// Spec: design 5, completion is visible exactly once: a subtask that had to run again is not told again.
void ProgressOutbox::succeeded(Job& job, std::uint32_t subtask) {
  job.hot[subtask].flags |= SubtaskFlag::kVisible;
  ++job.tally.counts.succeeded;
  append(job.outbox.unsent_.edit().succeeded, SubtaskIndex{subtask});
  count(job);
}

void ProgressOutbox::cancelled(Job& job, std::uint32_t subtask) {
  if (is_visible(job, subtask)) return;
  ++job.tally.counts.cancelled;
  append(job.outbox.unsent_.edit().cancelled, SubtaskIndex{subtask});
  count(job);
}

void ProgressOutbox::failed(Job& job, SubtaskFailure failure) {
  remember_failure(job, failure);
  if (is_visible(job, failure.subtask.value())) return;
  ++job.tally.counts.failed;
  job.outbox.unsent_.edit().failures.push_back(std::move(failure));
  count(job);
}

void ProgressOutbox::remember_failure(Job& job, const SubtaskFailure& failure) const {
  if (job.outbox.failures_.size() < config_.finished_jobs_max) job.outbox.failures_.push_back(failure);
}

void ProgressOutbox::count(Job& job) {
  if (job.outbox.unsent_count_++ == 0) {
    with_unsent_.push_back(job.id);
    due_ = std::min(due_, due_of(job));
  }
  if (job.status.state != JobState::Running || job.outbox.unsent_count_ >= batch_max())
    due_ = std::min(due_, event_.now);
}

void ProgressOutbox::write_output(Job& job, const MadeOutput& output) {
  if (gate_.durable()) job.outbox.unwritten_outputs_.push_back(output);
}

void ProgressOutbox::write_checkpoint(Job& job, const CheckpointPlace& place) {
  job.outbox.unwritten_checkpoints_.push_back(place);
  count(job);
}

void ProgressOutbox::end(Job& job) {
  JobOutbox& outbox = job.outbox;
  if (!outbox.followers_.empty() || outbox.unsent_count_ > 0) send(job);
  outbox.unsent_ = {};
  JobProgress last = everything_so_far(job);
  outbox.failures_ = std::exchange(last.failures, {});  // Once is enough, for as long as the job is remembered.
  job.outputs.locations = std::exchange(last.outputs, {});
  outbox.last_ = Seldom{std::move(last)};
}

void ProgressOutbox::recover_ended(Job& job, JobProgress everything) {
  job.outbox.failures_ = std::exchange(everything.failures, {});
  job.outputs.locations = std::exchange(everything.outputs, {});
  job.outbox.last_ = Seldom{std::move(everything)};
}

void ProgressOutbox::recover_failure(Job& job, const SubtaskFailure& failure) { remember_failure(job, failure); }

void ProgressOutbox::send_due() {
  if (event_.now < due_ || (gate_.durable() && must_wait())) return;
  due_ = kNever;
  std::size_t kept = 0;
  for (const JobId id : with_unsent_) {
    if (!jobs_.knows(id) || jobs_[id].outbox.unsent_count_ == 0) continue;
    Job& job = jobs_[id];
    if (gate_.durable() || is_due(job))
      send(job);
    else
      with_unsent_[kept++] = id, due_ = std::min(due_, due_of(job));
  }
  with_unsent_.resize(kept);
}

/// Whether a commit of progress is under way, or nothing is due. Once one job is due all are sent: they share a commit.
bool ProgressOutbox::must_wait() {
  if (gate_.progress_is_under_way()) return true;
  due_ = kNever;
  for (const JobId id : with_unsent_) {
    if (!jobs_.knows(id)) continue;
    if (is_due(jobs_[id])) return false;
    due_ = std::min(due_, due_of(jobs_[id]));
  }
  return true;
}

bool ProgressOutbox::is_due(const Job& job) const {
  return job.status.state != JobState::Running || job.outbox.unsent_count_ >= batch_max() || event_.now >= due_of(job);
}

Instant ProgressOutbox::due_of(const Job& job) const {
  return later(job.outbox.sent_at_, config_.progress_every * batches_gathered());
}

void ProgressOutbox::send(Job& job) {
  if (gate_.durable()) record(job);
  JobOutbox& outbox = job.outbox;
  JobProgress& progress = outbox.unsent_.edit();
  progress.job = job.id;
  progress.state = job.status.state;
  progress.counts = job.tally.counts;
  progress.counts.assigned = job.tally.in_flight;
  if (job.status.state != JobState::Running) progress.error = *job.status.error;
  for (std::size_t i = 0; i < outbox.followers_.size(); ++i) {
    const bool last = i + 1 == outbox.followers_.size();
    tell(outbox.followers_[i], last ? std::move(progress) : progress);
  }
  progress = JobProgress{};
  outbox.unsent_count_ = 0;
  outbox.sent_at_ = event_.now;
}

void ProgressOutbox::tell(ClientId client, JobProgress progress) {
  gate_.defer(supervisor_action::SendToClient{client, std::move(progress)});
}

void ProgressOutbox::record(Job& job) {
  JobOutbox& outbox = job.outbox;
  record::SubtasksEnded ended{job.id,
                              job.tally.counts,
                              outbox.unsent_->succeeded,
                              outbox.unsent_->cancelled,
                              outbox.unsent_->failures,
                              outbox.unsent_->outputs,
                              std::exchange(outbox.unwritten_outputs_, {}),
                              std::exchange(outbox.unwritten_checkpoints_, {})};
  std::erase_if(ended.checkpoints, [&](const CheckpointPlace& place) {
    const Incarnation* writer = job.data.checkpoint(place.producer.value());
    return writer == nullptr || *writer != place.writer;  // The checkpoint was dropped, or made again meanwhile.
  });
  if (job.status.state != JobState::Running) return;  // The record of the job's end has everything.
  const bool nothing = ended.succeeded.empty() && ended.cancelled.empty() && ended.failures.empty() &&
                       ended.outputs.empty() && ended.made.empty() && ended.checkpoints.empty();
  if (nothing) return;
  gate_.write_progress(std::move(ended));
}

void ProgressOutbox::validate() const {
  std::size_t follows = 0;
  for (const auto& job : jobs_.all()) {
    if (job == nullptr) continue;
    follows += job->outbox.followers_.size();
    for (const ClientId client : job->outbox.followers_)
      PENSTOCK_CHECK_MSG(follows_.contains({client, job->id}), to_string(job->id));
    const bool is_listed = std::find(with_unsent_.begin(), with_unsent_.end(), job->id) != with_unsent_.end();
    PENSTOCK_CHECK_MSG(job->outbox.unsent_count_ == 0 || is_listed, to_string(job->id));
  }
  PENSTOCK_CHECK(follows_.size() == follows);
}

JobProgress everything_so_far(const Job& job) {
  JobProgress all = job.outbox.last();
  if (all.job.valid()) {  // The job has ended.
    all.failures = job.outbox.failures();
    all.outputs = job.outputs.locations;
    return all;
  }
  all.job = job.id;
  all.state = job.status.state;
  all.counts = job.tally.counts;
  all.counts.assigned = job.tally.in_flight;
  if (job.status.state != JobState::Running) all.error = *job.status.error;
  const bool whole =
      job.tally.counts.succeeded == job.total();  // Nearly every job ends so; there is nothing to search then.
  if (whole && job.total() > 0) all.succeeded.push_back({SubtaskIndex{0}, SubtaskIndex{job.total() - 1}});
  for (std::uint32_t i = 0; !whole && i < job.total(); ++i) {
    if (is_visible(job, i))
      append(all.succeeded, SubtaskIndex{i});
    else if (job.hot[i].phase == SubtaskPhase::Cancelled)
      append(all.cancelled, SubtaskIndex{i});
  }
  for (const SubtaskFailure& failure : job.outbox.failures())
    // A subtask that had succeeded and failed when it ran again for its lost outputs was told as succeeded; that
    // stands.
    if (!is_visible(job, failure.subtask.value())) all.failures.push_back(failure);
  all.outputs = job.outputs.locations;
  return all;
}

}  // namespace penstock::supervisor
