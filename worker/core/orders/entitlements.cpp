#include "worker/core/orders/entitlements.hpp"

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void Entitlements::apply(const EntitlementBatch& message) {
  if (message.version <= version_) return;
  version_ = message.version;
  for (const Entitlement& entitlement : message.entitlements) {
    if (!entitlement.job.valid() || !bands_.knows(entitlement.band)) continue;
    // The entitlement comes before the job's first assignment, which must find the latch closed. Without a limit
    // nothing has to be remembered.
    JobSlot slot = tables_.jobs.find(entitlement.job);
    if (!slot.valid() && entitlement.slots != MilliSlots::max()) slot = tables_.open_job(entitlement.job);
    if (!slot.valid()) continue;
    Band& band = bands_[entitlement.band];
    // Words about devices that the band has not say nothing; its slots are limited all the same.
    const bool names_devices = entitlement.device_slots.size() == band.execute.lanes().devices.size();
    if (entitlement.barrier != 0 && !entitlement.slots.is_zero()) {
      tables_.jobs[slot].gang = true;
      band.join_barrier(slot, entitlement, event_.now, config_.barrier_margin);
      continue;
    }
    band.set_entitlement(slot, entitlement.slots, entitlement.fair_rank,
                         names_devices ? entitlement.device_slots : std::vector<std::uint16_t>{});
    if (bands_.any_barrier()) leave_barrier(slot, band, !entitlement.slots.is_zero());
    band.dirty = true;
  }
}

void Entitlements::leave_barrier(JobSlot slot, Band& band, bool opens) {
  if (band.leave_barrier(slot, opens)) pump_.unprepare(slot, band);
}

void Entitlements::leave_barriers(JobSlot slot) {
  if (!bands_.any_barrier()) return;
  for (const auto& band : bands_) leave_barrier(slot, *band, false);
}

void Entitlements::lift(JobSlot slot) {
  leave_barriers(slot);
  for (const auto& band : bands_) {
    if (tables_.jobs[slot].gang && band->execute.items().is_closed(slot)) continue;
    band->lift_entitlement(slot);
    band->dirty = true;
  }
}

void Entitlements::answer_barriers() {
  give_back_barriers_left();
  for (const auto& band : bands_)
    for (BarrierHere& barrier : band->barriers) {
      if (barrier.told) continue;
      const bool held = !barrier.over && band->is_ready_to_begin(barrier, tables_.jobs, tables_.subtasks, event_.now);
      if (!held && !barrier.over) continue;
      barrier.told = true;
      event_.out->add(worker_action::SendBarrierAnswer{
          {tables_.jobs[barrier.job].id, band->index, barrier.number, held ? barrier.slots : MilliSlots{}}});
    }
}

// A gang without a message from the supervisor for too long gives its slots back.
void Entitlements::give_back_barriers_left() {
  bool any_over = false;
  for (const auto& band : bands_)
    for (BarrierHere& barrier : band->barriers) {
      if (barrier.over || event_.now < barrier.until) continue;
      PENSTOCK_COVERAGE_MARK("a supervisor has left a gang at its barrier");
      band->give_back_barrier(barrier);
      pump_.unprepare(barrier.job, *band);
      any_over = true;
    }
  if (!any_over) return;
  bands_.mark_all_dirty();
  pump_.pump_all();
}

Instant Entitlements::deadline() const {
  Instant next = kNever;
  for (const auto& band : bands_)
    for (const BarrierHere& barrier : band->barriers)
      if (!barrier.over)
        next =
            std::min(next, event_.now < barrier.patient_until && !barrier.told ? barrier.patient_until : barrier.until);
  return next;
}

void Entitlements::validate() const {
  for (const auto& band : bands_)
    for (const BarrierHere& barrier : band->barriers)
      PENSTOCK_CHECK(tables_.jobs.is_open(barrier.job) && tables_.jobs[barrier.job].gang);
}

}  // namespace penstock::worker
