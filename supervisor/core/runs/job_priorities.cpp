#include "supervisor/core/runs/job_priorities.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {

void JobPriorities::change_priority(Job& job, std::int32_t priority) {
  indices_.active.erase(job.id, job.precedence());
  job.spec.priority = priority;
  indices_.active.insert(job.id, job.precedence());
  policy_.agenda.change(job.id, priority, likeness_of(job), policy_.config.queue_depth);
  queues_.enter_waiting_anew(job);
  if (job.shares != nullptr) job.shares->position = view_.first_position(job);
  records_.record_change(job);
  turns_.policy_changed();
  send_priority(job);
}

void JobPriorities::clear_placements(Job& job) {
  for (std::uint32_t i = job.place.locals.first(); i < job.place.locals.end(); ++i)
    if (LocalSet* local = job.place.locals.find(BandSlot{i})) {
      if (local->ready_count() > 0) bands_.change_ready(BandSlot{i}, -static_cast<std::int32_t>(local->ready_count()));
      local->clear();
    }
}

void JobPriorities::send_priority(const Job& job) {
  for (const WorkerId worker : job.audience.workers)
    if (const WorkerSlot slot = workers_.find(worker); slot.valid())
      mail_.tell(slot, PriorityBatch{job.id, true, job.spec.priority, {}});
}

void JobPriorities::follow_scale(Job& job) {
  const PriorityScale now = view_.scale_of(job.spec);
  if (now == job.scale) return;
  const std::int32_t before = job.spec.priority;
  indices_.active.erase(job.id, job.precedence());
  job.spec.priority = now.taken_over(before, std::exchange(job.scale, now));
  indices_.active.insert(job.id, job.precedence());
  policy_.agenda.change(job.id, job.spec.priority, likeness_of(job), policy_.config.queue_depth);
  const bool hidden = policy_.agenda.is_hidden(job.id);
  records_.record_change(job);
  if (hidden) policy_.agenda.hide(job.id);
  if (job.spec.priority != before) send_priority(job);
}

void JobPriorities::change_subtask_priority(Job& job, std::uint32_t subtask, std::int32_t priority) {
  const std::uint64_t key_before = job.order_key(subtask);
  job.extras.priority_changes.edit()[SubtaskIndex{subtask}] = priority;
  records_.record_change(job, subtask);
  if (!job.extras.keys_carry_priority) {
    // Until now the rank alone was the key. All keys that are kept are outdated; this happens once for a job.
    job.extras.keys_carry_priority = true;
    clear_placements(job);
    for (std::uint32_t i = 0; i < job.total(); ++i)
      if (job.hot[i].phase == SubtaskPhase::Placeable && job.hot[i].band.valid()) placer_.become_placeable(job, i);
  } else if (const BandSlot placed_on = job.hot[subtask].band;
             job.hot[subtask].phase == SubtaskPhase::Placeable && placed_on.valid()) {
    if (job.place.locals.at(placed_on).erase(key_before)) bands_.change_ready(placed_on, -1);
    placer_.become_placeable(job, subtask);
  }
  if (job.hot[subtask].phase != SubtaskPhase::Assigned) return;
  const WorkerSlot slot = workers_[job.hot[subtask].band].worker;
  mail_.last<PriorityBatch>(slot, job.id)
      .changes.push_back(PriorityChange{SubtaskIndex{subtask}, job.worker_priority(subtask)});
}

}  // namespace penstock::supervisor
