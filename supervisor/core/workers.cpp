// SupervisorCore: workers that come, drain and vanish.
#include <algorithm>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// A gang that has lost all that it had begun on has begun nowhere: elsewhere it waits at a barrier again, also where
/// the plan gives it a part already. Returns whether there is such a gang.
bool close_where_all_is_lost(JobShares& shares, const WorkerTable& workers) {
  bool closes = false;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    if (!shares.kinds[static_cast<std::size_t>(kind)].barrier->open) continue;
    bool has_any = false;
    for (std::uint32_t i = 0; i < workers.band_slots() && !has_any; ++i)
      if (const BandSlot band{i}; workers[band].kind == kind)
        has_any = (shares.of(band).planned > 0 && shares.of(band).in_flight > 0) || shares.of(band).started > 0;
    if (has_any) continue;
    shares.kinds.edit(kind).barrier.edit().end(false);
    closes = true;
  }
  return closes;
}

}  // namespace

// A second registration of the same incarnation changes nothing.
void SupervisorCore::receive(WorkerSlot, const Register&) {}

void SupervisorCore::receive(WorkerSlot slot, const DrainState& message) {
  workers_[slot].drained = message.draining && message.empty;
}

void SupervisorCore::set_draining(WorkerSlot slot, bool draining) {
  WorkerEntry& worker = workers_[slot];
  worker.draining = draining;
  worker.drained = false;
  worker.drain_order = draining;
  // The order may not have reached the worker when the supervisor ends: the record lets it be sent again.
  gate_.write(record::WorkerJoined{worker.id, worker.incarnation, worker.description.name,
                                   worker.description.shared_storage, draining, true});
  mail_.tell(slot, Drain{draining});
  data_.make_room(slot);
  if (!worker.claiming) open_or_close_bands(slot);  // Else when it has said what it holds.
}

