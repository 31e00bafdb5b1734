#include "tests/simulation/world/limit_witness.hpp"

#include <algorithm>
#include <utility>

namespace penstock::simulation {

/// One limit, and what all that it holds for have of it.
struct LimitWitness::Limit {
  JobLimits most;
  std::int64_t running = 0;
  JobId begins;  ///< One of those that had nothing before.
  std::array<std::uint64_t, supervisor::kBandKinds> given{};
  std::array<JobId, supervisor::kBandKinds> gains{};  ///< One of those that have more than before.

  void add(const LimitedJob& before, const LimitedJob& after) {
    running += after.has_any() ? 1 : 0;
    if (after.has_any() && !before.has_any() && !before.has_run) begins = after.id;
    for (std::size_t kind = 0; kind < given.size() && !before.exempt; ++kind) {
      given[kind] += after.given[kind];
      if (after.given[kind] > before.given[kind]) gains[kind] = after.id;
    }
  }
};

void LimitWitness::pass_begins(std::vector<LimitedJob> jobs) {
  std::map<JobId, LimitedJob> now;
  for (LimitedJob& job : jobs) {
    const auto known = before_.find(job.id);
    for (const LimitedBy& by : job.limits) {
      const auto same = [&](const LimitedBy& each) { return each.whom == by.whom; };
      if (known != before_.end() && std::none_of(known->second.limits.begin(), known->second.limits.end(), same))
        joined_.insert(by.whom);
    }
    const JobId id = job.id;
    now.emplace(id, std::move(job));
  }
  before_ = std::move(now);
}

std::string LimitWitness::plan_applied(const std::vector<LimitedJob>& jobs) const {
  std::map<std::string, Limit> limits;
  for (const LimitedJob& after : jobs) {
    const auto known = before_.find(after.id);
    const LimitedJob& before = known == before_.end() ? LimitedJob{after.id} : known->second;
    if (before.on_hold && after.on_hold && after.has_any())
      return to_string(after.id) + " is on hold, and a plan gives it slots";
    // An order that comes while the pass is under way may lift what its plan was made under.
    const bool stays_limited = !before.limits.empty() && !after.limits.empty();
    if (after.unlimited && ((before.on_hold && after.on_hold) || stays_limited))
      return to_string(after.id) + " may have all that it wants, though it is limited";
    for (const LimitedBy& by : before.limits) {
      Limit& limit = limits[by.whom];
      limit.most = by.limits;
      limit.add(before, after);
    }
  }
  for (const auto& [whom, limit] : limits) {
    const std::int64_t jobs_max = limit.most.running_jobs_max;
    if (jobs_max != kUnbounded && limit.running > jobs_max && limit.begins.valid() && !joined_.contains(whom))
      return to_string(limit.begins) + " begins, and " + std::to_string(limit.running) + " jobs of " + whom +
             " have slots: it may run " + std::to_string(jobs_max);
    for (std::size_t kind = 0; kind < limit.given.size(); ++kind) {
      const std::int64_t most = kind == 0 ? limit.most.slots_max : limit.most.gpu_slots_max;
      if (most == kUnbounded || limit.given[kind] <= static_cast<std::uint64_t>(most) * 1000) continue;
      if (limit.gains[kind].valid())
        return to_string(limit.gains[kind]) + " gets more, and jobs of " + whom + " have " +
               std::to_string(limit.given[kind]) + "m slots: they may have " + std::to_string(most);
    }
  }
  return {};
}

std::uint64_t given_to(const supervisor::Job& job, supervisor::BandSlot band, BandKind kind) {
  const supervisor::BandShare share = job.shares->of(band);
  if (!share.limited()) return share.planned;
  const supervisor::AllocationUnit& allocation_unit = job.shares->kinds[static_cast<std::size_t>(kind)].allocation_unit;
  return static_cast<std::uint64_t>(share.entitled.value()) * allocation_unit.milli /
         std::max<std::uint64_t>(allocation_unit.entitles, 1);
}

std::vector<LimitedJob> limited_jobs(const supervisor::SupervisorCore& core, const std::vector<JobId>& jobs) {
  const PolicyConfig& config = core.policy().config;
  const supervisor::WorkerTable& workers = core.workers();
  std::vector<LimitedJob> limited;
  for (const JobId id : jobs) {
    const supervisor::Job* job = core.find_job(id);
    if (job == nullptr || job->shares == nullptr || job->status.cancelling)
      continue;  // A job that ends takes nothing new.
    LimitedJob& seen = limited.emplace_back(LimitedJob{id, job->status.on_hold});
    seen.limits = limits_of(config, job->spec.owner, job->spec.policy);
    seen.exempt = qos_of(config, job->spec.owner, job->spec.policy).exempt;
    seen.has_run = job->shares->rules.has_run;
    for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
      const supervisor::BandSlot band{i};
      if (!workers[band].alive || core.policy().pool_of_band[i] != job->shares->pool.position) continue;
      const supervisor::BandShare share = job->shares->of(band);
      seen.given[static_cast<std::size_t>(workers[band].kind)] += given_to(*job, band, workers[band].kind);
      seen.unlimited |= !share.limited();
      seen.has_run |= share.started > 0;  // The worker came back with what it ran before a restart.
    }
  }
  return limited;
}

}  // namespace penstock::simulation
