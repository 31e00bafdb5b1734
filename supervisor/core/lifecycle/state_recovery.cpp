#include "supervisor/core/lifecycle/state_recovery.hpp"

#include <algorithm>
#include <limits>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/ledger/audit_log.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/lifecycle/job_acceptance.hpp"
#include "supervisor/core/lifecycle/job_releases.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/runs/recomputation.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {
namespace {

/// An accepted graph stays acceptable, whatever the limits are now.
GraphLimits no_limits() {
  GraphLimits limits;
  limits.subtasks_max = 0xfffffff0U;
  limits.edges_max = limits.outputs_max = limits.payload_bytes_max = std::numeric_limits<std::uint64_t>::max();
  limits.templates_max = limits.subtask_payload_bytes_max = limits.name_bytes_max =
      std::numeric_limits<std::uint32_t>::max();
  return limits;
}

Result<std::unique_ptr<GraphShape>> rebuild(std::vector<Graph> chunks) {
  GraphIntake intake{no_limits()};
  for (Graph& chunk : chunks) PENSTOCK_TRY(intake.add(std::move(chunk)));
  return intake.finish();
}

}  // namespace

void StateRecovery::recover_ended_job(RecoveredJob& recovered, const GraphsAgain& graphs) {
  Job& job = tables_.jobs.add(recovered.id);
  job.identity = recovered.identity;
  job.spec = std::move(recovered.spec);
  job.scale = PriorityScale::of_code(recovered.scale, job.spec.priority, policy_base_.view.scale_of(job.spec));
  if (const auto graph = graphs.find(recovered.graph); graph != graphs.end() && graph->second) {
    job.graph.hash = (*graph->second)->shape->hash();
    job.graph.written_as = recovered.graph;
  }
  job.status.state = recovered.everything.state;
  job.tally.counts = recovered.everything.counts;
  if (!(recovered.everything.error == Error{})) job.status.error = Seldom{recovered.everything.error};
  ProgressOutbox::recover_ended(job, std::move(recovered.everything));
  recover_released(job, recovered.released);
  if (!recovered.keys.empty()) job.outputs.keys = Seldom{KeptKeys{std::move(recovered.keys)}};
  job.status.submitted = ledger_.clock.instant_of(recovered.submitted_ms);
  job.status.ended = ledger_.clock.instant_of(recovered.ended_ms);
  tables_.jobs.add_name(job);
  job.outputs.kept_by_order = recovered.kept_by_order;
  tables_.ended.add(job);
  job.outputs.release_when_unreferenced = recovered.unneeded;
  acceptance_.adopt_ended(job);
  if (job.outputs.locations.empty() && !recovered.unneeded) return;
  job.outputs.keep_until = later(event_.now, config_.results_keep);
  if (job.outputs.locations.empty()) return;  // The outputs were released.
  for (const CheckpointPlace& place : recovered.checkpoints)
    outputs_.data.note_checkpoint(job, place.producer.value(), place.writer);
  tables_.indices.kept.insert(job.id, job.outputs.keep_until);
}

GraphsAgain StateRecovery::recover_graphs(std::vector<RecoveredGraph>& recovered) {
  GraphsAgain graphs;
  for (RecoveredGraph& graph : recovered) {
    Result<std::unique_ptr<GraphShape>> shape = rebuild(std::move(graph.chunks));
    if (!shape) {
      graphs.emplace(graph.brought_by, shape.error());
      continue;
    }
    SharedGraph& shared = tables_.graphs.add(std::move(shape).value());
    if (!graph.with_its_job) shared.written_as = graph.brought_by;
    graphs.emplace(graph.brought_by, &shared);
  }
  return graphs;
}

