#include "supervisor/core/lifecycle/worker_returns.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {
namespace {

/// Workers claim their latest attempts first. The band's list is oldest first, and idle bands look at its end for work
/// that waits: runs come before it, however late they came.
void order_claimed(BandEntry& band, const JobTable& jobs) {
  const auto runs = [&](const AssignedRef& ref) {
    const Job* job = jobs.find(ref.job);
    return job != nullptr && ref.subtask < job->total() && (job->hot[ref.subtask].flags & SubtaskFlag::kStarted) != 0;
  };
  std::reverse(band.assigned.begin(), band.assigned.end());
  std::stable_partition(band.assigned.begin(), band.assigned.end(), runs);
}

}  // namespace

std::optional<record::WorkerJoined> WorkerReturns::take_back(WorkerId worker, Incarnation incarnation) {
  std::optional<Readoption::Returned> back = fleet_.readoption.take_back(worker, incarnation);
  if (!back) {
    PENSTOCK_COVERAGE_MARK("an unexpected worker claims its work");
    return {};
  }
  if (back->late) {
    PENSTOCK_COVERAGE_MARK("a worker came back late");
    outputs_.data.writer_returned(incarnation);
    if (back->worker.shared_storage) ledger_.gate.write_with_next(record::WriterForgotten{incarnation});
    back->worker.again = true;
    ledger_.gate.write_with_next(back->worker);  // A record says that the worker is gone.
  }
  return std::move(back->worker);
}

void WorkerReturns::begin_claim(WorkerSlot slot) {
  fleet_.workers[slot].claiming = true;
  fleet_.readoption.claim_begun();
  for (const BandSlot band : fleet_.workers[slot].bands) fleet_.workers[band].draining = true;
  for (const BandSlot band : fleet_.workers[slot].bands) fleet_.workers.touch(band);
}

void WorkerReturns::claim_job(WorkerSlot slot, const ClaimedJob& claimed) {
  if (!tables_.jobs.knows(claimed.job)) return fleet_.mail.tell(slot, ForgetJob{claimed.job});
  Job& job = tables_.jobs[claimed.job];
  if (job.status.state != JobState::Running && job.outputs.locations.empty())
    return fleet_.mail.tell(slot, ForgetJob{claimed.job});
  if (std::find(job.audience.workers.begin(), job.audience.workers.end(), fleet_.workers[slot].id) ==
      job.audience.workers.end())
    job.audience.workers.push_back(fleet_.workers[slot].id);
  if (job.status.state != JobState::Running) return claim_ended_job(slot, job, claimed);
  if (job.audience.known_of.size() <= slot.value()) job.audience.known_of.resize(fleet_.workers.worker_slots());
  job.audience.known_of[slot.value()] |= JobAudience::kHeardOf;
  fleet_.mail.tell(slot, PriorityBatch{job.id, true, job.spec.priority, {}});
  if (job.shares == nullptr && job.spec.policy.gang > 0) policy_base_.entitlement_mail.free_gang(job, slot);
  const bool elsewhere = !claimed.attempts.empty() && driver_.fallbacks.goes_on_elsewhere(job, slot);
  for (const ClaimedAttempt& attempt : claimed.attempts) {
    if ((elsewhere && !driver_.fallbacks.must_end_there(job, attempt)) ||
        !runs_.adoption.adopt(slot, job, attempt, Proof::None)) {
      runs_.adoption.fence(slot, job, attempt.subtask.value(), attempt.attempt.value());
      continue;
    }
    ++tables_.counters.adopted;
    policy_base_.state.agenda.look_at(job.id);
    // The last order of an operator may not have reached the worker.
    if (job.extras.priority_changes->contains(attempt.subtask))
      fleet_.mail.last<PriorityBatch>(slot, job.id)
          .changes.push_back(PriorityChange{attempt.subtask, job.worker_priority(attempt.subtask.value())});
    if (attempt.stage == ClaimedStage::Running) {
      runs_.attempts.note_started(job, attempt.subtask.value());
      AttemptCounts::note_devices(job, attempt.subtask.value(), attempt.devices, event_.now);
      if (job.shares != nullptr) job.shares->at(job.hot[attempt.subtask.value()].band).claimed = true;
    }
    if (attempt.stage == ClaimedStage::Waiting) fleet_.workers[slot].waiting.push_back({job.id, attempt.subtask});
  }
  for (std::size_t first = 0; first < claimed.data.size();) {
    std::size_t last = first + 1;
    while (last < claimed.data.size() && claimed.data[last].producer == claimed.data[first].producer) ++last;
    outputs_.data.claim(slot, job, std::span{claimed.data}.subspan(first, last - first));
    first = last;
  }
}

