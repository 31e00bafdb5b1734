// SupervisorCore: what is written down, and what waits until it is.
#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

void SupervisorCore::record_change(const Job& job) {
  policy_.agenda.look_at(job.id);  // The author of the change wants to see what follows.
  if (!gate_.durable()) return;
  gate_.write(record::JobChanged{
      job.id, job.spec.priority, job.cancelling, *job.error, true, job.spec.policy.weight, job.spec.policy.slots_max,
      job.shares == nullptr ? 0 : job.shares->position, job.spec.policy.qos, job.spec.policy.queue, job.on_hold,
      job.shares == nullptr ? "" : *job.shares->pool_kept, job.release_when_unreferenced,
      job.shares == nullptr ? 0 : job.shares->preemptions, job.spec.policy.user_factor, job.scale.code()});
}

void SupervisorCore::record_change(const Job& job, std::uint32_t subtask) {
  if (!gate_.durable()) return;
  const SubtaskIndex index{subtask};
  record::SubtaskChanged changed;
  changed.job = job.id;
  changed.subtask = index;
  if (const SubtaskHistory* history = job.histories->find(index)) {
    changed.attempt = history->last_attempt;
    changed.charged = history->charged;
    changed.lost_workers = history->lost_workers;
    changed.failures = history->failures;
    changed.lines = history->lines;
  }
  if (const std::int32_t* priority = job.priority_changes->find(index)) changed.priority = *priority;
  changed.cancelled = job.cancel_orders->contains(index);
  gate_.write(std::move(changed));
}

void SupervisorCore::record_end(const Job& job) {
  if (!gate_.durable()) return;
  record::JobEnded over{job.id,
                        job.spec,
                        everything_so_far(job),
                        clock_.unix_ms(job.submitted),
                        clock_.unix_ms(job.ended),
                        {},
                        job.release_when_unreferenced};
  over.scale = job.scale.code();
  over.identity = job.identity;
  over.keys = kept_keys_of(job);
  for (const OutputLocation& output : job.outputs)
    if (const Incarnation* writer = job.data.checkpoint(output.producer.value()))
      over.checkpoints.push_back({output.producer, *writer});
  gate_.write(std::move(over));
}

// The last step of every event. Workers forget their reports only when all that the reports said is on the disk.
void SupervisorCore::write_what_has_changed() {
  if (progress_.empty()) mail_.acknowledge_reports();
  for (const JobId brought_by : graphs_.take_forgotten()) gate_.write(record::GraphForgotten{brought_by});
  gate_.commit(!indices_.active.empty());
}

void SupervisorCore::on(supervisor_event::Persisted& event) {
  if (gate_.persisted(event.ticket)) audit_.note_trouble("release replies", "all deferred records are written");
  while (const std::optional<JobId> id = accepting_.take_written()) {
    if (!jobs_.knows(*id)) continue;
    Job& job = jobs_[*id];
    job.waiting_for_disk = false;
    policy_changed();
    // The job may have been cancelled in the meantime.
    if (job.state == JobState::Running && !job.cancelling) place_sources(job);
  }
  while (const std::optional<SharedGraph*> graph = being_written_.take_written()) graphs_.leave(**graph);
  while (const std::optional<Loss> loss = losses_.take_written())
    if (const WorkerSlot slot = workers_.find(loss->worker); slot.valid()) lose_worker(slot, loss->reason);
  if (readoption_.are_given_up_on_disk()) end_reclaiming();
}

// Faults F11, F12: nothing more is promised; what runs goes on, and its progress waits.
void SupervisorCore::on(supervisor_event::StorageFailed& event) {
  if (gate_.fail(event.error)) {
    audit_.note_trouble("hold back replies", to_string(event.error));
    event_.out->add(supervisor_action::Alert{std::move(event.error)});
  }
  for (const JobId id : accepting_.take_all()) withdraw(id);
}

/// A job never was if its acceptance could not be written and was never told.
void SupervisorCore::withdraw(JobId id) {
  if (!jobs_.knows(id)) return;
  Job& job = jobs_[id];
  job.waiting_for_disk = false;
  if (job.state != JobState::Running || job.cancelling) return;  // Its end is being written behind it.
  PENSTOCK_COVERAGE_MARK("an acceptance could not be written");
  ++counters_.jobs_refused;
  gate_.withdraw(id);
  indices_.active.erase(id, job.spec.priority);
  leave_policy(job);
  if (indices_.active.empty()) watchdog_.stop();
  jobs_.remove_name(job);
  drop_references(job);
  leave_graph(job);
  erase_job(job);
  // Should the disk come back, both are written together, and nothing remains.
  gate_.write(record::JobForgotten{id});
}

}  // namespace penstock::supervisor