void StateRecovery::recover_job(RecoveredJob& recovered, const GraphsAgain& graphs) {
  const auto graph = graphs.find(recovered.graph);
  if (graph == graphs.end() || !graph->second) {
    // The graph was checked before it was written: this is our mistake or a disk's. The other jobs go on; this one
    // stays in the journal.
    const std::string why = graph == graphs.end() ? "it is missing" : to_string(graph->second.error());
    event_.out->add(supervisor_action::Alert{Error{ErrorCode::StorageDamaged, recovered.spec.name,
                                                   "its graph is not acceptable any more: " + why,
                                                   "submit it again under another name"}});
    return;
  }
  tables_.graphs.join(**graph->second);
  std::int32_t& priority = recovered.spec.priority;
  const PriorityScale scale = policy_base_.view.scale_of(recovered.spec);
  priority = scale.taken_over(priority, PriorityScale::of_code(recovered.scale, priority, scale));
  Job& job = acceptance_.make_job(std::move(recovered.spec), **graph->second, recovered.id);
  job.identity = recovered.identity;
  job.status.submitted = ledger_.clock.instant_of(recovered.submitted_ms);
  if (job.shares != nullptr && recovered.position != 0) job.shares->position = recovered.position;
  if (job.shares != nullptr) job.shares->preemptions = recovered.preempted;
  job.status.on_hold = recovered.on_hold;
  if (recovered.limit_since_ms != 0) job.status.limit_since = ledger_.clock.instant_of(recovered.limit_since_ms);
  job.outputs.release_when_unreferenced = recovered.unneeded;
  job.outputs.kept_by_order = recovered.kept_by_order;
  if (job.outputs.kept_by_order && job.spec.parent.any()) tables_.nested.remove(job.spec.parent->id, job.id);
  if (job.shares != nullptr && !recovered.pool.empty()) {
    job.shares->pool.name = job.shares->pool.kept_name.edit() = recovered.pool;
    driver_.fallbacks.open_pools(job);
    job.shares->pool.placed = job.shares->pool.position;  // Nothing is placed yet.
  }
  apply_ended(job, recovered.ended);
  recover_released(job, recovered.released);
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (!is_final(job.hot[i].phase)) SubtaskMachine::recount(job, i);
  recover_outputs(job, recovered.ended);
  cancel_behind_failures(job);
  job.status.recovering = fleet_.readoption.is_active();
  if (job.status.recovering) policy_base_.state.agenda.look_at(job.id);  // Workers may have much of it.
  job.status.overlap_until = overlap_over_at(config_, event_.now);       // Also of a worker with a recorded loss.
  recover_changes(job, recovered.changes);
  if (recovered.cancelling) {
    PENSTOCK_COVERAGE_MARK("a job that was being cancelled came back");
    runs_.ends.cancel_job(job, std::move(recovered.why), kDefaultGrace);
  } else if (!job.status.recovering) {
    runs_.time_limits.go_on(job, false);
    resume(job);
  }
  if (job.tally.open == 0) tables_.maybe_done.push_back(job.id);
}

void StateRecovery::end_recovered(Job& job, const SubtaskRange& range, SubtaskPhase phase) {
  for (std::uint32_t i = range.first.value(); i <= range.last.value() && i < job.total(); ++i) {
    SubtaskHot& hot = job.hot[i];
    if (is_final(hot.phase)) continue;
    placement_.machine.transition(job, i, phase);
    if (phase == SubtaskPhase::Succeeded) hot.flags |= SubtaskFlag::kVisible;
    ++(phase == SubtaskPhase::Succeeded   ? job.tally.counts.succeeded
       : phase == SubtaskPhase::Cancelled ? job.tally.counts.cancelled
                                          : job.tally.counts.failed);
  }
}

void StateRecovery::apply_ended(Job& job, const record::SubtasksEnded& ended) {
  job.tally.counts = ended.counts;
  job.tally.counts.total = job.total();
  job.tally.counts.assigned = job.tally.counts.succeeded = job.tally.counts.failed = job.tally.counts.cancelled = 0;
  for (const SubtaskRange& range : ended.succeeded) end_recovered(job, range, SubtaskPhase::Succeeded);
  for (const SubtaskRange& range : ended.cancelled) end_recovered(job, range, SubtaskPhase::Cancelled);
  for (const SubtaskFailure& failure : ended.failures) {
    end_recovered(job, {failure.subtask, failure.subtask}, SubtaskPhase::Failed);
    outputs_.progress.recover_failure(job, failure);
  }
  for (const OutputLocation& output : ended.outputs) {
    // The output may have been made again elsewhere.
    std::erase_if(job.outputs.locations, [&](const OutputLocation& known) {
      return known.producer == output.producer && known.output == output.output;
    });
    job.outputs.locations.push_back(output);
  }
}

void StateRecovery::recover_released(Job& job, const std::vector<SubtaskRange>& ranges) {
  for (const auto& [first, last] : ranges)
    for (std::uint32_t i = first.value(); i <= last.value() && i < job.tally.counts.total; ++i) {
      job.outputs.released.edit().insert(i);
      if (!job.hot.empty()) job.hot[i].flags &= static_cast<std::uint16_t>(~SubtaskFlag::kWanted);
    }
  std::erase_if(job.outputs.locations,
                [&](const OutputLocation& output) { return job.outputs.released->contains(output.producer.value()); });
}

void StateRecovery::recover_outputs(Job& job, const record::SubtasksEnded& ended) {
  if (ended.made.empty()) return;
  job.data.open(*job.graph.shape);
  for (const MadeOutput& made : ended.made) {
    const std::uint32_t subtask = made.producer.value();
    const std::uint16_t count = DataDirectory::outputs_of(job, subtask);
    if (made.output >= count || made.bytes <= 0 || job.hot[subtask].phase != SubtaskPhase::Succeeded) continue;
    job.data.set_bytes(*job.graph.shape, subtask, made.output, made.bytes);
    job.data.set_gone(subtask, true);
  }
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    if (!is_final(job.hot[i].phase)) continue;
    const auto predecessors = job.graph.shape->predecessors(i);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (job.graph.shape->edge_output(job.graph.shape->first_edge(i) + k) != EdgeKind::kOrderOnly)
        --job.data.readers(predecessors[k]);
  }
  for (const CheckpointPlace& place : ended.checkpoints) {
    const std::uint32_t subtask = place.producer.value();
    if (DataDirectory::is_needed(job, subtask) && DataDirectory::is_gone(job, subtask))
      outputs_.data.note_checkpoint(job, subtask, place.writer);
  }
}

