// SupervisorCore: what clients are told about their jobs.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

void append(std::vector<SubtaskRange>& ranges, std::uint32_t subtask) {
  if (!ranges.empty() && ranges.back().last.value() + 1 == subtask)
    ranges.back().last = SubtaskIndex{subtask};
  else
    ranges.push_back(SubtaskRange{SubtaskIndex{subtask}, SubtaskIndex{subtask}});
}

}  // namespace

// Spec: design 5, completion is visible exactly once: a subtask that had to run again is not told again.
void SupervisorCore::tell_succeeded(Job& job, std::uint32_t subtask) {
  job.hot[subtask].flags |= SubtaskFlag::kVisible;
  ++job.counts.succeeded;
  append(job.news.edit().succeeded, subtask);
  count_news(job);
}

void SupervisorCore::tell_cancelled(Job& job, std::uint32_t subtask) {
  if ((job.hot[subtask].flags & SubtaskFlag::kVisible) != 0) return;  // It had succeeded once; that stands.
  ++job.counts.cancelled;
  append(job.news.edit().cancelled, subtask);
  count_news(job);
}

void SupervisorCore::count_news(Job& job) {
  if (job.news_count++ == 0) {
    indices_.with_news.push_back(job.id);
    indices_.news_due = std::min(indices_.news_due, next_news_of(job));
  }
  if (job.state != JobState::Running || job.news_count >= news_count_max())
    indices_.news_due = std::min(indices_.news_due, event_.now);
}

// At a low rate news leave at once; a flood is gathered.
void SupervisorCore::send_news() {
  if (event_.now < indices_.news_due || (gate_.durable() && news_must_wait())) return;
  indices_.news_due = kNever;
  std::size_t kept = 0;
  for (const JobId id : indices_.with_news) {
    if (!jobs_.knows(id) || jobs_[id].news_count == 0) continue;
    Job& job = jobs_[id];
    if (gate_.durable() || news_are_due(job))
      send_news_of(job);
    else
      indices_.with_news[kept++] = id, indices_.news_due = std::min(indices_.news_due, next_news_of(job));
  }
  indices_.with_news.resize(kept);
}

bool SupervisorCore::news_are_due(const Job& job) const {
  return job.state != JobState::Running || job.news_count >= news_count_max() || event_.now >= next_news_of(job);
}

Instant SupervisorCore::next_news_of(const Job& job) const {
  return later(job.news_sent, config_.progress_every * news_gathered());
}

void SupervisorCore::send_news_of(Job& job) {
  if (gate_.durable()) record_news(job);
  JobProgress& news = job.news.edit();
  news.job = job.id;
  news.state = job.state;
  news.counts = job.counts;
  news.counts.assigned = job.in_flight;
  if (job.state != JobState::Running) news.error = *job.error;
  for (std::size_t i = 0; i < job.followers.size(); ++i) {
    const bool last = i + 1 == job.followers.size();
    send_to_client(job.followers[i], last ? std::move(news) : news);
  }
  news = JobProgress{};
  job.news_count = 0;
  job.news_sent = event_.now;
}

JobProgress SupervisorCore::everything_so_far(const Job& job) const {
  JobProgress all = *job.final_news;
  if (all.job.valid()) {  // It has ended.
    all.failures = job.failures;
    all.outputs = job.outputs;
    return all;
  }
  all.job = job.id;
  all.state = job.state;
  all.counts = job.counts;
  all.counts.assigned = job.in_flight;
  if (job.state != JobState::Running) all.error = *job.error;
  const bool whole = job.counts.succeeded == job.total();  // Nearly every job ends so; there is nothing to search then.
  if (whole && job.total() > 0) all.succeeded.push_back({SubtaskIndex{0}, SubtaskIndex{job.total() - 1}});
  for (std::uint32_t i = 0; !whole && i < job.total(); ++i) {
    if ((job.hot[i].flags & SubtaskFlag::kVisible) != 0)
      append(all.succeeded, i);
    else if (job.hot[i].phase == SubtaskPhase::Cancelled)
      append(all.cancelled, i);
  }
  for (const SubtaskFailure& failure : job.failures)
    // One that had succeeded and failed when it ran again for its lost outputs was told as succeeded; that stands.
    if ((job.hot[failure.subtask.value()].flags & SubtaskFlag::kVisible) == 0) all.failures.push_back(failure);
  all.outputs = job.outputs;
  return all;
}

void SupervisorCore::attach(ClientId client, const AttachJob& message) {
  AttachReply reply;
  reply.request = message.request;
  Job* job = jobs_.find(message.job);
  if (job == nullptr) {
    reply.refusal = Error{ErrorCode::NotFound, message.job.id.valid() ? to_string(message.job.id) : message.job.name,
                          "there is no such job", "`penstock jobs --all` lists those that are remembered"};
    send_to_client(client, std::move(reply));
    return;
  }
  if (differ(message.identity, job->identity)) {
    PENSTOCK_COVERAGE_MARK("a client means another job of that number");
    ++counters_.other_jobs;
    reply.refusal = Error{ErrorCode::NotFound, to_string(job->id),
                          "is another job now: the supervisor goes on from a state that does not know the one meant",
                          "`penstock jobs --all` lists those that are known; submit the job again"};
    send_to_client(client, std::move(reply));
    return;
  }
  reply.job = job->id;
  reply.identity = job->identity;
  reply.subtask_count = job->counts.total;
  send_to_client(client, std::move(reply));
  follow(*job, client);
}

void SupervisorCore::follow(Job& job, ClientId client) {
  // Its client may follow it already, when it repeats a question whose answer was lost.
  std::erase(job.followers, client);
  indices_.follows.emplace(client, job.id);
  // What others have not been told yet is part of everything; they get it first, so that nobody gets it twice.
  if (job.news_count > 0) send_news_of(job);
  send_to_client(client, everything_so_far(job));
  job.followers.push_back(client);
  // Somebody wants it after all, also when he is cut off for a while at its end.
  if (job.state == JobState::Running && std::exchange(job.release_when_returned, false)) record_change(job);
}

void SupervisorCore::erase_job(const Job& job) {
  for (const ClientId client : job.followers) indices_.follows.erase({client, job.id});
  jobs_.erase(job.id);
}

void SupervisorCore::unfollow(Job& job, ClientId client) {
  indices_.follows.erase({client, job.id});
  if (std::erase(job.followers, client) == 0 || !job.followers.empty()) return;
  // Its outputs are kept for so long from now on: whoever was cut off finds them when it is back.
  if (job.keep_until != kNever) indices_.kept.move(job.id, job.keep_until, later(event_.now, config_.results_keep));
}

}  // namespace penstock::supervisor
