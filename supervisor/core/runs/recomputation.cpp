#include "supervisor/core/runs/recomputation.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/runs/job_priorities.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

void Recomputation::find_again(Job& job, std::uint32_t subtask) {
  if (!read_again(job, subtask)) recompute(job, subtask);
}

bool Recomputation::read_again(Job& job, std::uint32_t subtask) {
  if (job.data.checkpoint(subtask) == nullptr || job.status.cancelling) return false;
  if (data_.promote_checkpoint(job, subtask)) return true;
  if (somebody_may_work()) return false;
  PENSTOCK_COVERAGE_MARK("a checkpoint waits for a worker");
  unread_.push_back({job.id, SubtaskIndex{subtask}});
  return true;
}

bool Recomputation::somebody_may_work() const {
  if (workers_.alive_bands() == 0) return false;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (worker.alive && !worker.claiming && !worker.bands.empty() && !workers_[worker.bands.front()].draining)
      return true;
  }
  return false;
}

void Recomputation::read_what_waits() {
  for (const SubtaskId& id : std::exchange(unread_, {})) {
    if (!jobs_.knows(id.job) || jobs_[id.job].status.state != JobState::Running) continue;
    Job& job = jobs_[id.job];
    const std::uint32_t subtask = id.index.value();
    if (job.status.recovering || job.status.cancelling || !DataDirectory::is_gone(job, subtask)) continue;
    if (DataDirectory::is_needed(job, subtask)) find_again(job, subtask);
  }
}

void Recomputation::recompute(Job& job, std::uint32_t subtask) {
  // An earlier one of several losses may have ended the job; subtasks opened now would never be cancelled. While
  // workers from before a restart may still bring the missing data, nothing is made again.
  if (job.status.cancelling || job.status.recovering) return;
  std::vector<std::uint32_t> pending{subtask};
  std::vector<std::uint32_t> reopened;
  while (!pending.empty()) {
    const std::uint32_t next = pending.back();
    pending.pop_back();
    if (job.hot[next].phase != SubtaskPhase::Succeeded) continue;
    if (reopened.size() >= config_.lineage_depth_max) {
      PENSTOCK_COVERAGE_MARK("a lineage was too long");
      for (const std::uint32_t done : reopened)
        if (job.hot[done].phase == SubtaskPhase::Waiting && job.hot[done].unplaced == 0)
          placer_.become_placeable(job, done);
      ends_.cancel_job(job,
                       Error{ErrorCode::InputLost, job.graph.shape->name(subtask),
                             "its outputs are lost, and more than " + std::to_string(config_.lineage_depth_max) +
                                 " subtasks would have to run again",
                             "raise `supervisor.lineage_depth_max`, or keep replicas or checkpoints"},
                       kDefaultGrace);
      return;
    }
    reopen(job, next, pending);
    reopened.push_back(next);
  }
  cancel_what_cannot_run(job, reopened);
  for (const std::uint32_t done : reopened) {
    if (is_final(job.hot[done].phase)) continue;
    SubtaskMachine::recount(job, done);
    if (job.hot[done].phase == SubtaskPhase::Waiting && job.hot[done].unplaced == 0)
      placer_.become_placeable(job, done);
  }
  raise_to_readers(job, reopened);
}

void Recomputation::raise_to_readers(Job& job, const std::vector<std::uint32_t>& reopened) {
  std::int32_t urgent = INT32_MIN;
  for (const std::uint32_t subtask : reopened)
    for (const std::uint32_t reader : job.graph.shape->successors(subtask))
      if (!is_final(job.hot[reader].phase)) urgent = std::max(urgent, job.user_priority(reader));
  for (const std::uint32_t subtask : reopened)
    if (!is_final(job.hot[subtask].phase) && job.user_priority(subtask) < urgent)
      priorities_.change_subtask_priority(job, subtask, urgent);
}

