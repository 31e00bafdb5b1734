// WorkerCore: cancels, time limits, returned attempts, and relief of memory.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

// Spec: worker 8, in every state, idempotent, at most one terminal result.
void WorkerCore::cancel(RecordIndex index, Duration kill_after) {
  SubtaskRecord& record = records_[index];
  switch (record.state) {
    case SubtaskState::Free: return;
    case SubtaskState::Running:
    case SubtaskState::Yielded: stop_run(index, StopReason::Cancelled, kill_after); return;
    case SubtaskState::Storing:
      PENSTOCK_COVERAGE_MARK("a subtask was cancelled while it stored its outputs");
      record.stopping = StopReason::Cancelled;
      if (record.holds_store_permit) return;  // Ends with `OutputsStored`.
      stop_waiting_for_room(index);
      std::erase(band_of(record).waiting_to_store, index);
      finish_storing(index, nullptr);
      return;
    default: end_record(index, Outcome::Cancelled); return;
  }
}

// Policy takes the slot back. An attempt that has computed already ends normally; any other one is returned, whatever
// it reports at its end: it was asked to save its state and to leave, not to finish.
void WorkerCore::preempt(RecordIndex index, Duration grace) {
  switch (records_[index].state) {
    case SubtaskState::Free:
    case SubtaskState::Storing: return;
    case SubtaskState::Running:
    case SubtaskState::Yielded: stop_run(index, StopReason::Preempted, grace); return;
    default: end_record(index, Outcome::Returned); return;
  }
}

// Spec: worker 6, cancelled producers remove their cached successors transitively.
void WorkerCore::cancel_successors_of(JobSlot job, SubtaskIndex producer, Duration kill_after) {
  std::vector<SubtaskIndex> producers{producer};
  std::vector<RecordIndex> successors;
  while (!producers.empty()) {
    successors.clear();
    successors_.waiting_for(job, producers.back(), successors);
    producers.pop_back();
    for (const RecordIndex successor : successors) {
      // The successor may be listed twice, or be gone: one cancel frees the record.
      if (records_[successor].state != SubtaskState::Cached) continue;
      producers.push_back(records_[successor].subtask);
      cancel(successor, kill_after);
    }
  }
}

void WorkerCore::stop_run(RecordIndex index, StopReason reason, Duration kill_after) {
  SubtaskRecord& record = records_[index];
  if (kill_after == kDefaultGrace) {
    const Duration own = record.program->content.kill_grace;
    kill_after = own > Duration{0} ? own : config_.kill_grace;
  }
  const Instant kill_at = later(now_, kill_after);
  if (record.stopping == StopReason::None) {
    record.stopping = reason;
    record.stop_at = kill_at;
    if (kill_after > Duration{0} && !record.asked_to_stop) {
      record.asked_to_stop = true;
      out_->add(worker_action::StopRun{index, record.attempt, record.band, record.lane, false, false});
    }
  } else {
    // A cancel overrides all other reasons, each of these a preemption, and a shorter grace a longer one.
    if (reason == StopReason::Cancelled || record.stopping == StopReason::Preempted) record.stopping = reason;
    record.stop_at = std::min(record.stop_at, kill_at);
  }
  if (now_ >= record.stop_at) advance_stop(index);
  want_check_at(record.stop_at);
}

// The time limit of a run has passed, or the grace after it was asked to stop.
void WorkerCore::advance_stop(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  record.stop_at = kNever;
  if (record.stopping == StopReason::None) {
    stop_run(index, StopReason::TimedOut, kDefaultGrace);
    return;
  }
  // A run that ignores a cancel still has a time limit.
  const Duration limit = record.program->content.time_limit;
  const Instant ends = limit > Duration{0} ? later(record.started, limit) : kNever;
  const bool overdue = now_ >= ends;
  if (record.killed_overdue || (record.killed && !overdue)) return;
  record.killed = true;
  record.killed_overdue = overdue;
  out_->add(worker_action::StopRun{index, record.attempt, record.band, record.lane, true, overdue});
  if (overdue || ends == kNever) return;
  record.stop_at = ends;
  want_check_at(ends);
}

bool WorkerCore::is_unprepared(const SubtaskRecord& record) const {
  if (record.state == SubtaskState::Cached || record.state == SubtaskState::Queued) return true;
  return record.state == SubtaskState::Ready && !record.holds_permit && !record.holds_quota && record.pins.empty();
}

void WorkerCore::return_unprepared(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  if (record.state == SubtaskState::Cached) ++counters_.forward_misses[static_cast<std::size_t>(ForwardResult::Lease)];
  if (is_unprepared(record))
    end_record(index, Outcome::Returned);
  else
    PENSTOCK_COVERAGE_MARK("a steal came too late");
}

void WorkerCore::report_drain_state() {
  const bool empty = draining_ && records_.live() == 0;
  if (draining_ && told_empty_) return;
  told_empty_ = empty;
  out_->add(worker_action::SendDrainState{DrainState{draining_, empty}});
}

// Grants are stopped: subtasks in the execution queue without memory of their own go back and wait with the rest.
void WorkerCore::unready(Band& band) {
  std::vector<RecordIndex> waiting;
  band.execute.list_waiting(waiting);
  for (const RecordIndex index : waiting) {
    if (records_[index].state != SubtaskState::Ready || !is_unprepared(records_[index])) continue;
    PENSTOCK_COVERAGE_MARK("a ready subtask went back while grants were stopped");
    give_back_all(index);
    enqueue(index);
  }
}

// Memory of idle runners goes first, because no run needs it.
// Spec: worker 4, a crossing of the hard limit first stops new grants, then asks for spill, then restarts idle runners.
void WorkerCore::relieve(Band& band) {
  Bytes used = band.commands_use + band.runners_use;
  if (used <= band.quota.capacity()) {
    if (band.relief == ReliefStep::None) return;
    band.relief = ReliefStep::None;
    band.quota.set_paused(false);
    band.dirty = true;
    return;
  }
  const bool starts = band.relief == ReliefStep::None;
  if (starts ? used <= band.quota.hard_limit() : now_ < band.relief_at) return;
  ++counters_.relief_steps;
  band.relief_at = later(now_, config_.relieve_every);
  if (band.idle_use > Bytes{0}) {
    PENSTOCK_COVERAGE_MARK("idle runners were ended for what they held");
    used -= band.idle_use;
    restart_idle_runners(band);
    if (used <= (starts ? band.quota.hard_limit() : band.quota.capacity())) return;
  }
  switch (band.relief) {
    case ReliefStep::None:
      band.relief = ReliefStep::GrantsStopped;
      band.quota.set_paused(true);
      unready(band);
      return;
    case ReliefStep::GrantsStopped:
      band.relief = ReliefStep::SpillRequested;
      spill(used - band.quota.capacity());
      return;
    case ReliefStep::SpillRequested:
    case ReliefStep::RunnersRestarted:
      band.relief = ReliefStep::RunnersRestarted;
      restart_idle_runners(band);
      return;
  }
}

// Runners of unused lanes, and those of other kinds that busy lanes keep, are ended as well, though no lane is named
// for them.
void WorkerCore::restart_idle_runners(Band& band) {
  std::vector<SlotIndex> lanes = band.execute.restart_free_slots();
  band.runner_kinds.forget();
  if (!lanes.empty() || band.idle_use > Bytes{0})
    out_->add(worker_action::RestartRunners{band.index, std::move(lanes)});
  band.runners_use -= band.idle_use;
  band.idle_use = Bytes{0};
}

}  // namespace penstock::worker
