// SupervisorCore: jobs from acceptance to oblivion.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/base/large_array.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// Runs of earlier jobs of a graph that count: enough to trust their mean, few enough to learn anew.
constexpr std::uint64_t kRunsRemembered = 7;

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

/// The graph has counted this job already.
Job& SupervisorCore::make_job(JobSpec spec, SharedGraph& graph, JobId id) {
  Job& job = jobs_.add(id);
  job.spec = std::move(spec);
  job.scale = scale_of(job.spec);
  if (job.spec.name.empty()) job.spec.name = to_string(id);
  job.graph = &graph;
  job.shape = graph.shape.get();
  job.graph_hash = job.shape->hash();
  job.submitted = event_.now;
  job.hot.resize(job.shape->size());
  for (const LearnedDuration& learned : graph.learned)
    job.templates.push_back({std::min(learned.runs, kRunsRemembered), learned.mean_ns});
  SubtaskMachine::open(job);
  jobs_.add_name(job);
  const std::vector<bool> read = job.spec.keep == Keep::Sinks ? job.shape->read_subtasks() : std::vector<bool>{};
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    SubtaskHot& hot = job.hot[i];
    const bool is_read = read.empty() ? !job.shape->successors(i).empty() : read[i];
    if (job.spec.keep == Keep::Sinks && !is_read) hot.flags |= SubtaskFlag::kWanted;
  }
  if (job.spec.keep == Keep::Wanted)
    for (const std::uint32_t wanted : job.shape->graph().wanted) job.hot[wanted].flags |= SubtaskFlag::kWanted;
  indices_.active.insert(id, job.spec.priority);
  open_shares(job);
  open_labels(job);
  watchdog_.note_progress(event_.now);
  watchdog_.begin(event_.now);
  return job;
}

// Spec: worker 10. Sources go to the bands as contiguous regions of the graph, sized by slots, so that first joins are
// local. Everything else that could be placed, after a restart, goes where its inputs are.
void SupervisorCore::place_sources(Job& job) {
  // Room for all at once: of what is not used no page is ever touched, and growing would touch everything twice.
  LargeArray<std::uint32_t> sources;
  sources.reserve(job.total());
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (job.hot[i].unplaced == 0 && job.hot[i].missing == 0 && job.hot[i].phase == SubtaskPhase::Waiting &&
        job.shape->predecessors(i).empty())
      sources.push_back(i);
  std::vector<BandSlot> bands;
  std::uint64_t slots = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.draining || band.description.kind != BandKind::Cpu) continue;
    if (!may_use(job, BandSlot{i})) continue;
    bands.push_back(BandSlot{i});
    slots += band.slots;
  }
  std::size_t next = 0;
  std::uint64_t slots_before = 0;
  LargeArray<std::uint64_t> keys;
  for (const BandSlot slot : bands) {
    slots_before += workers_[slot].slots;
    const std::size_t end = static_cast<std::size_t>(sources.size() * slots_before / slots);
    keys.clear();
    keys.reserve(end - next);
    for (; next < end; ++next) {
      const std::uint32_t subtask = sources[next];
      const Template& wanted = job.shape->template_of(subtask);
      const SubtaskHistory* history = job.histories->empty() ? nullptr : job.histories->find(SubtaskIndex{subtask});
      const bool avoids = history != nullptr && (history->larger.valid() || !history->tried.empty());
      const bool avoids_overlap = job.overlap_until > Instant{} && never_overlaps(job, subtask);
      const bool anywhere =
          !avoids && !avoids_overlap && eligibility_.bands_of(job, job.shape->template_index(subtask)).everywhere &&
          !wants_gpu(wanted) && wanted.preferred.empty() && job.shape->external_input_of(subtask) == nullptr;
      if (!anywhere) {
        become_placeable(job, subtask);
        continue;
      }
      machine_.transition(job, subtask, SubtaskPhase::Placeable);
      job.hot[subtask].band = slot;
      keys.push_back(job.order_key(subtask));
    }
    if (keys.empty()) continue;
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    LocalSet& local = job.local(slot);
    for (const std::uint64_t key : keys) local.push_ready(key);
    bands_.change_ready(slot, static_cast<std::int32_t>(keys.size()));
    enter_waiting(job, slot, local);
    if (job.shares != nullptr) ask_for_slots(job, slot);
  }
  for (; next < sources.size(); ++next) become_placeable(job, sources[next]);
}