void Recomputation::cancel_what_cannot_run(Job& job, const std::vector<std::uint32_t>& reopened) {
  std::vector<std::uint32_t> doomed;
  for (const std::uint32_t subtask : reopened)
    for (const std::uint32_t predecessor : job.graph.shape->predecessors(subtask)) {
      const SubtaskHot& hot = job.hot[predecessor];
      // A predecessor that is being cancelled has taken its unfinished successors with it: nothing would cancel this
      // one later.
      const bool leaves = hot.phase == SubtaskPhase::Assigned && (hot.flags & SubtaskFlag::kCancelAsked) != 0;
      if (!leaves && (!is_final(hot.phase) || hot.phase == SubtaskPhase::Succeeded)) continue;
      doomed.push_back(subtask);
      break;
    }
  if (doomed.empty()) return;
  if (job.status.error->message.empty())
    job.status.error =
        Seldom{Error{ErrorCode::InputLost,
                     job.graph.shape->name(doomed.front()),
                     "its outputs were lost, and a predecessor that would have to run again was cancelled or failed",
                     {}}};
  ends_.cancel_subtasks(job, std::move(doomed), Duration{0});
}

void Recomputation::reopen(Job& job, std::uint32_t subtask, std::vector<std::uint32_t>& pending) {
  PENSTOCK_COVERAGE_MARK("a lost output is made again");
  ++counters_.recomputed;
  machine_.transition(job, subtask, SubtaskPhase::Waiting);
  const auto predecessors = job.graph.shape->predecessors(subtask);
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    if (job.graph.shape->edge_output(job.graph.shape->first_edge(subtask) + k) == EdgeKind::kOrderOnly) continue;
    ++job.data.readers(predecessors[k]);
    if (DataDirectory::is_gone(job, predecessors[k]) && !read_again(job, predecessors[k]))
      pending.push_back(predecessors[k]);
  }
}

void Recomputation::lose_external_datum(const ExternalInput& input, WorkerSlot slot) {
  const auto& [producer, output, identity] = input.datum;
  if (!jobs_.knows(producer.job)) return;
  PENSTOCK_COVERAGE_MARK("an external datum was not there");
  Job& producer_job = jobs_[producer.job];
  const std::uint32_t subtask = producer.index.value();
  if (producer_job.status.state != JobState::Running) {
    data_.drop_copies(producer_job, {input.datum.producer.index, output});
    if (const OutputLocation* at = external_inputs_.find_output(input.datum); at != nullptr)
      producer_job.outputs.locations.erase(producer_job.outputs.locations.begin() +
                                           (at - producer_job.outputs.locations.data()));
    return;
  }
  if (producer_job.hot[subtask].phase != SubtaskPhase::Succeeded || !producer_job.data.in_use() ||
      producer_job.data.gone(subtask))
    return;
  if (workers_[producer_job.hot[subtask].band].worker != slot)
    return producer_job.data.remove_replica(subtask, workers_[slot].id);
  data_.drop(producer_job, subtask, true);
  data_.forget_checkpoint(producer_job, subtask);
  if (!producer_job.status.recovering) find_again(producer_job, subtask);
}

void Recomputation::requeue(Job& job, std::uint32_t subtask) {
  SubtaskHot& hot = job.hot[subtask];
  if (!job.status.recovering && (job.status.cancelling || (hot.flags & SubtaskFlag::kCancelAsked) != 0)) {
    ends_.end_subtask(job, subtask, SubtaskPhase::Cancelled);
    return;
  }
  machine_.transition(job, subtask, SubtaskPhase::Waiting);
  if (job.data.in_use() && !job.status.recovering) {
    const auto predecessors = job.graph.shape->predecessors(subtask);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (job.graph.shape->edge_output(job.graph.shape->first_edge(subtask) + k) != EdgeKind::kOrderOnly &&
          DataDirectory::is_gone(job, predecessors[k]))
        find_again(job, predecessors[k]);
  }
  if (hot.phase == SubtaskPhase::Waiting && hot.unplaced == 0) placer_.become_placeable(job, subtask);
}

}  // namespace penstock::supervisor
