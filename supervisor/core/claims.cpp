// SupervisorCore: re-adoption of workers that have outlived a restart of the supervisor.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// None if no record says that this incarnation of the worker may hold something: it was given up as lost, or it joined
/// in the very last moments and holds only work that was begun since.
std::optional<record::WorkerJoined> SupervisorCore::take_back(WorkerId worker, Incarnation incarnation) {
  std::optional<Readoption::Returned> back = readoption_.take_back(worker, incarnation);
  if (!back) {
    PENSTOCK_COVERAGE_MARK("an unexpected worker claims its work");
    return {};
  }
  if (back->late) {
    PENSTOCK_COVERAGE_MARK("a worker came back late");
    data_.writer_returned(incarnation);
    if (back->worker.shared_storage) gate_.write_with_next(record::WriterForgotten{incarnation});
    back->worker.again = true;
    gate_.write_with_next(back->worker);  // A record says that the worker is gone.
  }
  return std::move(back->worker);
}

// Nothing is sent to it before all that it holds is known.
void SupervisorCore::begin_claim(WorkerSlot slot) {
  workers_[slot].claiming = true;
  readoption_.claim_begun();
  for (const BandSlot band : workers_[slot].bands) workers_[band].draining = true;
  for (const BandSlot band : workers_[slot].bands) workers_.touch(band);
}

void SupervisorCore::receive(WorkerSlot slot, const WorkerClaim& message) {
  if (!workers_[slot].claiming) return;  // The worker has nothing to claim in this term.
  for (const ClaimedJob& claimed : message.jobs)
    if (means_another(slot, claimed.job, claimed.identity)) return;
  for (const ClaimedJob& claimed : message.jobs) claim_job(slot, claimed);
  if (message.last) finish_claim(slot, message.draining);
}

/// A worker that knows another job under a number of ours goes on from another state, e.g. from one that was put back
/// by hand. Its data and attempts are of no use: it begins afresh, and the two states are not mixed up.
bool SupervisorCore::means_another(WorkerSlot slot, JobId job, const JobIdentity& identity) {
  if (!jobs_.knows(job) || !differ(identity, jobs_[job].identity)) return false;
  PENSTOCK_COVERAGE_MARK("a worker means another job of that number");
  ++counters_.other_jobs;
  lose_worker(slot, "it knows another job as " + to_string(job) + ", from another state; it begins afresh");
  return true;
}

void SupervisorCore::claim_job(WorkerSlot slot, const ClaimedJob& claimed) {
  if (!jobs_.knows(claimed.job)) return mail_.tell(slot, ForgetJob{claimed.job});
  Job& job = jobs_[claimed.job];
  if (job.state != JobState::Running && job.outputs.empty()) return mail_.tell(slot, ForgetJob{claimed.job});
  if (std::find(job.known_workers.begin(), job.known_workers.end(), workers_[slot].id) == job.known_workers.end())
    job.known_workers.push_back(workers_[slot].id);
  if (job.state != JobState::Running) return;  // Its outputs are kept where they are until the job is released.
  if (job.known_of.size() <= slot.value()) job.known_of.resize(workers_.worker_slots());
  job.known_of[slot.value()] |= Job::kHeardOf;
  mail_.tell(slot, PriorityBatch{job.id, true, job.spec.priority, {}});
  if (job.shares == nullptr && job.spec.policy.gang > 0) free_gang(job, slot);
  const bool elsewhere = !claimed.attempts.empty() && goes_on_elsewhere(job, slot);
  for (const ClaimedAttempt& attempt : claimed.attempts) {
    if ((elsewhere && !must_end_there(job, attempt)) || !adopt(slot, job, attempt, Proof::None)) {
      fence(slot, job, attempt.subtask.value(), attempt.attempt.value());
      continue;
    }
    ++counters_.adopted;
    policy_.agenda.look_at(job.id);
    // The last order of an operator may not have reached the worker.
    if (job.priority_changes->contains(attempt.subtask))
      mail_.last<PriorityBatch>(slot, job.id)
          .changes.push_back(PriorityChange{attempt.subtask, job.worker_priority(attempt.subtask.value())});
    if (attempt.stage == ClaimedStage::Running) {
      note_started(job, attempt.subtask.value());
      if (job.shares != nullptr) job.shares->at(job.hot[attempt.subtask.value()].band).claimed = true;
    }
    if (attempt.stage == ClaimedStage::Waiting) workers_[slot].waiting.push_back({job.id, attempt.subtask});
  }
  for (std::size_t first = 0; first < claimed.data.size();) {
    std::size_t last = first + 1;
    while (last < claimed.data.size() && claimed.data[last].producer == claimed.data[first].producer) ++last;
    data_.claim(slot, job, std::span{claimed.data}.subspan(first, last - first));
    first = last;
  }
}

