// PlanWitness.
#include <algorithm>
#include <map>
#include <utility>

#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;

/// Whatever is in flight of a job with a list of pools is in one of them, but for bags and for what must not run twice.
void PlanWitness::check_one_pool() const {
  if (config().policy.pools.size() < 2) return;
  const WorkerTable& table = core().workers();
  std::map<JobId, std::uint32_t> pool_of;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i) {
    if (!table[BandSlot{i}].alive) continue;
    const auto pool =
        static_cast<std::uint32_t>(pool_of_worker(config().policy, table.worker_of(BandSlot{i}).description.name));
    for (const AssignedRef& ref : table[BandSlot{i}].assigned) {
      const Job* job = core().find_job(ref.job);
      if (job == nullptr || job->shares == nullptr || job->shares->pool.fallback.pools().size() == 1) continue;
      const SubtaskHot& hot = job->hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt || hot.band != BandSlot{i}) continue;
      if (!job->graph.shape->template_of(ref.subtask).retryable) continue;
      if (job->shares->pool.spreads && job->shares->pool.lists(pool)) continue;
      if (pool_of.try_emplace(ref.job, pool).first->second != pool)
        world_.oracle().breach(to_string(ref.job) + " is in two of its pools at once");
    }
  }
}

/// A gang that stays together has its slots on one host, or on workers with one label of its pattern; but if its work
/// had to run at certain places, until it has given all slots back.
void PlanWitness::check_together() {
  const WorkerTable& table = core().workers();
  for (const JobId id : world_.jobs()) {
    const Job* job = core().find_job(id);
    if (job == nullptr || job->shares == nullptr || job->spec.policy.together.empty()) continue;
    std::vector<BandSlot> bands;
    for (std::uint32_t i = 0; i < table.band_slots(); ++i)
      if (table[BandSlot{i}].alive && job->shares->of(BandSlot{i}).planned > 0) bands.emplace_back(i);
    if (bands.empty()) bound_.erase(id);
    if (job->shares->kinds[0].bound || job->shares->kinds[1].bound) bound_.insert(id);
    if (bands.empty() || bound_.contains(id)) continue;
    if (job->spec.policy.gang_groups > 1) {
      check_groups(id, *job, bands);
      continue;
    }
    const auto groups = groups_of(table.worker_of(bands.front()).description, job->spec.policy.together);
    const auto holds_all = [&](const WorkerGroup& group) {
      return std::all_of(bands.begin(), bands.end(),
                         [&](BandSlot band) { return is_in(group, table.worker_of(band).description); });
    };
    if (std::none_of(groups.begin(), groups.end(), holds_all))
      world_.oracle().breach(to_string(id) + " is not together: '" + job->spec.policy.together + "'" +
                             describe_shares(*job, table));
  }
}

/// Each group of a gang is on one host, or on workers with one label: as many slots as whole groups have are in each,
/// when the gang holds all of them.
void PlanWitness::check_groups(JobId id, const Job& job, const std::vector<BandSlot>& bands) const {
  const WorkerTable& table = core().workers();
  const std::uint64_t size = std::uint64_t{job.spec.policy.group_slots()} * 1000;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    std::map<WorkerGroup, std::uint64_t> sums;
    std::uint64_t all = 0;
    for (const BandSlot band : bands) {
      if (table[band].kind != kind) continue;
      const auto groups = groups_of(table.worker_of(band).description, job.spec.policy.together);
      if (groups.size() > 1) return;  // The group of its slots there is unknown.
      if (!groups.empty()) sums[groups.front()] += job.shares->of(band).planned;
      all += job.shares->of(band).planned;
    }
    if (all < std::uint64_t{job.spec.policy.gang} * 1000) continue;
    const bool whole =
        std::all_of(sums.begin(), sums.end(), [size](const auto& each) { return each.second % size == 0; });
    if (!whole)
      world_.oracle().breach(to_string(id) + " has a group that is not together: '" + job.spec.policy.together + "'" +
                             describe_shares(job, table));
  }
}

/// By band, the slots of what the core has been told to be running for a while under a limit.
std::vector<std::uint64_t> PlanWitness::count_started() const {
  std::vector<std::uint64_t> started(core().workers().band_slots());
  for (const JobId id : world_.jobs()) {
    const Job* job = core().find_job(id);
    if (job == nullptr || job->shares == nullptr || job->status.cancelling) continue;
    for (std::uint32_t i = 0; i < started.size(); ++i) {
      const auto kind = static_cast<std::size_t>(core().workers()[BandSlot{i}].kind);
      const std::uint64_t each = (job->shares->kinds[kind].unit_milli + 999) / 1000;
      started[i] += job->shares->of(BandSlot{i}).started * std::max<std::uint64_t>(each, 1);
    }
  }
  return started;
}

