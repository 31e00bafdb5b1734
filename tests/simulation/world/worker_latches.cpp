// WorkerHost: what the worker was told that jobs may hold, and whether it keeps to that.
#include <algorithm>

#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker::worker_action;

void WorkerHost::note_entitlements(const EntitlementBatch& batch) {
  if (batch.version <= entitlement_version_) return;
  entitlement_version_ = batch.version;
  for (const Entitlement& each : batch.entitlements)
    reservations_.told(each, world_.now(), world_.worker_config().barrier_margin);
  for (const Entitlement& each : batch.entitlements)
    entitled_[{each.job, each.band}] = each.barrier == 0 ? each.slots : MilliSlots{};
}

/// The second latch: what starts finds its job below its entitlement, whatever larger one there was before.
void WorkerHost::check_entitlement(const StartSubtask& action) const {
  const auto entitled = entitled_.find({action.id.job, action.band});
  if (entitled == entitled_.end()) return;
  MilliSlots held;
  for (const auto& [record, run] : runs_)
    if (run.band == action.band && run.id.job == action.id.job) held += run.program->request.slots;
  if (held + action.program->request.slots > entitled->second)
    world_.oracle().breach(name_ + " starts " + to_string(action.id) + " though its job holds all that it may");
}

/// Nothing of a gang starts before all its slots are held, and nothing else starts on those that are.
void WorkerHost::check_reservations(const StartSubtask& action) const {
  if (reservations_.is_closed(action.id.job, action.band))
    world_.oracle().breach(name_ + " starts " + to_string(action.id) + " of a gang that waits at its barrier");
  MilliSlots held = action.program->request.slots;
  for (const auto& [record, run] : runs_)
    if (run.band == action.band) held += run.program->request.slots;
  const MilliSlots kept =
      reservations_.kept_from(action.id.job, action.band, [&](JobId job) { return run_by(job, action.band); });
  if (held + kept > bands_[action.band.value()].capacity.slots)
    world_.oracle().breach(name_ + " starts " + to_string(action.id) + " on slots that are reserved for a gang");
}

/// What it says that it holds, nobody else runs on.
void WorkerHost::check_answer(const BarrierAnswer& answer) const {
  MilliSlots held = std::max(answer.held, run_by(answer.job, answer.band));
  for (const auto& [record, run] : runs_)
    if (run.band == answer.band && run.id.job != answer.job) held += run.program->request.slots;
  if (!answer.held.is_zero() && held > bands_[answer.band.value()].capacity.slots)
    world_.oracle().breach(name_ + " says that it holds slots for " + to_string(answer.job) + " on which others run");
}

MilliSlots WorkerHost::run_by(JobId job, BandIndex band) const {
  MilliSlots slots;
  for (const auto& [record, run] : runs_)
    if (run.band == band && run.id.job == job) slots += run.program->request.slots;
  return slots;
}

}  // namespace penstock::simulation
