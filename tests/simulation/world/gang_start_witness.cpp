// GangStartWitness.
#include <algorithm>
#include <utility>

#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;

/// A gang is told to begin when all its slots are held at that moment. Where it must run somewhere it takes them one by
/// one, and without a policy nobody waits.
void GangStartWitness::told(WorkerId id, const Entitlement& entitlement) {
  check_begin(id, entitlement);
  const std::uint64_t barrier = barriers_.told(id, entitlement);
  const Job* job = barrier == 0 ? nullptr : core().find_job(entitlement.job);
  if (job == nullptr || job->shares == nullptr || job->spec.policy.gang == 0) return;
  // The barrier may have been given up; a worker that has died, unknown to the supervisor, is told of that, too.
  const supervisor::WorkerTable& workers = core().workers();
  const BandKind told = workers[workers[workers.find(id)].bands[entitlement.band.value()]].kind;
  if (gave_up_but_runs(*job, told, barrier)) return;
  if (const WorkerHost* host = world_.find_worker(id); host != nullptr && host->up())
    check_whole(*job, told, barriers_.asked_for(entitlement.job, barrier));
  for (const BarrierWitness::Place& place : barriers_.places_of(entitlement.job, barrier)) {
    WorkerHost* const host = world_.find_worker(place.worker);
    if (host == nullptr || !host->up() || !host->knows_barriers()) continue;
    const BandKind kind = host->kind_of(place.band);
    if (job->shares->kinds[static_cast<std::size_t>(kind)].bound) continue;
    if (!host->witness().reservations().holds(entitlement.job, place.band, barrier))
      world_.oracle().breach("the gang of " + to_string(entitlement.job) + " begins, and " + host->name() +
                             " does not hold its slots");
  }
}

/// No worker that the supervisor counts on has given back what it lets a gang begin on. One that has stood still may
/// count on a worker that has heard no word for too long; then the gang gives all back.
void GangStartWitness::check_give_back(WorkerHost& host, const BarrierAnswer& answer) const {
  const bool has_stood_still = world_.now() < later(host_.stopped_until(), config().worker_lost_after);
  const bool counted_on = host_.up() && !has_stood_still && host.link().supervisor() == host_.incarnation() &&
                          host_.links().endpoint_of(host.life()) != nullptr;
  if (counted_on && barriers_.has_begun_on({host_.number_of(host), answer.band}, answer))
    world_.oracle().breach(host.name() + " gives back what the gang of " + to_string(answer.job) + " was let begin on");
}

/// Where older workers have begun on a gang it keeps what runs when its barrier is given up: that is no beginning.
bool GangStartWitness::gave_up_but_runs(const supervisor::Job& job, BandKind kind, std::uint64_t barrier) const {
  if (job.shares->kinds[static_cast<std::size_t>(kind)].gang.barrier->opened == barrier) return false;
  const supervisor::WorkerTable& workers = core().workers();
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
    if (const supervisor::BandSlot band{i}; workers[band].alive && workers[band].kind == kind)
      if (job.shares->of(band).started > 0) return true;
  return false;
}

/// The slots that workers were asked to hold of a gang that begins, and what older ones have begun on, which are asked
/// for nothing, is all of it.
void GangStartWitness::check_whole(const supervisor::Job& job, BandKind kind, MilliSlots asked) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.bound) return;
  const std::uint64_t all = job.spec.policy.gang * 1000ULL / share.allocation_unit.milli * share.allocation_unit.milli;
  std::uint64_t milli =
      static_cast<std::uint64_t>(asked.value()) * share.allocation_unit.milli / share.allocation_unit.entitles;
  const supervisor::WorkerTable& workers = core().workers();
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
    if (const supervisor::BandSlot band{i}; workers[band].alive && workers[band].kind == kind)
      if (!workers.worker_of(band).description.barriers) milli += job.shares->of(band).planned;
  if (milli < all)
    world_.oracle().breach("the gang of " + to_string(job.id) + " begins with " + std::to_string(milli) + "m of " +
                           std::to_string(all) + "m slots held");
}

/// A gang that has begun nowhere in this term begins at a barrier, and the barrier has asked for the whole gang. Exempt
/// is a gang with slots that must be where its work is, or one that runs already.
void GangStartWitness::check_begin(WorkerId id, const Entitlement& entitlement) {
  const Job* job = core().find_job(entitlement.job);
  const WorkerHost* host = world_.find_worker(id);
  if (job == nullptr || job->shares == nullptr || job->spec.policy.gang == 0) return;
  if (host == nullptr) return;
  const BandKind kind = host->kind_of(entitlement.band);
  const WorkerTable& workers = core().workers();
  // Behind an open barrier members begin as soon as they are there, and are reported as started only after a while.
  const bool open = job->shares->kinds[static_cast<std::size_t>(kind)].gang.barrier->open;
  bool runs = false;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const supervisor::BandEntry& band = workers[BandSlot{i}];
    const supervisor::BandShare there = job->shares->of(BandSlot{i});
    const bool is_other = band.id != BandId{id, entitlement.band};
    // An elastic gang that has begun grows, also where what it holds has nothing to do.
    const bool has_begun = there.runnable > 0 || (job->spec.policy.is_elastic() && !there.entitled.is_zero());
    runs |= band.alive && band.kind == kind && (there.started > 0 || (open && is_other && has_begun));
  }
  const bool unasked = barriers_.begins_unasked(id, kind, entitlement, host->knows_barriers());
  // One of an older version begins when it is told; what is not limited is under no policy.
  if (!unasked || !host->up() || !host->knows_barriers() || entitlement.slots == MilliSlots::max()) return;
  if (!runs && !job->shares->kinds[static_cast<std::size_t>(kind)].bound)
    world_.oracle().breach("the gang of " + to_string(entitlement.job) + " begins at no barrier" +
                           describe_shares(*job, workers));
}

}  // namespace penstock::simulation
