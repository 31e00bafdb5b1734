#include "supervisor/core/policy/entitlement_mail.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {

void EntitlementMail::send_entitlements(const Job& job, WorkerSlot slot) {
  std::vector<ToWorker>& outbox = mail_.of(slot);
  auto* batch = outbox.empty() ? nullptr : std::get_if<EntitlementBatch>(&outbox.back());
  if (batch == nullptr) batch = &std::get<EntitlementBatch>(outbox.emplace_back(EntitlementBatch{}));
  batch->version = ++policy_.version;
  for (const BandSlot band : workers_[slot].bands) {
    batch->entitlements.push_back({job.id, workers_[band].id.band, job.shares->of(band).entitled, 0});
    if (const auto at = job.shares->devices->find(band); at != job.shares->devices->end())
      batch->entitlements.back().device_slots = at->second.entitled;
    reserve_for(job, band, batch->entitlements.back());
  }
}

void EntitlementMail::reserve_for(const Job& job, BandSlot band, Entitlement& entitlement) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(workers_[band].kind)];
  if (!share.gang.barrier->waits() || entitlement.slots.is_zero() || entitlement.slots == MilliSlots::max()) return;
  // An older worker reserves nothing: members begin there as soon as they come.
  if (!workers_.worker_of(band).description.barriers) return;
  entitlement.barrier = share.gang.barrier->number;
  // A worker that has not heard by then that the gang begins is lost, and must not hold slots for it. The supervisor
  // enforces this deadline, whatever workers are configured to.
  entitlement.barrier_max = std::max(share.gang.barrier->until - event_.now, Duration{0}) + config_.worker_lost_after;
  const std::int64_t runs = entitlement.slots.value() / std::max<std::int64_t>(share.unit_milli, 1);
  entitlement.gpu = share.beside.gpu * runs;
  entitlement.device_memory = share.beside.device_memory * runs;
  // No plan divides these, so no job leaves for them: amounts that only some members take are not waited for.
  entitlement.cpu = share.beside_least->cpu * runs;
  entitlement.named = share.beside_least->named;
  for (NamedAmount& each : entitlement.named)
    each.amount = std::min(each.amount, INT64_MAX / std::max<std::int64_t>(runs, 1)) * runs;
  entitlement.patience = std::max(share.gang.barrier->halfway() - event_.now, Duration{0});
}

void EntitlementMail::free_gang(const Job& job, WorkerSlot slot) {
  EntitlementBatch batch;
  batch.version = ++policy_.version;
  for (const BandSlot band : workers_[slot].bands)
    batch.entitlements.push_back({job.id, workers_[band].id.band, MilliSlots::max(), 0});
  mail_.tell(slot, std::move(batch));
}

}  // namespace penstock::supervisor