/// Asks the attempts of a draining worker to leave, as policy does: an attempt saves its state, ends within the grace,
/// and waits for another worker. Attempts that must not run twice end there. Returns the number that were asked. Spec:
/// policy-determined 9.3.
std::uint64_t SupervisorCore::clear_worker(WorkerSlot slot) {
  std::map<JobId, CancelBatch> orders;
  std::uint64_t told = 0;
  for (const BandSlot band : workers_[slot].bands)
    for (const AssignedRef& ref : workers_[band].assigned) {
      if (!jobs_.knows(ref.job) || jobs_[ref.job].cancelling || ref.subtask >= jobs_[ref.job].total()) continue;
      Job& job = jobs_[ref.job];
      const SubtaskHot& hot = job.hot[ref.subtask];
      const bool is_there = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.band == band;
      if (!is_there || !job.shape->template_of(ref.subtask).retryable) continue;
      orders[ref.job].attempts.push_back({SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
      if (job.shares != nullptr) job.shares->preempting.edit()[SubtaskIndex{ref.subtask}] = ref.attempt;
      ++told;
    }
  for (auto& [job, order] : orders) {
    PENSTOCK_COVERAGE_MARK("a worker was drained at once");
    order.job = job;
    order.kill_after = grace_of(jobs_[job]);
    order.alone = order.preempt = true;
    mail_.tell(slot, std::move(order));
  }
  return told;
}

// Fault F02: subtasks given to a worker that is gone wait there until it is declared lost.
void SupervisorCore::on(supervisor_event::WorkerSuspected& event) {
  const WorkerSlot slot = workers_.find(event.worker);
  if (!slot.valid() || workers_[slot].lost || workers_[slot].suspected == event.suspected) return;
  WorkerEntry& worker = workers_[slot];
  worker.suspected = event.suspected;
  data_.workers_changed();
  if (event.suspected) {
    PENSTOCK_COVERAGE_MARK("a worker was suspected");
    event_.out->add(
        supervisor_action::Alert{Error{ErrorCode::Disconnected,
                                       worker.description.name,
                                       "suspected: nothing is heard of it; it gets nothing new until it is heard again",
                                       {}}});
  }
  if (!worker.claiming) open_or_close_bands(slot);
}

// The state of a worker opens or closes its bands; a claim that is under way keeps them closed by itself.
void SupervisorCore::open_or_close_bands(WorkerSlot slot) {
  const WorkerEntry& worker = workers_[slot];
  const bool closed = worker.draining || worker.suspected;
  for (const BandSlot band : worker.bands) {
    workers_[band].draining = closed;
    workers_.touch(band);
    if (closed) {
      search_.idle.erase(band.value());
      bands_.offer(band, false);
    } else {
      bands_.change_runnable(band, 0);
    }
    bands_.mark_dirty(band);
  }
  awaited_.all_changed();
  policy_changed();
  if (!closed) {
    place_unschedulable();
    return;
  }
  for (const JobId id : indices_.active)
    for (const BandSlot band : worker.bands) place_again(jobs_[id], band);
}

// Subtasks that were kept here for a band are placed again. Only those are examined, however large the job is.
void SupervisorCore::place_again(Job& job, BandSlot band) {
  LocalSet* local = job.find_local(band);
  if (local == nullptr) return;
  std::vector<std::uint32_t> placed;
  for (const std::uint64_t key : local->all_keys()) {
    const std::uint32_t subtask = job.shape->at_rank(static_cast<std::uint32_t>(key));
    if (job.hot[subtask].phase == SubtaskPhase::Placeable && job.hot[subtask].band == band) placed.push_back(subtask);
  }
  bands_.change_ready(band, -static_cast<std::int32_t>(local->ready_count()));
  local->clear();
  std::sort(placed.begin(), placed.end());
  placed.erase(std::unique(placed.begin(), placed.end()), placed.end());
  for (const std::uint32_t subtask : placed) become_placeable(job, subtask);
}

// The work of a lost worker is given to others when its loss is on the disk. A supervisor that died before that would
// be followed by one that takes the worker back, and its runs would go on beside those that others were given.
void SupervisorCore::on(supervisor_event::WorkerLost& event) {
  const WorkerSlot slot = workers_.find(event.worker);
  if (!slot.valid() || workers_[slot].lost) return;
  if (!gate_.durable()) return lose_worker(slot, event.reason);
  gate_.write(record::WorkerGone{event.worker});
  losses_.add({event.worker, std::move(event.reason)});
  WorkerEntry& worker = workers_[slot];
  worker.lost = worker.suspected = true;
  if (!worker.claiming) open_or_close_bands(slot);
  // A gang must not begin on slots of a lost worker.
  for (const auto& [id, kind] : barriers_with(slot))
    give_up_barrier(jobs_[id], kind, worker.description.name + ", which held a part of them, was lost");
}

void SupervisorCore::lose_worker(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash) {
  ++counters_.workers_lost;
  if (gate_.durable() && !workers_[slot].lost) gate_.write(record::WorkerGone{workers_[slot].id});
  if (std::exchange(workers_[slot].claiming, false)) {
    readoption_.claim_lost();  // Its attempts are unknown.
    for (const JobId id : indices_.active)
      if (Job& job = jobs_[id]; job.overlap_until > Instant{}) job.overlap_until = overlap_over_at(config_, event_.now);
  }
  const WorkerEntry& worker = workers_[slot];
  event_.out->add(supervisor_action::Alert{Error{ErrorCode::Disconnected, worker.description.name, "lost: " + reason,
                                                 "its unfinished subtasks run again elsewhere"}});
  audit_.note_trouble("give up " + worker.description.name, reason);
  for (const BandSlot band : worker.bands) {
    search_.idle.erase(band.value());
    bands_.close(band);
    workers_[band].draining = true;  // Nothing below may choose it any more.
    workers_.touch(band);
  }
  // Data first: attempts that go back to their queues must see which of their inputs are gone.
  lose_all_data(slot);
  lose_attempts(slot, reason, crash);
  const std::vector<std::pair<JobId, BandKind>> broken = barriers_with(slot);
  const std::string name = worker.description.name;
  std::vector<JobId> closed;
  for (const JobId id : indices_.active) {
    Job& job = jobs_[id];
    for (const BandSlot band : worker.bands) {
      place_again(job, band);
      // The slot's next band begins with no jobs that wait for it.
      if (LocalSet* local = job.find_local(band); local != nullptr) local->set_waiting(false);
    }
    if (job.shares != nullptr) {
      for (const BandSlot band : worker.bands)
        if (band.value() < job.shares->bands.size())
          job.shares->change(band, workers_[band].kind, [](BandShare& share) { share = {}; });
      if (close_where_all_is_lost(*job.shares, workers_)) closed.push_back(id);
    }
    std::erase(job.known_workers, worker.id);
    if (slot.value() < job.known_of.size()) job.known_of[slot.value()] = 0;
    if (auto* known = job.templates_known.if_any()) known->erase(worker.id);
  }
  questions_.worker_lost(worker.id, reason);
  event_.out->add(supervisor_action::ReleaseWorker{worker.id});
  if (worker.description.shared_storage) data_.writer_lost(worker.incarnation);
  announce_loss(slot);
  workers_.remove(slot);
  for (const auto& [id, kind] : broken)
    if (Job& job = jobs_[id]; job.shares != nullptr)
      give_up_barrier(job, kind, name + ", which held a part of them, was lost");
  for (const JobId id : closed) entitle(jobs_[id]);
  awaited_.all_changed();
  policy_changed();
  end_reclaiming_if_complete();
}

// Workers that fetch from it need not wait for its silence: a host that hangs takes connections and never answers.
void SupervisorCore::announce_loss(WorkerSlot slot) {
  const WorkerId lost = workers_[slot].id;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    WorkerEntry& other = workers_[WorkerSlot{i}];
    if (!other.alive || other.id == lost || (!other.peers_known.erase(lost) && !other.reclaimed)) continue;
    other.new_peers.push_back({lost, {}});
    other.has_new_peers = true;
    mail_.of(WorkerSlot{i});
  }
}

/// Outputs of the subtask, or copies of them, are on the worker from now on.
void SupervisorCore::lose_all_data(WorkerSlot slot) {
  std::vector<HeldOutput> held = std::exchange(workers_[slot].held, {});
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  for (const JobId id : indices_.active.all()) {
    const auto first = std::lower_bound(held.begin(), held.end(), HeldOutput{id, 0});
    const auto last = std::upper_bound(first, held.end(), HeldOutput{id, ~std::uint32_t{0}});
    Job& job = jobs_[id];
    for (const std::uint32_t subtask : data_.lose(job, {first, last}, slot)) find_again(job, subtask);
  }
}

}  // namespace penstock::supervisor
