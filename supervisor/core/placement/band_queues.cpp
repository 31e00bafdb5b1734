#include "supervisor/core/placement/band_queues.hpp"

#include <algorithm>

#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {

Credit BandQueues::credit_of(const Job& job, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  if (job.shares != nullptr)
    if (const BandShare share = job.shares->of(slot); share.limited())
      return {share.slots(), share.in_flight, share.runnable, std::max(share.slots(), share.runs) + band.yielded};
  return {band.slots, band.in_flight, band.runnable, band.slots + band.yielded};
}

bool BandQueues::has_slots_for(const Job& job, BandSlot slot) const {
  if (job.shares == nullptr) return true;
  const BandShare share = job.shares->of(slot);
  return !share.limited() || share.runnable < share.runs;
}

bool BandQueues::correct_waiting(BandSlot slot, std::size_t at) {
  ++counters_.jobs_looked_at;
  WaitingJobs& waiting = workers_[slot].waiting;
  const WaitingJobs::Entry entry = waiting[at];
  Job* job = jobs_.find(entry.job);
  LocalSet* local = job != nullptr && job->place.waiting_epoch == entry.epoch ? job->place.locals.find(slot) : nullptr;
  if (local != nullptr && !local->is_waiting()) local = nullptr;  // A later entry has been removed already.
  if (local != nullptr && !job->status.cancelling && !local->empty() && credit_of(*job, slot).slots > 0) {
    if (entry.held != job->tally.in_flight) waiting.set_held(at, job->tally.in_flight);
    return true;
  }
  if (local != nullptr) local->set_waiting(false);
  waiting.erase(at);
  return false;
}

Job* BandQueues::first_waiting(BandSlot slot) {
  const WaitingJobs& waiting = workers_[slot].waiting;
  while (!waiting.empty()) {
    const JobId first = waiting[0].job;
    if (correct_waiting(slot, 0) && waiting[0].job == first) return jobs_.find(first);
  }
  return nullptr;
}

void BandQueues::enter_waiting(const Job& job, BandSlot slot, LocalSet& local) {
  if (local.is_waiting()) return;
  local.set_waiting(true);
  workers_[slot].waiting.push({job.precedence(), job.tally.in_flight, job.id, job.place.waiting_epoch});
}

void BandQueues::enter_waiting_anew(Job& job) {
  ++job.place.waiting_epoch;
  for (std::uint32_t i = job.place.locals.first(); i < job.place.locals.end(); ++i) {
    LocalSet* local = job.place.locals.find(BandSlot{i});
    if (local == nullptr) continue;
    local->set_waiting(false);
    if (local->empty() || !workers_[BandSlot{i}].alive) continue;
    enter_waiting(job, BandSlot{i}, *local);
    bands_.mark_dirty(BandSlot{i});
  }
}

void BandQueues::keep_ready(Job& job, BandSlot slot, std::uint32_t subtask) {
  LocalSet& local = job.place.locals.at(slot);
  local.push_ready(job.order_key(subtask));
  bands_.change_ready(slot, 1);
  enter_waiting(job, slot, local);
  if (job.shares != nullptr) [[unlikely]] {
    ask_for_slots(job, slot);
    if (local.ready_count() == 1) offer_to_short_bands(job, slot);
  }
}

void BandQueues::offer_to_short_bands(const Job& job, BandSlot slot) {
  if (!job.shares->of(slot).entitled.is_zero()) return;
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(job.shares->bands.size(), workers_.band_slots()));
  for (std::uint32_t i = 0; i < count; ++i)
    if (job.shares->bands[i].is_short() && workers_[BandSlot{i}].alive) bands_.mark_dirty(BandSlot{i});
}

void BandQueues::ask_for_slots(const Job& job, BandSlot slot) {
  const std::size_t kind = static_cast<std::size_t>(workers_[slot].kind);
  if (job.shares->of(slot).entitled.is_zero() && job.shares->kinds[kind].demand == 0) turns_.policy_changed();
}

void BandQueues::follow_entitlement(Job& job, BandSlot slot) {
  const BandShare share = job.shares->of(slot);
  LocalSet* local = job.place.locals.find(slot);
  if (local != nullptr && !share.entitled.is_zero() && !local->empty()) enter_waiting(job, slot, *local);
  if (local != nullptr && local->ready_count() > 0) ask_for_slots(job, slot);
  std::vector<JobId>& entitled = workers_[slot].entitled;
  const bool is_new = std::find(entitled.begin(), entitled.end(), job.id) == entitled.end();
  if (share.limited() && !share.entitled.is_zero() && is_new) entitled.push_back(job.id);
  bands_.mark_dirty(slot);
}

}  // namespace penstock::supervisor