/// Makes an attempt from before the restart an attempt of this term. The first claim of a subtask wins; a success wins
/// over attempts that still run. False: the claim is refused.
bool SupervisorCore::adopt(WorkerSlot slot, Job& job, const ClaimedAttempt& claim, Proof proof) {
  const std::uint32_t subtask = claim.subtask.value();
  if (subtask >= job.total() || !claim.attempt.valid() || claim.band.value() >= workers_[slot].bands.size())
    return false;
  SubtaskHot& hot = job.hot[subtask];
  const bool elsewhere = hot.phase == SubtaskPhase::Assigned;
  if (is_final(hot.phase) || (elsewhere && proof == Proof::None)) return false;
  if (proof == Proof::None && has_failed(job, subtask, claim.attempt)) return false;
  if (elsewhere) {
    PENSTOCK_COVERAGE_MARK("a success was claimed of a subtask that runs elsewhere");
    note_stopped(job, subtask);
    fence(workers_[hot.band].worker, job, subtask, hot.attempt);
  }
  if (hot.attempt > claim.attempt.value()) {
    PENSTOCK_COVERAGE_MARK("an attempt took the place of a later one");
    hot.flags |= SubtaskFlag::kOutrun;
    job.outrun.edit()[SubtaskIndex{subtask}] = hot.attempt;
  }
  machine_.assign(job, subtask, workers_[slot].bands[claim.band.value()], claim.attempt.value());
  hot.flags |= SubtaskFlag::kAdopted;
  workers_[hot.band].assigned.push_back(AssignedRef{job.id, subtask, hot.attempt});
  if (elsewhere) return true;
  machine_.count_assigned(job, subtask, [&](std::uint32_t successor) { become_placeable(job, successor); });
  return true;
}

/// Whether this attempt, or a later one, is known to have failed: in this term, or by a record of an earlier one.
bool SupervisorCore::has_failed(const Job& job, std::uint32_t subtask, Attempt attempt) {
  if ((job.hot[subtask].flags & SubtaskFlag::kTroubled) == 0) return false;
  const SubtaskHistory* history = job.histories->find(SubtaskIndex{subtask});
  if (history == nullptr || attempt.value() > history->last_attempt) return false;
  PENSTOCK_COVERAGE_MARK("an attempt that has failed is claimed");
  return true;
}

/// Ends an attempt that does not count; successors that wait for the subtask at that worker wait on.
void SupervisorCore::fence(WorkerSlot slot, Job& job, std::uint32_t subtask, std::uint64_t attempt) {
  if (subtask >= job.total()) return;
  PENSTOCK_COVERAGE_MARK("an attempt from before a restart is fenced");
  hold_for_overlap(job, subtask,
                   overlap_over_at(config_, event_.now));  // Its worker may be cut off before it hears of it.
  CancelBatch& batch = mail_.last_cancels(slot, job.id, true);
  batch.kill_after = Duration{0};
  batch.attempts.push_back(AttemptRef{SubtaskIndex{subtask}, Attempt{attempt}});
}

/// The end of an attempt that is unknown in this term: the attempt is adopted, and then ended like any other.
void SupervisorCore::claim_end(WorkerSlot slot, Job& job, const AttemptReport& report) {
  if (report.outcome == Outcome::Started || is_current(job, report, slot)) return;
  const Proof proof = report.outcome == Outcome::Succeeded ? Proof::Success : Proof::None;
  const ClaimedAttempt claim{report.subtask, report.attempt, report.band, ClaimedStage::Running};
  if (adopt(slot, job, claim, proof)) ++counters_.adopted;
}

void SupervisorCore::finish_claim(WorkerSlot slot, bool draining) {
  WorkerEntry& worker = workers_[slot];
  worker.claiming = false;
  worker.reclaimed = true;
  data_.workers_changed();
  // The order counts, whether it has reached the worker or not.
  if (worker.drain_order.has_value() && *worker.drain_order != draining) {
    PENSTOCK_COVERAGE_MARK("a drain that was ordered had not reached its worker");
    draining = *worker.drain_order;
    mail_.tell(slot, Drain{draining});
  }
  // An old journal has no drain orders: only the worker knows of the drain, and its next incarnation has to be drained,
  // too.
  if (draining) worker.drain_order = true;
  worker.draining = draining;
  readoption_.claim_ended();
  for (const BandSlot band : worker.bands) {
    workers_[band].draining = draining || worker.suspected;
    if (!workers_[band].draining) bands_.change_runnable(band, 0);
    bands_.mark_dirty(band);
  }
  for (const BandSlot band : workers_[slot].bands) workers_.touch(band);
  for (const JobId id : policy_.agenda.in_sight())
    if (const Job& job = jobs_[id]; job.shares != nullptr && slot.value() < job.known_of.size() &&
                                    (job.known_of[slot.value()] & Job::kHeardOf) != 0)
      send_entitlements(job, slot);
  policy_changed();
  awaited_.all_changed();
  if (!draining) place_unschedulable();
  if (!readoption_.is_active()) return notify_of_finished_producers(slot);
  end_reclaiming_if_complete();
}