void StateRecovery::cancel_behind_failures(Job& job) {
  std::vector<std::uint32_t> doomed;
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (is_final(job.hot[i].phase) && job.hot[i].phase != SubtaskPhase::Succeeded)
      for (const std::uint32_t successor : job.graph.shape->successors(i)) doomed.push_back(successor);
  if (!doomed.empty()) runs_.ends.cancel_subtasks(job, std::move(doomed), kDefaultGrace);
}

void StateRecovery::recover_changes(Job& job, std::vector<record::SubtaskChanged>& changes) {
  std::vector<std::uint32_t> cancelled;
  for (record::SubtaskChanged& change : changes) {
    const std::uint32_t subtask = change.subtask.value();
    if (subtask >= job.total()) continue;
    SubtaskHot& hot = job.hot[subtask];
    if (change.priority.has_value()) {
      job.extras.keys_carry_priority = true;  // Nothing has a key yet.
      job.extras.priority_changes.edit()[change.subtask] = *change.priority;
    }
    if (change.cancelled) {
      PENSTOCK_COVERAGE_MARK("a subtask that was being cancelled came back");
      job.extras.cancel_orders.edit().insert(change.subtask, true);
      cancelled.push_back(subtask);
    }
    if (change.attempt == 0) continue;  // A success has its history in case it has to run again.
    hot.flags |= SubtaskFlag::kTroubled;
    hot.attempt = change.attempt;
    SubtaskHistory& history = job.extras.histories.edit()[change.subtask];
    history.last_attempt = change.attempt;
    history.charged = change.charged;
    history.lost_workers = change.lost_workers;
    history.failures = change.failures;
    history.lines = std::move(change.lines);
  }
  if (!cancelled.empty())
    runs_.ends.cancel_subtasks(job, all_that_depends_on(job, std::move(cancelled)), kDefaultGrace);
}

std::vector<std::uint32_t> StateRecovery::all_that_depends_on(const Job& job, std::vector<std::uint32_t> pending) {
  std::vector<std::uint32_t> found;
  std::vector<bool> seen(job.total());
  while (!pending.empty()) {
    const std::uint32_t subtask = pending.back();
    pending.pop_back();
    if (seen[subtask]) continue;
    seen[subtask] = true;
    found.push_back(subtask);
    for (const std::uint32_t successor : job.graph.shape->successors(subtask)) pending.push_back(successor);
  }
  return found;
}

void StateRecovery::resume(Job& job) {
  for (std::uint32_t i = 0; i < job.total() && job.data.in_use(); ++i)
    if (DataDirectory::is_needed(job, i) && DataDirectory::is_gone(job, i)) runs_.recomputation.find_again(job, i);
  if (job.status.cancelling) return;  // A lineage was too long.
  acceptance_.place_sources(job);
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (job.hot[i].phase == SubtaskPhase::Waiting && job.hot[i].unplaced == 0)
      placement_.placer.become_placeable(job, i);
}

void StateRecovery::recover(supervisor_event::StateRecovered& event) {
  ledger_.audit.recover(event.state.orders);
  for (const Incarnation writer : event.state.lost_writers) outputs_.data.recover_lost_writer(writer);
  outputs_.data.workers_changed();
  if (event.state.policy.has_value()) policy_base_.usage.recover_policy(*event.state.policy);
  fleet_.readoption.begin(std::move(event.state.workers));
  GraphsAgain graphs = recover_graphs(event.state.graphs);
  for (RecoveredJob& job : event.state.jobs) {
    if (job.is_over)
      recover_ended_job(job, graphs);
    else
      recover_job(job, graphs);
  }
  for (const auto& [brought_by, graph] : graphs)
    if (graph) tables_.graphs.leave(**graph);
  for (const JobId id : tables_.indices.active) placement_.external_inputs.add_references(tables_.jobs[id]);
  for (const JobId id : tables_.indices.kept.due_at(kNever))  // The last reference ended while that was being written.
    if (Job& job = tables_.jobs[id]; job.outputs.release_when_unreferenced && job.outputs.borrowed->empty())
      releases_.release_job(job);
  tables_.jobs.skip_to(event.state.next_job);
  tables_.ended.sort();
  releases_.forget_old_jobs();
}

}  // namespace penstock::supervisor
