#include "supervisor/core/lifecycle/job_acceptance.hpp"

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/driver/policy_membership.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/graph_price.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/lifecycle/job_releases.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_checks.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/priority_scale.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/submissions.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {

/// A run may follow each job of which it was given the identity. Of others it is told nothing: numbers can be tried.
Job* JobAcceptance::find_to_follow(const AttachJob& message) const {
  JobSelector named = message.job;
  const bool of_run = named.viewer.what == Viewer::Sees::Nested || named.viewer.what == Viewer::Sees::OwnNested;
  const bool by_identity = of_run && message.identity.valid();
  if (by_identity) named.viewer = {};
  Job* const job = tables_.jobs.find(named);
  const bool is_meant = !by_identity || job == nullptr || job->identity == message.identity;
  return is_meant || message.job.viewer.sees(job->spec) ? job : nullptr;
}

void JobAcceptance::attach(ClientId client, const AttachJob& message) {
  AttachReply reply;
  reply.request = message.request;
  Job* job = find_to_follow(message);
  if (job == nullptr) {
    reply.refusal = Error{ErrorCode::NotFound, message.job.id.valid() ? to_string(message.job.id) : message.job.name,
                          "there is no such job", "`penstock jobs --all` lists those that are remembered"};
    ledger_.gate.send_to_client(client, std::move(reply));
    return;
  }
  if (differ(message.identity, job->identity)) {
    PENSTOCK_COVERAGE_MARK("a client means another job of that number");
    ++tables_.counters.other_jobs;
    reply.refusal = Error{ErrorCode::NotFound, to_string(job->id),
                          "is another job now: the supervisor goes on from a state without the job that is meant",
                          "`penstock jobs --all` lists those that are known; submit the job again"};
    ledger_.gate.send_to_client(client, std::move(reply));
    return;
  }
  reply.job = job->id;
  reply.identity = job->identity;
  reply.subtask_count = job->tally.counts.total;
  ledger_.gate.send_to_client(client, std::move(reply));
  follow(*job, client);
}

void JobAcceptance::follow(Job& job, ClientId client) {
  outputs_.progress.follow(job, client);
  // Somebody wants the job after all, also when the client is cut off for a while at the job's end.
  if (job.status.state == JobState::Running && std::exchange(job.outputs.release_when_unreferenced, false))
    policy_base_.records.record_change(job);
}

}  // namespace penstock::supervisor