/// Outputs are kept where they are until they or the job are released. Nothing else of it goes on.
void WorkerReturns::claim_ended_job(WorkerSlot slot, const Job& job, const ClaimedJob& claimed) {
  outputs_.data.drop_unkept(slot, job, claimed.data);
  for (const ClaimedAttempt& attempt : claimed.attempts) {
    PENSTOCK_COVERAGE_MARK("an attempt of a job that has ended is claimed");
    CancelBatch& batch = fleet_.mail.last_cancels(slot, job.id, true);
    batch.kill_after = Duration{0};
    batch.attempts.push_back(AttemptRef{attempt.subtask, attempt.attempt});
  }
}

void WorkerReturns::finish_claim(WorkerSlot slot, bool draining) {
  WorkerEntry& worker = fleet_.workers[slot];
  worker.claiming = false;
  worker.reclaimed = true;
  outputs_.data.workers_changed();
  // The order counts, whether it has reached the worker or not.
  if (worker.drain_order.has_value() && *worker.drain_order != draining) {
    PENSTOCK_COVERAGE_MARK("a drain that was ordered had not reached its worker");
    draining = *worker.drain_order;
    fleet_.mail.tell(slot, Drain{draining});
  }
  // An old journal has no drain orders: only the worker knows of the drain, and its next incarnation has to be drained,
  // too.
  if (draining) worker.drain_order = true;
  worker.draining = draining;
  fleet_.readoption.claim_ended();
  for (const BandSlot band : worker.bands) {
    order_claimed(fleet_.workers[band], tables_.jobs);
    fleet_.workers[band].draining = draining || worker.suspected;
    if (!fleet_.workers[band].draining) fleet_.bands.change_runnable(band, 0);
    fleet_.bands.mark_dirty(band);
  }
  for (const BandSlot band : fleet_.workers[slot].bands) fleet_.workers.touch(band);
  for (const JobId id : policy_base_.state.agenda.in_sight())
    if (const Job& job = tables_.jobs[id]; job.shares != nullptr && slot.value() < job.audience.known_of.size() &&
                                           (job.audience.known_of[slot.value()] & JobAudience::kHeardOf) != 0)
      policy_base_.entitlement_mail.send_entitlements(job, slot);
  policy_base_.turns.policy_changed();
  outputs_.awaited.all_changed();
  if (!draining) lifecycle_.waits.place_all_unschedulable();
  if (!fleet_.readoption.is_active()) return notify_of_finished_producers(slot);
  end_reclaiming_if_complete();
}

void WorkerReturns::end_reclaiming_if_complete() {
  if (fleet_.readoption.is_complete()) end_reclaiming();
}

void WorkerReturns::end_reclaiming() {
  fleet_.readoption.end();
  outputs_.awaited.all_changed();
  policy_base_.turns.policy_changed();
  for (const record::WorkerJoined& absent : fleet_.readoption.absent())
    part_with(absent, "did not come back after the restart");
  for (const JobId id : tables_.indices.active.all()) {
    if (Job& job = tables_.jobs[id]; job.status.recovering) let_go(job);
  }
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i)
    if (fleet_.workers[WorkerSlot{i}].alive && !fleet_.workers[WorkerSlot{i}].claiming)
      notify_of_finished_producers(WorkerSlot{i});
}

