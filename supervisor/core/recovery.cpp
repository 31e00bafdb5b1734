// SupervisorCore: recovery from the records of earlier terms.
#include <algorithm>
#include <limits>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/supervisor_core.hpp"

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

void SupervisorCore::on(supervisor_event::StateRecovered& event) {
  clock_ = WallClock{event_.now, event.unix_ms};
  attempts_begin_ = attempts_begin(event.term);
  audit_.recover(event.state.orders);
  for (const Incarnation writer : event.state.lost_writers) data_.recover_lost_writer(writer);
  data_.workers_changed();
  if (event.state.policy.has_value()) recover_policy(*event.state.policy);
  readoption_.begin(std::move(event.state.workers));
  GraphsAgain graphs = recover_graphs(event.state.graphs);
  for (RecoveredJob& job : event.state.jobs) {
    if (job.is_over)
      recover_ended_job(job);
    else
      recover_job(job, graphs);
  }
  for (const auto& [brought_by, graph] : graphs)
    if (graph) graphs_.leave(**graph);
  for (const JobId id : indices_.active) add_references(jobs_[id]);
  for (const JobId id : indices_.kept.due_at(kNever))  // The last reference ended while that was being written.
    if (Job& job = jobs_[id]; job.release_when_unreferenced && job.references == 0) release_job(job);
  jobs_.skip_to(event.state.next_job);
  ended_.sort();
  forget_old_jobs();
}

void SupervisorCore::recover_ended_job(RecoveredJob& recovered) {
  Job& job = jobs_.add(recovered.id);
  job.identity = recovered.identity;
  job.spec = std::move(recovered.spec);
  job.scale = PriorityScale::of_code(recovered.scale, job.spec.priority, scale_of(job.spec));
  job.state = recovered.everything.state;
  job.counts = recovered.everything.counts;
  if (!(recovered.everything.error == Error{})) job.error = Seldom{recovered.everything.error};
  ProgressOutbox::recover_ended(job, std::move(recovered.everything));
  if (!recovered.keys.empty()) job.keys = Seldom{KeptKeys{std::move(recovered.keys)}};
  job.submitted = clock_.instant_of(recovered.submitted_ms);
  job.ended = clock_.instant_of(recovered.ended_ms);
  jobs_.add_name(job);
  ended_.add(job);
  job.release_when_unreferenced = recovered.unneeded;
  if (job.outputs.empty() && !recovered.unneeded) return;
  job.keep_until = later(event_.now, config_.results_keep);
  if (job.outputs.empty()) return;  // The outputs were released.
  for (const CheckpointPlace& place : recovered.checkpoints)
    data_.note_checkpoint(job, place.producer.value(), place.writer);
  indices_.kept.insert(job.id, job.keep_until);
}

/// Each graph is built once, whatever the number of jobs that share it, and is kept until they all have it.
SupervisorCore::GraphsAgain SupervisorCore::recover_graphs(std::vector<RecoveredGraph>& recovered) {
  GraphsAgain graphs;
  for (RecoveredGraph& graph : recovered) {
    Result<std::unique_ptr<GraphShape>> shape = rebuild(std::move(graph.chunks));
    if (!shape) {
      graphs.emplace(graph.brought_by, shape.error());
      continue;
    }
    SharedGraph& shared = graphs_.add(std::move(shape).value());
    if (!graph.with_its_job) shared.written_as = graph.brought_by;
    graphs.emplace(graph.brought_by, &shared);
  }
  return graphs;
}

