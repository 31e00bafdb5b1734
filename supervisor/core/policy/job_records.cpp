#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/results.hpp"

namespace penstock::supervisor {

void JobRecords::record_change(const Job& job) {
  policy_.agenda.look_at(job.id);  // The author of the change wants to see what follows.
  if (!gate_.durable()) return;
  gate_.write(record::JobChanged{job.id,
                                 job.spec.priority,
                                 job.status.cancelling,
                                 *job.status.error,
                                 true,
                                 job.spec.policy.weight,
                                 job.spec.policy.slots_max,
                                 job.shares == nullptr ? 0 : job.shares->position,
                                 job.spec.policy.qos,
                                 job.spec.policy.queue,
                                 job.status.on_hold,
                                 job.shares == nullptr ? "" : *job.shares->pool.kept_name,
                                 job.outputs.release_when_unreferenced,
                                 job.shares == nullptr ? 0 : job.shares->preemptions,
                                 job.spec.policy.user_factor,
                                 job.scale.code(),
                                 job.spec.policy.account,
                                 job.status.limit_since == kNever ? 0 : clock_.unix_ms(job.status.limit_since),
                                 job.spec.time_limit,
                                 job.outputs.kept_by_order});
}

void JobRecords::record_change(const Job& job, std::uint32_t subtask) {
  if (!gate_.durable()) return;
  const SubtaskIndex index{subtask};
  record::SubtaskChanged changed;
  changed.job = job.id;
  changed.subtask = index;
  if (const SubtaskHistory* history = job.extras.histories->find(index)) {
    changed.attempt = history->last_attempt;
    changed.charged = history->charged;
    changed.lost_workers = history->lost_workers;
    changed.failures = history->failures;
    changed.lines = history->lines;
  }
  if (const std::int32_t* priority = job.extras.priority_changes->find(index)) changed.priority = *priority;
  changed.cancelled = job.extras.cancel_orders->contains(index);
  gate_.write(std::move(changed));
}

void JobRecords::record_end(const Job& job) {
  if (!gate_.durable()) return;
  record::JobEnded over{job.id,
                        job.spec,
                        everything_so_far(job),
                        clock_.unix_ms(job.status.submitted),
                        clock_.unix_ms(job.status.ended),
                        {},
                        job.outputs.release_when_unreferenced};
  over.scale = job.scale.code();
  over.identity = job.identity;
  over.keys = kept_keys_of(job);
  over.kept_by_order = job.outputs.kept_by_order;
  over.graph_of = job.graph.written_as;
  for (const OutputLocation& output : job.outputs.locations)
    if (const Incarnation* writer = job.data.checkpoint(output.producer.value()))
      over.checkpoints.push_back({output.producer, *writer});
  gate_.write(std::move(over));
  record::OutputsReleased released{job.id, {}};
  for (std::uint32_t i = job.outputs.released->next(0); i != IndexSet::kNone; i = job.outputs.released->next(i + 1))
    append(released.subtasks, SubtaskIndex{i});
  if (!released.subtasks.empty()) gate_.write(std::move(released));
}

}  // namespace penstock::supervisor
