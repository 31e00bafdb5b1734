#include "supervisor/core/lifecycle/job_releases.hpp"
#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/driver/gang_barriers.hpp"
#include "supervisor/core/driver/policy_membership.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/runs/job_priorities.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {
namespace {

/// With its memory: `= {}` and `clear()` would keep that, and jobs that have ended are remembered by the thousand.
template <class Container>
void give_back(Container& container) {
  container = Container{};
}

/// Of a job that went on without it.
Error why_failed(const SubtaskFailure& first) {
  const FailureDetail& last = first.last;
  return {last.failure == FailureClass::InputLost ? ErrorCode::InputLost : ErrorCode::UserError, first.name,
          "failed for good: " + std::string{to_string(last.failure)} + ": " + last.message,
          "see the history of its attempts"};
}

}  // namespace

void JobReleases::finish_if_done(Job& job) {
  if (job.status.state != JobState::Running || job.tally.open > 0 || job.status.recovering) return;
  if (job.tally.counts.failed > 0 ||
      (!job.status.error->message.empty() && job.status.error->code != ErrorCode::Cancelled))
    job.status.state = JobState::Failed;
  else
    job.status.state = job.tally.counts.cancelled > 0 ? JobState::Cancelled : JobState::Succeeded;
  if (job.tally.counts.failed > 0 && job.status.error->message.empty() && !job.outbox.failures().empty())
    job.status.error = Seldom{why_failed(job.outbox.failures().front())};
  job.status.ended = event_.now;
  tables_.counters.job_times[static_cast<std::size_t>(job.status.state)].add(event_.now - job.status.submitted);
  tables_.watchdog.note_progress(event_.now);
  tables_.indices.active.erase(job.id, job.precedence());
  tables_.indices.of_users.remove(job.spec.owner);
  runs_.time_limits.leave(job);
  runs_.priorities.clear_placements(job);
  policy_base_.usage.charge(job);
  policy_base_.usage.keep_usage();
  driver_.barriers.leave_barriers(job);
  driver_.membership.leave_policy(job);
  policy_base_.turns.policy_changed();
  outputs_.progress.end(job);
  outputs_.awaited.all_changed(job.id);
  drop_references(job);
  if (job.outputs.locations.empty()) job.outputs.kept_by_order = false;  // Nothing is there to be kept.
  tables_.ended.add(job);
  learn_durations(job);
  if (job.status.state == JobState::Succeeded)
    tables_.graphs.let_payloads_go(*job.graph.shared);
  else
    job.graph.written_as = job.graph.shared->written_as;  // The job may run again.
  const bool unneeded = std::exchange(job.outputs.release_when_unreferenced, false) && job.outbox.followers().empty();
  if (unneeded || (job.spec.parent.any() && !tables_.nested.has(job.spec.parent->id, job.id))) spend(job);
  policy_base_.records.record_end(job);
  if (!job.outputs.locations.empty() || !job.outputs.borrowed->empty()) outputs_.data.drop_retained(job);
  if (job.outputs.locations.empty()) {
    release_job(job);
  } else {
    job.outputs.keep_until = later(event_.now, config_.results_keep);
    tables_.indices.kept.insert(job.id, job.outputs.keep_until);
    if (unneeded) {
      PENSTOCK_COVERAGE_MARK("a job that was released while it ran was released at its end");
      release_job(job);
    }
  }
  if (tables_.indices.active.empty()) tables_.watchdog.stop();
  forget_old_jobs();
}

Result<Value> JobReleases::keep_by_order(Job& job, bool keep) {
  const bool runs = job.status.state == JobState::Running;
  if (keep && !runs && (job.outputs.locations.empty() || job.outputs.release_when_unreferenced))
    return Error{ErrorCode::NotFound, to_string(job.id), "has no outputs any more",
                 "give the order while a client has the job"};
  const bool before = std::exchange(job.outputs.kept_by_order, keep);
  if (before != keep) {
    if (!runs) keep ? tables_.ended.kept(job) : tables_.ended.kept_no_longer(job);
    if (keep && runs) job.outputs.release_when_unreferenced = false;
    if (keep) spend(job);
    if (!keep && runs) rejoin(job);
    runs ? policy_base_.records.record_change(job) : policy_base_.records.record_end(job);
    if (!keep && !runs && job.outbox.followers().empty()) release_job(job);
  }
  return Value{Value::Record{{"job", to_string(job.id)}, {"kept", keep}, {"was", before}}};
}