void SupervisorCore::recover_job(RecoveredJob& recovered, const GraphsAgain& graphs) {
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
  graphs_.join(**graph->second);
  std::int32_t& priority = recovered.spec.priority;
  const PriorityScale scale = scale_of(recovered.spec);
  priority = scale.taken_over(priority, PriorityScale::of_code(recovered.scale, priority, scale));
  Job& job = make_job(std::move(recovered.spec), **graph->second, recovered.id);
  job.identity = recovered.identity;
  job.submitted = clock_.instant_of(recovered.submitted_ms);
  if (job.shares != nullptr && recovered.position != 0) job.shares->position = recovered.position;
  if (job.shares != nullptr) job.shares->preemptions = recovered.preempted;
  job.on_hold = recovered.on_hold;
  job.release_when_unreferenced = recovered.unneeded;
  if (job.shares != nullptr && !recovered.pool.empty()) {
    job.shares->pool_name = job.shares->pool_kept.edit() = recovered.pool;
    open_pools(job);
    job.shares->placed_in_pool = job.shares->pool;  // Nothing is placed yet.
  }
  apply_ended(job, recovered.ended);
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (!is_final(job.hot[i].phase)) SubtaskMachine::recount(job, i);
  recover_outputs(job, recovered.ended);
  cancel_behind_failures(job);
  job.recovering = readoption_.is_active();
  if (job.recovering) policy_.agenda.look_at(job.id);        // Workers may have much of it.
  job.overlap_until = overlap_over_at(config_, event_.now);  // Also of a worker with a recorded loss.
  recover_changes(job, recovered.changes);
  if (recovered.cancelling) {
    PENSTOCK_COVERAGE_MARK("a job that was being cancelled came back");
    cancel_job(job, std::move(recovered.why), kDefaultGrace);
  } else if (!job.recovering) {
    resume(job);
  }
  if (job.open == 0) maybe_done_.push_back(job.id);
}

void SupervisorCore::end_recovered(Job& job, const SubtaskRange& range, SubtaskPhase phase) {
  for (std::uint32_t i = range.first.value(); i <= range.last.value() && i < job.total(); ++i) {
    SubtaskHot& hot = job.hot[i];
    if (is_final(hot.phase)) continue;
    machine_.transition(job, i, phase);
    if (phase == SubtaskPhase::Succeeded) hot.flags |= SubtaskFlag::kVisible;
    ++(phase == SubtaskPhase::Succeeded   ? job.counts.succeeded
       : phase == SubtaskPhase::Cancelled ? job.counts.cancelled
                                          : job.counts.failed);
  }
}

// Spec: design 5, completion is visible exactly once: a recorded success was or may have been reported.
void SupervisorCore::apply_ended(Job& job, const record::SubtasksEnded& ended) {
  job.counts = ended.counts;
  job.counts.total = job.total();
  job.counts.assigned = job.counts.succeeded = job.counts.failed = job.counts.cancelled = 0;
  for (const SubtaskRange& range : ended.succeeded) end_recovered(job, range, SubtaskPhase::Succeeded);
  for (const SubtaskRange& range : ended.cancelled) end_recovered(job, range, SubtaskPhase::Cancelled);
  for (const SubtaskFailure& failure : ended.failures) {
    end_recovered(job, {failure.subtask, failure.subtask}, SubtaskPhase::Failed);
    progress_.recover_failure(job, failure);
  }
  for (const OutputLocation& output : ended.outputs) {
    // The output may have been made again elsewhere.
    std::erase_if(job.outputs, [&](const OutputLocation& known) {
      return known.producer == output.producer && known.output == output.output;
    });
    job.outputs.push_back(output);
  }
}