void WorkerReturns::part_with(const record::WorkerJoined& absent, const std::string& why) {
  PENSTOCK_COVERAGE_MARK("a worker did not come back");
  if (absent.shared_storage) outputs_.data.writer_lost(absent.incarnation);
  event_.out->add(
      supervisor_action::Alert{Error{ErrorCode::Disconnected, absent.name, why, "its subtasks run again elsewhere"}});
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i) {
    WorkerEntry& worker = fleet_.workers[WorkerSlot{i}];
    if (!worker.alive || !worker.reclaimed) continue;
    worker.new_peers.push_back({absent.worker, {}});
    worker.has_new_peers = true;
    fleet_.mail.of(WorkerSlot{i});
  }
}

/// No pass divides slots again for a hidden job: one that has an entitlement would keep it, whatever limits it.
void WorkerReturns::hide_if_waiting(const Job& job) {
  if (job.shares == nullptr || job.tally.in_flight > 0 || job.tally.counts.succeeded > 0) return;
  if (holds_slots(*job.shares)) return;
  const std::vector<BandShare>& bands = job.shares->bands;
  const auto is_entitled = [](const BandShare& share) { return !share.entitled.is_zero(); };
  if (std::none_of(bands.begin(), bands.end(), is_entitled)) policy_base_.state.agenda.hide(job.id);
}

void WorkerReturns::let_go(Job& job) {
  job.status.recovering = false;
  if (job.tally.has_children) tables_.nested.note_all_moved(job.id);  // Runs that nobody has claimed are over.
  job.status.overlap_until = overlap_over_at(config_, event_.now);
  // A job that is found running keeps its admission by limits.
  if (job.shares != nullptr)
    for (const BandShare& share : job.shares->bands) job.shares->rules.has_run |= share.started > 0;
  hide_if_waiting(job);
  for (DeferredCancel& order : job.status.deferred_cancels.take()) {
    PENSTOCK_COVERAGE_MARK("a cancel waited for workers to come back");
    if (order.whole_job)
      runs_.ends.cancel_open_subtasks(job, order.kill_after);
    else
      runs_.ends.cancel_subtasks(job, std::move(order.roots), order.kill_after);
  }
  std::vector<std::string> absent;
  for (const record::WorkerJoined& worker : fleet_.readoption.absent()) absent.push_back(worker.name);
  admin_.questions.workers_are_back(job.id, job.audience.workers, absent);
  runs_.time_limits.go_on(job, !absent.empty());
  driver_.fallbacks.stay_where_claimed(job);
  if (!job.status.cancelling) lifecycle_.recovery.resume(job);
  if (job.tally.open == 0) tables_.maybe_done.push_back(job.id);
}

void WorkerReturns::notify_of_finished_producers(WorkerSlot slot) {
  for (const SubtaskId& waiter : std::exchange(fleet_.workers[slot].waiting, {})) {
    if (!tables_.jobs.knows(waiter.job) || tables_.jobs[waiter.job].status.state != JobState::Running) continue;
    Job& job = tables_.jobs[waiter.job];
    const SubtaskHot& hot = job.hot[waiter.index.value()];
    if (hot.phase != SubtaskPhase::Assigned || fleet_.workers[hot.band].worker != slot) continue;
    const auto predecessors = job.graph.shape->predecessors(waiter.index.value());
    for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
      const SubtaskHot& done = job.hot[predecessors[k]];
      if (done.phase != SubtaskPhase::Succeeded) continue;
      if (!DataDirectory::is_gone(job, predecessors[k])) {
        runs_.reports.notice(job, predecessors[k], slot,
                             done.band.valid() ? fleet_.workers.worker_of(done.band).id : fleet_.workers[slot].id);
      } else if (job.graph.shape->edge_output(job.graph.shape->first_edge(waiter.index.value()) + k) ==
                 EdgeKind::kOrderOnly) {
        // The producer's data are gone, and this subtask does not read them; another subtask at this worker may want
        // to.
        runs_.reports.notice(job, predecessors[k], slot, WorkerId::none());
      }
    }
  }
}

}  // namespace penstock::supervisor