void SupervisorCore::cancel_job(Job& job, Error why, Duration kill_after) {
  if (job.state != JobState::Running) return;
  if (!job.cancelling) job.error = Seldom{std::move(why)};
  job.cancelling = true;
  leave_barriers(job);
  record_change(job);
  // A run that a worker of before a restart may have must not be told to have been cancelled before it is.
  if (job.recovering)
    job.deferred_cancels.edit().push_back({true, {}, kill_after});
  else
    cancel_open_subtasks(job, kill_after);
}

void SupervisorCore::cancel_open_subtasks(Job& job, Duration kill_after) {
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    const SubtaskPhase phase = job.hot[i].phase;
    if (phase != SubtaskPhase::Waiting && phase != SubtaskPhase::Placeable && phase != SubtaskPhase::Backoff) continue;
    end_subtask(job, i, SubtaskPhase::Cancelled);
  }
  // One small message for each worker, however many attempts it holds.
  for (const WorkerId worker : job.known_workers)
    if (const WorkerSlot slot = workers_.find(worker); slot.valid())
      mail_.tell(slot, CancelBatch{job.id, true, {}, kill_after});
}

// Cancels subtasks and everything that depends on them.
void SupervisorCore::cancel_subtasks(Job& job, std::vector<std::uint32_t> pending, Duration kill_after) {
  if (job.recovering) return job.deferred_cancels.edit().push_back({false, std::move(pending), kill_after});
  std::vector<bool> seen(job.total());
  while (!pending.empty()) {
    const std::uint32_t subtask = pending.back();
    pending.pop_back();
    if (seen[subtask]) continue;
    seen[subtask] = true;
    SubtaskHot& hot = job.hot[subtask];
    if (hot.phase == SubtaskPhase::Assigned) {
      const WorkerSlot slot = workers_[hot.band].worker;
      hot.flags |= SubtaskFlag::kCancelAsked;
      CancelBatch& batch = mail_.last_cancels(slot, job.id, false);
      batch.kill_after = kill_after;
      batch.attempts.push_back(AttemptRef{SubtaskIndex{subtask}, Attempt{hot.attempt}});
    } else if (!is_final(hot.phase)) {
      end_subtask(job, subtask, SubtaskPhase::Cancelled);
    } else if (hot.phase == SubtaskPhase::Succeeded) {
      continue;
    }
    for (const std::uint32_t successor : job.shape->successors(subtask)) pending.push_back(successor);
  }
}

void SupervisorCore::change_priority(Job& job, std::int32_t priority) {
  indices_.active.erase(job.id, job.spec.priority);
  job.spec.priority = priority;
  indices_.active.insert(job.id, priority);
  policy_.agenda.change(job.id, priority, likeness_of(job), policy_.config.queue_depth);
  enter_waiting_anew(job);
  if (job.shares != nullptr) job.shares->position = first_position(job.id);
  record_change(job);
  policy_changed();
  send_priority(job);
}

void SupervisorCore::send_priority(const Job& job) {
  for (const WorkerId worker : job.known_workers)
    if (const WorkerSlot slot = workers_.find(worker); slot.valid())
      mail_.tell(slot, PriorityBatch{job.id, true, job.spec.priority, {}});
}

void SupervisorCore::change_subtask_priority(Job& job, std::uint32_t subtask, std::int32_t priority) {
  const std::uint64_t key_before = job.order_key(subtask);
  job.priority_changes.edit()[SubtaskIndex{subtask}] = priority;
  record_change(job, subtask);
  if (!job.keys_carry_priority) {
    // Until now the rank alone was the key. All keys that are kept are outdated; this happens once for a job.
    job.keys_carry_priority = true;
    clear_placements(job);
    for (std::uint32_t i = 0; i < job.total(); ++i)
      if (job.hot[i].phase == SubtaskPhase::Placeable && job.hot[i].band.valid()) become_placeable(job, i);
  } else if (const BandSlot placed_on = job.hot[subtask].band;
             job.hot[subtask].phase == SubtaskPhase::Placeable && placed_on.valid()) {
    if (job.local(placed_on).erase(key_before)) bands_.change_ready(placed_on, -1);
    become_placeable(job, subtask);
  }
  if (job.hot[subtask].phase != SubtaskPhase::Assigned) return;
  const WorkerSlot slot = workers_[job.hot[subtask].band].worker;
  mail_.last<PriorityBatch>(slot, job.id)
      .changes.push_back(PriorityChange{SubtaskIndex{subtask}, job.worker_priority(subtask)});
}