/// The shares of all jobs on a band fit it, or what was told to run there when the pass began or ends: an end may be
/// on its way when the next one in its slot has been running for a while, and nobody is made to leave because of that.
void PlanWitness::check_plan() const {
  const WorkerTable& table = core().workers();
  std::vector<std::uint64_t> given(table.band_slots());
  for (const JobId id : world_.jobs()) {
    const Job* job = core().find_job(id);
    if (job == nullptr || job->shares == nullptr || job->status.cancelling)
      continue;  // A job that ends takes nothing new.
    for (std::uint32_t i = 0; i < given.size(); ++i)
      if (const BandShare share = job->shares->of(BandSlot{i}); share.limited() && share.planned > 0) {
        // A share smaller than a slot of a CPU band is rounded up for each job.
        const auto kind = static_cast<std::size_t>(table[BandSlot{i}].kind);
        const bool rounded = kind == 0 && job->shares->kinds[kind].unit_milli % 1000 != 0;
        given[i] += share.planned - (rounded ? 1000 : 0);
      }
  }
  const std::vector<std::uint64_t> started = count_started();
  for (std::uint32_t i = 0; i < given.size(); ++i) {
    const std::uint64_t before = i < started_before_.size() ? started_before_[i] : 0;
    const std::uint64_t most = 1000 * std::max({std::uint64_t{table[BandSlot{i}].slots}, started[i], before});
    if (!table[BandSlot{i}].alive || given[i] <= most) continue;
    std::string what = "policy gives away more of " + to_string(table[BandSlot{i}].id) + " than its slots";
    for (const JobId id : world_.jobs())
      if (const Job* job = core().find_job(id); job != nullptr && job->shares != nullptr)
        what += "\n  " + to_string(id) + describe_shares(*job, table);
    world_.oracle().breach(std::move(what));
  }
}

/// One that was given up, or has failed, changes nothing.
bool PlanWitness::applies(const supervisor_event::PassEnded& ended) const {
  const PolicyState& policy = core().policy();
  return ended.failure.empty() && policy.pass.has_value() && policy.pass->number == ended.number;
}

/// The present workers, and whether they are drained.
std::set<std::pair<BandId, bool>> PlanWitness::bands_now() const {
  const WorkerTable& table = core().workers();
  std::set<std::pair<BandId, bool>> bands;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i)
    if (const supervisor::BandEntry& band = table[BandSlot{i}]; band.alive) bands.emplace(band.id, band.draining);
  return bands;
}

/// The most that any job has which may have to leave for another.
Duration PlanWitness::longest_grace() const {
  Duration longest = core().policy().config.grace;
  for (const JobId id : world_.jobs())
    if (const Job* job = core().find_job(id); job != nullptr)
      longest = std::max(longest, std::min(job->spec.grace, core().policy().config.grace_max));
  return longest;
}

void PlanWitness::pass_begins(const policy::Snapshot& snapshot) {
  started_before_ = count_started();
  const std::vector<JobId> jobs = world_.jobs();
  // The event that applies its plan may begin another pass, in which a gang is bound no more.
  for (const JobId id : jobs)
    if (const Job* job = core().find_job(id); job != nullptr && job->shares != nullptr)
      if (job->shares->kinds[0].bound || job->shares->kinds[1].bound) bound_.insert(id);
  limits_.pass_begins(limited_jobs(core(), jobs));
  const std::vector<GangView> gangs = gangs_of(core(), jobs);
  bands_before_ = bands_now();
  const PolicyConfig& config = core().policy().config;
  gangs_.pass_begins(world_.now(), config.gang_wait, longest_grace(), gangs, promised_to_gangs(snapshot, gangs));
  if (!gangs_.broken_promise().empty()) world_.oracle().breach(gangs_.broken_promise());
}

void PlanWitness::check_limits_and_gangs() const {
  const std::vector<JobId> jobs = world_.jobs();
  const std::set<std::pair<BandId, bool>> bands = bands_now();
  const bool lost = !std::includes(bands.begin(), bands.end(), bands_before_.begin(), bands_before_.end());
  for (std::string breach :
       {limits_.plan_applied(limited_jobs(core(), jobs)), gangs_.plan_applied(gangs_of(core(), jobs), lost)}) {
    if (breach.empty()) continue;
    for (const JobId id : jobs)
      if (const Job* job = core().find_job(id); job != nullptr && job->shares != nullptr)
        breach += "\n  " + to_string(id) + describe_shares(*job, core().workers());
    world_.oracle().breach(std::move(breach));
  }
}

}  // namespace penstock::simulation
