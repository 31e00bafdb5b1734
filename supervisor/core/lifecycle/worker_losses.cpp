#include "supervisor/core/lifecycle/worker_losses.hpp"

#include <algorithm>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/lifecycle/worker_returns.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {
namespace {

/// A gang that has lost all that it had begun on has begun nowhere: elsewhere it waits at a barrier again, also where
/// the plan gives it a part already. Returns whether there is such a gang.
bool close_where_all_is_lost(JobShares& shares, const WorkerTable& workers) {
  bool closes = false;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    if (!shares.kinds[static_cast<std::size_t>(kind)].gang.barrier->open) continue;
    bool has_any = false;
    for (std::uint32_t i = 0; i < workers.band_slots() && !has_any; ++i)
      if (const BandSlot band{i}; workers[band].kind == kind)
        has_any = (shares.of(band).planned > 0 && shares.of(band).in_flight > 0) || shares.of(band).started > 0;
    if (has_any) continue;
    shares.kinds.edit(kind).gang.barrier.edit().end(false);
    closes = true;
  }
  return closes;
}

}  // namespace

void WorkerLosses::set_draining(WorkerSlot slot, bool draining) {
  WorkerEntry& worker = fleet_.workers[slot];
  worker.draining = draining;
  worker.drained = false;
  worker.drain_order = draining;
  // The order may not have reached the worker when the supervisor ends: the record lets it be sent again.
  ledger_.gate.write(record::WorkerJoined{worker.id, worker.incarnation, worker.description.name,
                                          worker.description.shared_storage, draining, true});
  fleet_.mail.tell(slot, Drain{draining});
  outputs_.data.make_room(slot);
  if (!worker.claiming) open_or_close_bands(slot);  // Else when it has said what it holds.
}