void SupervisorCore::end_reclaiming_if_complete() {
  if (readoption_.is_complete()) end_reclaiming();
}

// All workers are back, or have had their time. Late ones still keep the work that no other worker has got.
void SupervisorCore::end_reclaiming() {
  readoption_.end();
  awaited_.all_changed();
  policy_changed();
  for (const record::WorkerJoined& absent : readoption_.absent())
    part_with(absent, "did not come back after the restart");
  for (const JobId id : indices_.active.all()) {
    if (Job& job = jobs_[id]; job.recovering) let_go(job);
  }
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i)
    if (workers_[WorkerSlot{i}].alive && !workers_[WorkerSlot{i}].claiming) notify_of_finished_producers(WorkerSlot{i});
}

/// Work of the absent worker runs again elsewhere, and no worker fetches from it any more.
void SupervisorCore::part_with(const record::WorkerJoined& absent, const std::string& why) {
  PENSTOCK_COVERAGE_MARK("a worker did not come back");
  if (absent.shared_storage) data_.writer_lost(absent.incarnation);
  event_.out->add(
      supervisor_action::Alert{Error{ErrorCode::Disconnected, absent.name, why, "its subtasks run again elsewhere"}});
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive || !worker.reclaimed) continue;
    worker.new_peers.push_back({absent.worker, {}});
    worker.has_new_peers = true;
    mail_.of(WorkerSlot{i});
  }
}

/// Carries out the orders that were deferred while workers from before the restart might still bring parts of the job.
void SupervisorCore::let_go(Job& job) {
  job.recovering = false;
  job.overlap_until = overlap_over_at(config_, event_.now);
  // A job that is found running keeps its admission by limits.
  if (job.shares != nullptr)
    for (const BandShare& share : job.shares->bands) job.shares->rules.has_run |= share.started > 0;
  const bool has_begun = job.in_flight > 0 || job.counts.succeeded > 0;
  if (job.shares != nullptr && !has_begun && !holds_slots(*job.shares)) policy_.agenda.hide(job.id);
  for (Job::DeferredCancel& order : job.deferred_cancels.take()) {
    PENSTOCK_COVERAGE_MARK("a cancel waited for workers to come back");
    if (order.whole_job)
      cancel_open_subtasks(job, order.kill_after);
    else
      cancel_subtasks(job, std::move(order.roots), order.kill_after);
  }
  std::vector<std::string> absent;
  for (const record::WorkerJoined& worker : readoption_.absent()) absent.push_back(worker.name);
  questions_.workers_are_back(job.id, job.known_workers, absent);
  stay_where_claimed(job);
  if (!job.cancelling) resume(job);
  if (job.open == 0) maybe_done_.push_back(job.id);
}

/// A subtask that waits at a worker for producers may have missed their end: the last messages of the earlier
/// supervisor are lost with it.
void SupervisorCore::notify_of_finished_producers(WorkerSlot slot) {
  for (const SubtaskId& waiter : std::exchange(workers_[slot].waiting, {})) {
    if (!jobs_.knows(waiter.job) || jobs_[waiter.job].state != JobState::Running) continue;
    Job& job = jobs_[waiter.job];
    const SubtaskHot& hot = job.hot[waiter.index.value()];
    if (hot.phase != SubtaskPhase::Assigned || workers_[hot.band].worker != slot) continue;
    const auto predecessors = job.shape->predecessors(waiter.index.value());
    for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
      const SubtaskHot& done = job.hot[predecessors[k]];
      if (done.phase != SubtaskPhase::Succeeded) continue;
      if (!DataDirectory::is_gone(job, predecessors[k])) {
        notice(job, predecessors[k], slot, done.band.valid() ? workers_.worker_of(done.band).id : workers_[slot].id);
      } else if (job.shape->edge_output(job.shape->first_edge(waiter.index.value()) + k) == EdgeKind::kOrderOnly) {
        // The producer's data are gone, and this subtask does not read them; another subtask at this worker may want
        // to.
        notice(job, predecessors[k], slot, WorkerId::none());
      }
    }
  }
}

}  // namespace penstock::supervisor
