// WorkerCore: gangs that wait until all their slots are held, here and on other workers.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

// Decision 0016. Until it is said again without a barrier the job is closed here: neither slots nor permits, so that
// nothing of it holds memory that others wait for.
void WorkerCore::join_barrier(JobSlot slot, const Entitlement& entitlement) {
  Band& band = *bands_[entitlement.band.value()];
  ResourceVector wanted;
  wanted.slots = std::clamp(entitlement.slots, MilliSlots{}, band.execute.capacity().slots);
  wanted.gpu = std::min(entitlement.gpu, band.execute.capacity().gpu);
  wanted.device_memory = std::min(entitlement.device_memory, band.execute.capacity().device_memory);
  const auto found = std::find_if(barriers_.begin(), barriers_.end(), [&](const BarrierHere& each) {
    return each.job == slot && each.band == entitlement.band;
  });
  if (found != barriers_.end() && found->number == entitlement.barrier && found->slots == wanted.slots) {
    PENSTOCK_COVERAGE_MARK("what a gang has reserved was asked for again");
    found->told = false;  // Its time is that of the first.
    return;
  }
  const Instant until = later(later(now_, entitlement.barrier_max), config_.barrier_margin);
  const BarrierHere fresh{slot, entitlement.band, entitlement.barrier, wanted.slots, until, false, false};
  if (found == barriers_.end())
    barriers_.push_back(fresh);
  else
    *found = fresh;
  jobs_[slot].gang = true;
  band.prepare.set_entitlement(slot, MilliSlots{}, entitlement.fair_rank);
  band.execute.set_entitlement(slot, MilliSlots{}, entitlement.fair_rank);
  band.execute.reserve(slot, wanted);
  band.dirty = true;
}

// What was reserved is the job's, which begins on it, or everybody's.
void WorkerCore::leave_barrier(JobSlot slot, Band& band, bool opens) {
  std::erase_if(barriers_, [&](const BarrierHere& each) { return each.job == slot && each.band == band.index; });
  if (opens)
    band.execute.open_reservation(slot);
  else
    band.execute.drop_reservation(slot);
  band.dirty = true;
}

void WorkerCore::leave_barriers(JobSlot slot) {
  if (barriers_.empty()) return;
  for (const auto& band : bands_) leave_barrier(slot, *band, false);
}

// Says once that all is held. Who gets no word from the supervisor for too long keeps nothing, and says that.
void WorkerCore::answer_barriers() {
  bool any_over = false;
  for (BarrierHere& barrier : barriers_) {
    if (barrier.over || now_ < barrier.until) continue;
    PENSTOCK_COVERAGE_MARK("a supervisor has left a gang at its barrier");
    bands_[barrier.band.value()]->execute.drop_reservation(barrier.job);
    barrier.over = any_over = true;
    barrier.told = false;
  }
  if (any_over) {
    mark_all_dirty();
    pump_all();
  }
  for (BarrierHere& barrier : barriers_) {
    const bool held = !barrier.over && bands_[barrier.band.value()]->execute.is_reserved(barrier.job);
    if (barrier.told || !(held || barrier.over)) continue;
    barrier.told = true;
    out_->add(worker_action::SendBarrierAnswer{
        {jobs_[barrier.job].id, barrier.band, barrier.number, held ? barrier.slots : MilliSlots{}}});
  }
}

// What was closed for a gang stays so under the next life of the supervisor, until that says otherwise: else a part of
// the gang would begin alone.
bool WorkerCore::stays_closed(JobSlot slot, const Band& band) const {
  return jobs_[slot].gang && band.execute.is_closed(slot);
}

}  // namespace penstock::worker