std::uint64_t WorkerLosses::clear_worker(WorkerSlot slot) {
  std::map<JobId, CancelBatch> orders;
  std::uint64_t told = 0;
  for (const BandSlot band : fleet_.workers[slot].bands)
    for (const AssignedRef& ref : fleet_.workers[band].assigned) {
      if (!tables_.jobs.knows(ref.job) || tables_.jobs[ref.job].status.cancelling ||
          ref.subtask >= tables_.jobs[ref.job].total())
        continue;
      Job& job = tables_.jobs[ref.job];
      const SubtaskHot& hot = job.hot[ref.subtask];
      const bool is_there = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == band;
      if (!is_there || !job.graph.shape->template_of(ref.subtask).retryable) continue;
      orders[ref.job].attempts.push_back({SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
      if (job.shares != nullptr) job.shares->preempting.edit()[SubtaskIndex{ref.subtask}] = ref.attempt;
      ++told;
    }
  for (auto& [job, order] : orders) {
    PENSTOCK_COVERAGE_MARK("a worker was drained at once");
    order.job = job;
    order.kill_after = policy_base_.view.grace_of(tables_.jobs[job]);
    order.alone = order.preempt = true;
    fleet_.mail.tell(slot, std::move(order));
  }
  return told;
}

void WorkerLosses::open_or_close_bands(WorkerSlot slot) {
  const WorkerEntry& worker = fleet_.workers[slot];
  const bool closed = worker.draining || worker.suspected;
  for (const BandSlot band : worker.bands) {
    fleet_.workers[band].draining = closed;
    fleet_.workers.touch(band);
    if (closed) {
      placement_.search.idle.erase(band.value());
      fleet_.bands.offer(band, false);
    } else {
      fleet_.bands.change_runnable(band, 0);
    }
    fleet_.bands.mark_dirty(band);
  }
  outputs_.awaited.all_changed();
  policy_base_.turns.policy_changed();
  if (!closed) {
    lifecycle_.waits.place_all_unschedulable();
    return;
  }
  for (const JobId id : tables_.indices.active)
    for (const BandSlot band : worker.bands) placement_.placer.place_again(tables_.jobs[id], band);
}

void WorkerLosses::lose_worker(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash) {
  ++tables_.counters.workers_lost;
  if (ledger_.gate.durable() && !fleet_.workers[slot].lost)
    ledger_.gate.write(record::WorkerGone{fleet_.workers[slot].id});
  if (std::exchange(fleet_.workers[slot].claiming, false)) {
    fleet_.readoption.claim_lost();  // Its attempts are unknown.
    for (const JobId id : tables_.indices.active)
      if (Job& job = tables_.jobs[id]; job.status.overlap_until > Instant{})
        job.status.overlap_until = overlap_over_at(config_, event_.now);
  }
  const WorkerEntry& worker = fleet_.workers[slot];
  event_.out->add(supervisor_action::Alert{Error{ErrorCode::Disconnected, worker.description.name, "lost: " + reason,
                                                 "its unfinished subtasks run again elsewhere"}});
  ledger_.audit.note_trouble("give up " + worker.description.name, reason);
  for (const BandSlot band : worker.bands) {
    placement_.search.idle.erase(band.value());
    fleet_.bands.close(band);
    fleet_.workers[band].draining = true;  // Nothing below may choose it any more.
    fleet_.workers.touch(band);
  }
  // Data first: attempts that go back to their queues must see which of their inputs are gone.
  lose_all_data(slot);
  lose_attempts(slot, reason, crash);
  const std::vector<std::pair<JobId, BandKind>> broken = driver_.barriers.barriers_with(slot);
  const std::string name = worker.description.name;
  std::vector<JobId> closed;
  for (const JobId id : tables_.indices.active) {
    Job& job = tables_.jobs[id];
    for (const BandSlot band : worker.bands) {
      placement_.placer.place_again(job, band);
      // The slot's next band begins with no jobs that wait for it.
      if (LocalSet* local = job.place.locals.find(band); local != nullptr) local->set_waiting(false);
    }
    if (job.shares != nullptr) {
      for (const BandSlot band : worker.bands)
        if (band.value() < job.shares->bands.size())
          job.shares->change(band, fleet_.workers[band].kind, [](BandShare& share) { share = {}; });
      // The slot's next band may have other devices.
      for (const BandSlot band : worker.bands)
        if (job.shares->devices.any()) job.shares->devices.edit().erase(band);
      if (close_where_all_is_lost(*job.shares, fleet_.workers)) closed.push_back(id);
    }
    std::erase(job.audience.workers, worker.id);
    if (slot.value() < job.audience.known_of.size()) job.audience.known_of[slot.value()] = 0;
    if (auto* known = job.audience.templates_known.if_any()) known->erase(worker.id);
  }
  admin_.questions.worker_lost(worker.id, reason);
  event_.out->add(supervisor_action::ReleaseWorker{worker.id});
  if (worker.description.shared_storage) outputs_.data.writer_lost(worker.incarnation);
  announce_loss(slot);
  fleet_.workers.remove(slot);
  for (const auto& [id, kind] : broken)
    if (Job& job = tables_.jobs[id]; job.shares != nullptr)
      driver_.entitlements.give_up_barrier(job, kind, name + ", which held a part of them, was lost");
  for (const JobId id : closed) driver_.entitlements.entitle(tables_.jobs[id]);
  outputs_.awaited.all_changed();
  policy_base_.turns.policy_changed();
  returns_.end_reclaiming_if_complete();
}

void WorkerLosses::announce_loss(WorkerSlot slot) {
  const WorkerId lost = fleet_.workers[slot].id;
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i) {
    WorkerEntry& other = fleet_.workers[WorkerSlot{i}];
    if (!other.alive || other.id == lost || (!other.peers_known.erase(lost) && !other.reclaimed)) continue;
    other.new_peers.push_back({lost, {}});
    other.has_new_peers = true;
    fleet_.mail.of(WorkerSlot{i});
  }
}

void WorkerLosses::lose_all_data(WorkerSlot slot) {
  std::vector<HeldOutput> held = std::exchange(fleet_.workers[slot].held, {});
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  for (const JobId id : tables_.indices.active.all()) {
    const auto first = std::lower_bound(held.begin(), held.end(), HeldOutput{id, 0});
    const auto last = std::upper_bound(first, held.end(), HeldOutput{id, ~std::uint32_t{0}});
    Job& job = tables_.jobs[id];
    for (const std::uint32_t subtask : outputs_.data.lose(job, {first, last}, slot))
      runs_.recomputation.find_again(job, subtask);
  }
}

bool WorkerLosses::means_another(WorkerSlot slot, JobId job, const JobIdentity& identity) {
  if (!tables_.jobs.knows(job) || !differ(identity, tables_.jobs[job].identity)) return false;
  PENSTOCK_COVERAGE_MARK("a worker means another job of that number");
  ++tables_.counters.other_jobs;
  lose_worker(slot, "it knows another job as " + to_string(job) + ", from another state; it begins afresh");
  return true;
}

}  // namespace penstock::supervisor
