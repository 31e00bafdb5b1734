// WorkerCore: gangs that wait until all their slots are held, here and on other workers.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {
namespace {

/// The requested amounts, limited to those of the band. The members themselves hold memory.
ResourceVector wanted_of(const Entitlement& entitlement, const ResourceVector& capacity) {
  ResourceVector wanted;
  wanted.slots = std::clamp(entitlement.slots, MilliSlots{}, capacity.slots);
  wanted.cpu = std::min(entitlement.cpu, capacity.cpu);
  wanted.gpu = std::min(entitlement.gpu, capacity.gpu);
  wanted.device_memory = std::min(entitlement.device_memory, capacity.device_memory);
  for (const NamedAmount& each : entitlement.named)
    if (const std::int64_t amount = std::min(each.amount, amount_of(capacity.named, each.name)); amount > 0)
      wanted.named.push_back({each.name, amount});
  return wanted;
}

/// A permit is a slot, also for a subtask with a part of one.
MilliSlots permits_for(MilliSlots slots) { return kOneSlot * ((slots.value() + 999) / 1000); }

}  // namespace

// Decision 0016. Until a message without a barrier comes, nothing of the job begins here; its members are prepared.
void WorkerCore::join_barrier(JobSlot slot, const Entitlement& entitlement) {
  Band& band = *bands_[entitlement.band.value()];
  const ResourceVector wanted = wanted_of(entitlement, band.execute.capacity());
  const auto found = std::find_if(barriers_.begin(), barriers_.end(), [&](const BarrierHere& each) {
    return each.job == slot && each.band == entitlement.band;
  });
  if (found != barriers_.end() && found->number == entitlement.barrier && found->slots == wanted.slots) {
    PENSTOCK_COVERAGE_MARK("what a gang has reserved was asked for again");
    found->told = false;  // Its time limit stays that of the first request.
    return;
  }
  const Instant until = later(later(now_, entitlement.barrier_max), config_.barrier_margin);
  const BarrierHere fresh{
      slot, entitlement.band, entitlement.barrier, wanted.slots, until, later(now_, entitlement.patience), false,
      false};
  if (found == barriers_.end())
    barriers_.push_back(fresh);
  else
    *found = fresh;
  jobs_[slot].gang = true;
  band.prepare.set_entitlement(slot, permits_for(wanted.slots), entitlement.fair_rank);
  band.prepare.prefer(slot, permits_for(wanted.slots));
  band.execute.set_entitlement(slot, MilliSlots{}, entitlement.fair_rank);
  band.execute.reserve(slot, wanted);
  band.dirty = true;
}

// The reservation goes to the job, which begins on it, or is dropped for all.
void WorkerCore::leave_barrier(JobSlot slot, Band& band, bool opens) {
  const bool waited = std::erase_if(barriers_, [&](const BarrierHere& each) {
                        return each.job == slot && each.band == band.index;
                      }) > 0;
  band.prepare.drop_reservation(slot);
  if (opens)
    band.execute.open_reservation(slot);
  else
    band.execute.drop_reservation(slot);
  if (waited && !opens) unprepare(slot, band);
  band.dirty = true;
}

// A gang that does not begin holds nothing that other subtasks wait for, and its members can be returned. The job may
// have been opened since.
void WorkerCore::unprepare(JobSlot slot, Band& band) {
  if (!band.execute.is_closed(slot)) return;
  band.prepare.set_entitlement(slot, MilliSlots{}, 0);
  for (RecordIndex index = jobs_[slot].records; index.valid(); index = records_[index].next_of_job) {
    const SubtaskRecord& record = records_[index];
    const bool prepared = record.state == SubtaskState::Quota || record.state == SubtaskState::Preparing ||
                          (record.state == SubtaskState::Ready && (record.holds_permit || record.holds_quota));
    if (record.band != band.index || !prepared) continue;
    PENSTOCK_COVERAGE_MARK("a gang that does not begin gives back what its members were prepared with");
    give_back_all(index);
    if (nothing_to_prepare(record)) move(index, SubtaskState::Queued);
    enqueue(index);
  }
}