// Nothing of the job is kept for any band.
void SupervisorCore::clear_placements(Job& job) {
  for (std::uint32_t i = job.first_local; i < job.locals_end(); ++i)
    if (LocalSet* local = job.find_local(BandSlot{i})) {
      if (local->ready_count() > 0) bands_.change_ready(BandSlot{i}, -static_cast<std::int32_t>(local->ready_count()));
      local->clear();
    }
}

void SupervisorCore::finish_if_done(Job& job) {
  if (job.state != JobState::Running || job.open > 0 || job.recovering) return;
  if (job.counts.failed > 0 || (!job.error->message.empty() && job.error->code != ErrorCode::Cancelled))
    job.state = JobState::Failed;
  else
    job.state = job.counts.cancelled > 0 ? JobState::Cancelled : JobState::Succeeded;
  if (job.counts.failed > 0 && job.error->message.empty() && !job.outbox.failures().empty())
    job.error = Seldom{why_failed(job.outbox.failures().front())};
  job.ended = event_.now;
  watchdog_.note_progress(event_.now);
  indices_.active.erase(job.id, job.spec.priority);
  clear_placements(job);
  charge(job);
  keep_usage();
  leave_barriers(job);
  leave_policy(job);
  policy_changed();
  progress_.end(job);
  awaited_.all_changed(job.id);
  drop_references(job);
  ended_.add(job);
  learn_durations(job);
  const bool unneeded = std::exchange(job.release_when_unreferenced, false) && job.outbox.followers().empty();
  record_end(job);
  if (!job.outputs.empty() || job.references > 0) data_.drop_retained(job);
  if (job.outputs.empty()) {
    release_job(job);
  } else {
    job.keep_until = later(event_.now, config_.results_keep);
    indices_.kept.insert(job.id, job.keep_until);
    if (unneeded) {
      PENSTOCK_COVERAGE_MARK("a job that was released while it ran was released at its end");
      release_job(job);
    }
  }
  if (indices_.active.empty()) watchdog_.stop();
  forget_old_jobs();
}

// A client asks nothing more about the job. One that runs is released when it has ended, unless others follow it then,
// or somebody may ask for it by its name.
void SupervisorCore::release_for(Job& job, ClientId client) {
  unfollow(job, client);
  if (job.state != JobState::Running) return release_job(job);
  const bool has_name = job.spec.name != to_string(job.id);
  if (has_name || !job.outbox.followers().empty() || std::exchange(job.release_when_unreferenced, true)) return;
  record_change(job);
}

// REQUIRES: it has ended.
void SupervisorCore::release_job(Job& job) {
  PENSTOCK_CHECK(job.state != JobState::Running);
  const bool was_unneeded = std::exchange(job.release_when_unreferenced, job.references > 0);
  if (job.release_when_unreferenced) {
    if (!was_unneeded && !job.outputs.empty()) record_end(job);
    return;
  }
  indices_.kept.erase(job.id, job.keep_until);
  for (const WorkerId worker : job.known_workers)
    if (const WorkerSlot slot = workers_.find(worker); slot.valid()) mail_.tell(slot, ForgetJob{job.id});
  give_back(job.known_workers);
  give_back(job.known_of);
  give_back(job.templates_known);
  const bool had_outputs = !job.outputs.empty();
  job.outputs.clear();  // A client that attaches from now on must not be sent to data that is gone.
  job.keys = {};
  job.release_when_unreferenced = job.keep_until != kNever;  // Nor take what is gone for empty, also after a restart.
  leave_graph(job);
  give_back(job.hot);
  give_back(job.templates);
  give_back(job.larger_templates);
  give_back(job.larger_numbers);
  give_back(job.locals);
  give_back(job.local_of);
  take_unschedulable(job);
  data_.forget_checkpoints(job);
  job.data.clear();
  give_back(job.histories);
  give_back(job.thieves);
  give_back(job.outrun);
  give_back(job.priority_changes);
  give_back(job.cancel_orders);
  if (!had_outputs) return;
  ended_.weigh(job);
  record_end(job);
}

}  // namespace penstock::supervisor
