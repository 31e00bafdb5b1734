// SupervisorCore: clients that follow jobs.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

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
                          "is another job now: the supervisor goes on from a state without the job that is meant",
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
  progress_.follow(job, client);
  // Somebody wants the job after all, also when the client is cut off for a while at the job's end.
  if (job.state == JobState::Running && std::exchange(job.release_when_unreferenced, false)) record_change(job);
}

void SupervisorCore::unfollow(Job& job, ClientId client) {
  // The outputs are kept for so long from now on: a client that was cut off finds them when it is back.
  if (progress_.unfollow(job, client) && job.keep_until != kNever)
    indices_.kept.move(job.id, job.keep_until, later(event_.now, config_.results_keep));
}

void SupervisorCore::erase_job(const Job& job) {
  progress_.forget(job);
  jobs_.erase(job.id);
}

}  // namespace penstock::supervisor
