#include "tests/simulation/world/gang_witness.hpp"

#include <algorithm>

#include "supervisor/policy/snapshot.hpp"
#include "tests/simulation/world/limit_witness.hpp"

namespace penstock::simulation {
namespace {

/// The slots that so many runs on one band are given: half a slot is counted as a whole one, but where allocation units
/// are smaller.
std::uint64_t whole_slots(std::uint64_t runs, const supervisor::AllocationUnit& allocation_unit) {
  const std::uint64_t step = std::clamp<std::uint64_t>(allocation_unit.milli, 1, 1000);
  return (runs * allocation_unit.run_milli + step - 1) / step * step;
}

}  // namespace

void GangWitness::pass_begins(Instant now, Duration wait, Duration grace, const std::vector<GangView>& gangs,
                              const std::map<JobId, std::vector<policy::Place>>& promised) {
  began_ = now;
  wait_ = wait;
  std::map<Key, Instant> in_part;
  std::map<Key, Instant> part;
  given_.clear();
  for (const GangView& gang : gangs) {
    const Key key{gang.job, gang.kind};
    given_[key] = gang.given;
    const auto known = in_part_since_.find(key);
    if (gang.in_part()) in_part[key] = known == in_part_since_.end() ? now : known->second;
    const auto any = part_since_.find(key);
    if (gang.is_part()) part[key] = any == part_since_.end() ? now : any->second;
  }
  in_part_since_ = std::move(in_part);
  part_since_ = std::move(part);
  std::map<JobId, Promise> promises;
  for (const auto& [job, places] : promised) {
    const auto known = promises_.find(job);
    const bool same = known != promises_.end() && known->second.places == places;
    const Instant since = same ? known->second.since : now;
    promises[job] = {places, since, now > since && now >= later(since, std::max(wait, grace))};
    if (promises[job].late && known->second.late)
      broken_promise_ = to_string(job) + " is a gang, and its places stay promised for longer than gangs wait";
  }
  promises_ = std::move(promises);
}

std::string GangWitness::plan_applied(const std::vector<GangView>& gangs, bool workers_lost) const {
  for (const GangView& gang : gangs) {
    if (!gang.is_part()) continue;
    const Key key{gang.job, gang.kind};
    const std::string whom = to_string(gang.job) + " is a gang with " + std::to_string(gang.given) + "m of " +
                             std::to_string(gang.wanted) + "m slots";
    // A run that never leaves ends, and nothing follows it.
    const auto part = part_since_.find(key);
    if (part != part_since_.end() && began_ >= later(part->second, wait_ + kRunsLast))
      return whom + ", for longer than gangs wait and runs last";
    if (!gang.in_part()) continue;
    const auto since = in_part_since_.find(key);
    if (since != in_part_since_.end() && !workers_lost && began_ >= later(since->second, wait_))
      return whom + ", for longer than gangs wait";
    const auto before = given_.find(key);
    // The gang had a part beside runs that stay, and has one without them: they have ended meanwhile.
    const bool was_part = part != part_since_.end();
    if (since == in_part_since_.end() && !was_part && before != given_.end() && !workers_lost && !gang.lost_to_others)
      return whom + ", and no worker was lost";
  }
  return {};
}

std::vector<GangView> gangs_of(const supervisor::SupervisorCore& core, const std::vector<JobId>& jobs) {
  const supervisor::WorkerTable& workers = core.workers();
  std::vector<GangView> gangs;
  for (const JobId id : jobs) {
    const supervisor::Job* job = core.find_job(id);
    if (job == nullptr || job->shares == nullptr || job->status.cancelling || job->spec.policy.gang == 0) continue;
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      const supervisor::KindShare& share = job->shares->kinds[static_cast<std::size_t>(kind)];
      if (share.unit_milli == 0 || share.bound) continue;
      GangView& seen = gangs.emplace_back(GangView{id, kind, job->spec.policy.gang * 1000ULL});
      seen.lost_to_others = share.gang.lost_to_others;
      for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
        if (const supervisor::BandEntry& band = workers[supervisor::BandSlot{i}]; band.alive && band.kind == kind) {
          seen.given += given_to(*job, supervisor::BandSlot{i}, kind);
          if (!job->spec.policy.may_be_preempted() || share.all_stay)
            seen.stays += whole_slots(job->shares->of(supervisor::BandSlot{i}).started, share.allocation_unit);
        }
      // A member that consolidation moves has its next place already.
      for (const std::vector<supervisor::PromisedPlace>& places : share.promised)
        for (const supervisor::PromisedPlace& place : places)
          if (!workers[place.band].draining) seen.given += seen.given > 0 ? place.milli : 0;
    }
  }
  return gangs;
}

std::map<JobId, std::vector<policy::Place>> promised_to_gangs(const policy::Snapshot& snapshot,
                                                              const std::vector<GangView>& gangs) {
  std::map<std::string, JobId> names;
  for (const GangView& gang : gangs) names.emplace(to_string(gang.job), gang.job);
  std::map<JobId, std::vector<policy::Place>> promised;
  for (const policy::CarriedReservation& reservation : snapshot.carried) {
    const auto gang = names.find(snapshot.workloads[snapshot.members[reservation.member].workload].name);
    if (gang == names.end()) continue;
    std::vector<policy::Place>& places = promised[gang->second];
    places.insert(places.end(), reservation.places.begin(), reservation.places.end());
  }
  return promised;
}

}  // namespace penstock::simulation