/// The outputs are known to exist, but their places are not.
void SupervisorCore::recover_outputs(Job& job, const record::SubtasksEnded& ended) {
  if (ended.made.empty()) return;
  job.data.open(*job.shape);
  for (const MadeOutput& made : ended.made) {
    const std::uint32_t subtask = made.producer.value();
    const std::uint16_t count = DataDirectory::outputs_of(job, subtask);
    if (made.output >= count || made.bytes <= 0 || job.hot[subtask].phase != SubtaskPhase::Succeeded) continue;
    job.data.set_bytes(*job.shape, subtask, made.output, made.bytes);
    job.data.set_gone(subtask, true);
  }
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    if (!is_final(job.hot[i].phase)) continue;
    const auto predecessors = job.shape->predecessors(i);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (job.shape->edge_output(job.shape->first_edge(i) + k) != EdgeKind::kOrderOnly)
        --job.data.readers(predecessors[k]);
  }
  for (const CheckpointPlace& place : ended.checkpoints) {
    const std::uint32_t subtask = place.producer.value();
    if (DataDirectory::is_needed(job, subtask) && DataDirectory::is_gone(job, subtask))
      data_.note_checkpoint(job, subtask, place.writer);
  }
}

/// A subtask behind one that has failed or was cancelled never runs. The cancel may have been ordered before, or been
/// sent to its worker, without a record.
void SupervisorCore::cancel_behind_failures(Job& job) {
  std::vector<std::uint32_t> doomed;
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (is_final(job.hot[i].phase) && job.hot[i].phase != SubtaskPhase::Succeeded)
      for (const std::uint32_t successor : job.shape->successors(i)) doomed.push_back(successor);
  if (!doomed.empty()) cancel_subtasks(job, std::move(doomed), kDefaultGrace);
}

/// Charged failures stay charged, and orders of operators stay in force.
void SupervisorCore::recover_changes(Job& job, std::vector<record::SubtaskChanged>& changes) {
  std::vector<std::uint32_t> cancelled;
  for (record::SubtaskChanged& change : changes) {
    const std::uint32_t subtask = change.subtask.value();
    if (subtask >= job.total()) continue;
    SubtaskHot& hot = job.hot[subtask];
    if (change.priority.has_value()) {
      job.keys_carry_priority = true;  // Nothing has a key yet.
      job.priority_changes.edit()[change.subtask] = *change.priority;
    }
    if (change.cancelled) {
      PENSTOCK_COVERAGE_MARK("a subtask that was being cancelled came back");
      job.cancel_orders.edit().insert(change.subtask, true);
      cancelled.push_back(subtask);
    }
    if (change.attempt == 0) continue;  // A success has its history in case it has to run again.
    hot.flags |= SubtaskFlag::kTroubled;
    hot.attempt = change.attempt;
    SubtaskHistory& history = job.histories.edit()[change.subtask];
    history.last_attempt = change.attempt;
    history.charged = change.charged;
    history.lost_workers = change.lost_workers;
    history.failures = change.failures;
    history.lines = std::move(change.lines);
  }
  if (!cancelled.empty()) cancel_subtasks(job, all_that_depends_on(job, std::move(cancelled)), kDefaultGrace);
}

/// The subtasks themselves, and all subtasks behind them: a subtask that was asked to stop may have succeeded before
/// the order reached it, and subtasks behind it do not run all the same.
std::vector<std::uint32_t> SupervisorCore::all_that_depends_on(const Job& job, std::vector<std::uint32_t> pending) {
  std::vector<std::uint32_t> found;
  std::vector<bool> seen(job.total());
  while (!pending.empty()) {
    const std::uint32_t subtask = pending.back();
    pending.pop_back();
    if (seen[subtask]) continue;
    seen[subtask] = true;
    found.push_back(subtask);
    for (const std::uint32_t successor : job.shape->successors(subtask)) pending.push_back(successor);
  }
  return found;
}

/// Places ready subtasks, and makes needed outputs again that were found nowhere.
void SupervisorCore::resume(Job& job) {
  for (std::uint32_t i = 0; i < job.total() && job.data.in_use(); ++i)
    if (DataDirectory::is_needed(job, i) && DataDirectory::is_gone(job, i)) find_again(job, i);
  if (job.cancelling) return;  // A lineage was too long.
  place_sources(job);
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (job.hot[i].phase == SubtaskPhase::Waiting && job.hot[i].unplaced == 0) become_placeable(job, i);
}

}  // namespace penstock::supervisor