void JobReleases::release_job(Job& job) {
  PENSTOCK_CHECK(job.status.state != JobState::Running);
  if (job.outputs.kept_by_order) return;
  const bool was_unneeded = std::exchange(job.outputs.release_when_unreferenced, !job.outputs.borrowed->empty());
  if (job.outputs.release_when_unreferenced) {
    if (!was_unneeded && !job.outputs.locations.empty()) policy_base_.records.record_end(job);
    return;
  }
  tables_.indices.kept.erase(job.id, job.outputs.keep_until);
  for (const WorkerId worker : job.audience.workers)
    if (const WorkerSlot slot = fleet_.workers.find(worker); slot.valid()) fleet_.mail.tell(slot, ForgetJob{job.id});
  give_back(job.audience.workers);
  give_back(job.audience.known_of);
  give_back(job.audience.templates_known);
  const bool had_outputs = !job.outputs.locations.empty();
  job.outputs.locations.clear();  // A client that attaches from now on must not be sent to data that is gone.
  job.outputs.keys = {};
  job.outputs.released = {};
  job.outputs.release_when_unreferenced =
      job.outputs.keep_until != kNever;  // Nor take what is gone for empty, also after a restart.
  leave_graph(job);
  give_back(job.hot);
  give_back(job.graph.templates);
  give_back(job.graph.larger_templates);
  give_back(job.graph.larger_numbers);
  job.place.locals.clear();
  placement_.placer.take_unschedulable(job);
  outputs_.data.forget_checkpoints(job);
  job.data.clear();
  give_back(job.extras.histories);
  give_back(job.extras.thieves);
  give_back(job.extras.outrun);
  give_back(job.extras.priority_changes);
  give_back(job.extras.cancel_orders);
  give_back(job.extras.leftovers);
  if (!had_outputs) return;
  tables_.ended.weigh(job);
  policy_base_.records.record_end(job);
}

void JobReleases::release_for(Job& job, ClientId client) {
  unfollow(job, client);
  if (job.status.state != JobState::Running) {
    if (job.outbox.followers().empty()) spend(job);
    return release_job(job);
  }
  const bool has_name = job.spec.name != to_string(job.id);
  if (has_name || job.outputs.kept_by_order || !job.outbox.followers().empty()) return;
  if (std::exchange(job.outputs.release_when_unreferenced, true)) return;
  policy_base_.records.record_change(job);
}

void JobReleases::forget_old_jobs() {
  while (const Job* next = tables_.ended.due(event_.now)) {
    Job& oldest = tables_.jobs[next->id];
    release_job(oldest);
    forget(oldest);
  }
}

void JobReleases::forget(Job& job) {
  const JobId id = job.id;
  tables_.jobs.remove_name(job);
  tables_.ended.remove(job);
  erase_job(job);
  ledger_.gate.write(record::JobForgotten{id});
}

void JobReleases::spend(const Job& job) {
  if (!job.spec.parent.any()) return;
  tables_.nested.remove(job.spec.parent->id, job.id);
  tables_.nested.note_spent(job.id);
}

void JobReleases::rejoin(const Job& job) {
  if (!job.spec.parent.any()) return;
  PENSTOCK_COVERAGE_MARK("a nested job ends with its run again");
  tables_.nested.add(job.spec.parent->id, {job.id, job.spec.parent->attempt});
  tables_.nested.note_moved(job.spec.parent->id);  // The run may have ended meanwhile.
}

void JobReleases::forget_spent_jobs() {
  for (const JobId id : tables_.nested.take_spent()) {
    Job* job = tables_.jobs.find(id);
    if (job == nullptr || job->status.state == JobState::Running || !job->outbox.followers().empty()) continue;
    if (!job->outputs.locations.empty() || !job->outputs.borrowed->empty()) continue;
    PENSTOCK_COVERAGE_MARK("a nested job was forgotten");
    release_job(*job);  // Its outputs may have been lost one by one; its workers still know it.
    forget(*job);
  }
}

void JobReleases::erase_job(const Job& job) {
  outputs_.progress.forget(job);
  if (job.spec.parent.any()) tables_.nested.remove(job.spec.parent->id, job.id);
  tables_.jobs.erase(job.id);
}

void JobReleases::unfollow(Job& job, ClientId client) {
  // The outputs are kept for so long from now on: a client that was cut off finds them when it is back.
  const bool spent = job.spec.parent.any() && !tables_.nested.has(job.spec.parent->id, job.id);
  if (spent) spend(job);
  if (outputs_.progress.unfollow(job, client) && job.outputs.keep_until != kNever)
    tables_.indices.kept.move(job.id, job.outputs.keep_until, later(event_.now, config_.results_keep));
  if (spent && job.status.state != JobState::Running && job.outbox.followers().empty()) release_job(job);
}

void JobReleases::leave_graph(Job& job) {
  if (job.graph.shared == nullptr) return;
  tables_.graphs.leave(*job.graph.shared);
  job.graph.shared = nullptr;
  job.graph.shape = nullptr;
}

void JobReleases::learn_durations(const Job& job) {
  for (std::size_t i = 0; i < job.graph.templates.size(); ++i)
    if (job.graph.templates[i].runs > 0)
      job.graph.shared->learned[i] = {job.graph.templates[i].runs, job.graph.templates[i].mean_ns};
}

}  // namespace penstock::supervisor