// The slots belong to the gang, and so do the permits that go with them: other prepared subtasks could not start before
// it, and members that wait for the permits would begin alone. A subtask that gives up its permit waits behind the
// gang.
void WorkerCore::demote_for_gangs(Band& band) {
  const auto lacks_permits = [&](const BarrierHere& each) {
    return each.band == band.index && !each.over && band.execute.is_reserved(each.job) &&
           !band.prepare.is_reserved(each.job) && band.prepare.any_waiting(each.job);
  };
  if (std::none_of(barriers_.begin(), barriers_.end(), lacks_permits)) return;
  const RecordIndex lowest = band.execute.lowest_waiting([&](RecordIndex candidate) {
    const SubtaskRecord& record = records_[candidate];
    return record.state == SubtaskState::Ready && record.holds_permit && !waits_at_barrier(record.job, band);
  });
  if (!lowest.valid()) return;
  PENSTOCK_COVERAGE_MARK("a prepared subtask gave its permit to a gang");
  demote(lowest);
}

void WorkerCore::leave_barriers(JobSlot slot) {
  if (barriers_.empty()) return;
  for (const auto& band : bands_) leave_barrier(slot, *band, false);
}

// A gang without a message from the supervisor for too long gives its slots back.
void WorkerCore::give_back_barriers_left() {
  bool any_over = false;
  for (BarrierHere& barrier : barriers_) {
    if (barrier.over || now_ < barrier.until) continue;
    PENSTOCK_COVERAGE_MARK("a supervisor has left a gang at its barrier");
    Band& band = *bands_[barrier.band.value()];
    band.prepare.drop_reservation(barrier.job);
    band.execute.drop_reservation(barrier.job);
    unprepare(barrier.job, band);
    barrier.over = any_over = true;
    barrier.told = false;
  }
  if (!any_over) return;
  mark_all_dirty();
  pump_all();
}

// Resources that no plan counts, so that no subtask is ordered to leave for them, are waited for only until
// `patient_until`. O(n) in the job's records here, while its slots are held and not answered for.
bool WorkerCore::is_ready_to_begin(const BarrierHere& barrier) const {
  const Band& band = *bands_[barrier.band.value()];
  if (!band.execute.is_reserved(barrier.job)) return false;
  if (now_ >= barrier.patient_until) return true;
  if (!band.execute.is_reserved_whole(barrier.job)) return false;
  PENSTOCK_COVERAGE_MARK("members of a gang are looked at before it is answered for");
  std::int64_t queued = 0;
  std::int64_t unprepared = 0;
  MilliSlots prepared;
  for (RecordIndex index = jobs_[barrier.job].records; index.valid(); index = records_[index].next_of_job) {
    const SubtaskRecord& record = records_[index];
    if (record.band != barrier.band) continue;
    queued += record.state == SubtaskState::Queued;
    unprepared += record.state == SubtaskState::Quota || record.state == SubtaskState::Preparing;
    if (record.state == SubtaskState::Ready || record.state == SubtaskState::Running ||
        record.state == SubtaskState::Yielded)
      prepared += record.program->content.request.slots;
  }
  if (prepared >= barrier.slots) return true;
  if (unprepared > 0) return false;
  // With parts of a slot there are more members than permits: the rest get theirs from members that begin.
  return queued == 0 || band.prepare.held_by(barrier.job) >= permits_for(barrier.slots);
}

bool WorkerCore::waits_at_barrier(JobSlot slot, const Band& band) const {
  return std::any_of(barriers_.begin(), barriers_.end(), [&](const BarrierHere& each) {
    return each.job == slot && each.band == band.index && !each.over;
  });
}

// Answers once that all slots are held, or that they have been given back.
void WorkerCore::answer_barriers() {
  give_back_barriers_left();
  for (BarrierHere& barrier : barriers_) {
    if (barrier.told) continue;
    const bool held = !barrier.over && is_ready_to_begin(barrier);
    if (!held && !barrier.over) continue;
    barrier.told = true;
    out_->add(worker_action::SendBarrierAnswer{
        {jobs_[barrier.job].id, barrier.band, barrier.number, held ? barrier.slots : MilliSlots{}}});
  }
}

// A job that was closed for a gang stays closed under the next term of the supervisor, until that opens it: otherwise a
// part of the gang would begin alone.
bool WorkerCore::stays_closed(JobSlot slot, const Band& band) const {
  return jobs_[slot].gang && band.execute.is_closed(slot);
}

}  // namespace penstock::worker
