#include "supervisor/core/admin/cluster_metrics.hpp"

#include <algorithm>

#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"

namespace penstock::supervisor {

ClusterMetrics ClusterSample::take(std::size_t jobs_max) const {
  ClusterMetrics seen;
  seen.passes_begun = policy_.passes;
  seen.passes_given_up = policy_.given_up;
  seen.preempted_for = policy_.preempted_for;
  seen.barriers = policy_.barriers;
  seen.barriers_opened = policy_.barriers_opened;
  seen.barriers_given_up = policy_.barriers_given_up;
  count_workers(seen);
  count_bands(seen);
  count_jobs(seen, jobs_max);
  return seen;
}

void ClusterSample::count_workers(ClusterMetrics& seen) const {
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    ++(worker.suspected ? seen.workers_suspected : worker.draining ? seen.workers_draining : seen.workers_ready);
  }
}

PoolMetrics& ClusterSample::pool_row(ClusterMetrics& seen, std::uint32_t pool, BandKind kind) const {
  const std::vector<PoolConfig>& pools = policy_.config.pools;
  const std::string name = pool >= pools.size() ? "" : pool < kPoolsMax ? pools[pool].name : BusyTimes::kOther;
  const auto known = std::find_if(seen.pools.begin(), seen.pools.end(),
                                  [&](const PoolMetrics& each) { return each.pool == name && each.kind == kind; });
  if (known != seen.pools.end()) return *known;
  PoolMetrics& row = seen.pools.emplace_back();
  row.pool = name;
  row.kind = kind;
  return row;
}

void ClusterSample::count_bands(ClusterMetrics& seen) const {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    const std::uint32_t pool = i < policy_.pool_of_band.size() ? policy_.pool_of_band[i] : kAnyPool;
    PoolMetrics& row = pool_row(seen, pool, band.kind);
    const std::size_t domain = domain_of(pool, band.kind);
    ++row.bands;
    row.slots += band.slots;
    row.running += band.load.running;
    row.yielded += band.load.yielded;
    row.ready += band.load.ready;
    row.preparing += band.load.queued + band.load.preparing;
    row.cached += band.load.cached;
    row.assigned += band.in_flight;
    row.kept += band.ready_here;
    row.contended |= pool != kAnyPool && domain < policy_.contended.size() && policy_.contended[domain];
  }
}

void ClusterSample::count_jobs(ClusterMetrics& seen, std::size_t jobs_max) const {
  seen.jobs_active = indices_.active.size();
  seen.jobs_unplaceable = indices_.with_unschedulable.size();
  const std::vector<ProjectConfig>& projects = policy_.config.projects;
  std::vector<ProjectMetrics> rows(std::min(projects.size(), kProjectsMax) + 2);  // And of the others, and of none.
  const std::size_t none = rows.size() - 1;
  for (std::size_t i = 0; i + 2 < rows.size(); ++i) rows[i].project = projects[i].name;
  rows[none - 1].project = BusyTimes::kOther;
  std::size_t looked_at = 0;
  for (const JobId id : indices_.active) {
    if (looked_at == jobs_max) break;
    ++looked_at;
    const Job& job = jobs_[id];
    const bool waits = job.tally.in_flight == 0;
    seen.jobs_on_hold += job.status.on_hold;
    seen.jobs_waiting += waits;
    const std::size_t project = job.shares == nullptr ? projects.size() : job.shares->project;
    ProjectMetrics& row = rows[project >= projects.size() ? none : std::min(project, none - 1)];
    ++row.jobs;
    row.waiting_jobs += waits;
    if (job.shares == nullptr) continue;
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
      row.wanted_milli += share.demand;
      if (share.unit_milli > 0) ++pool_row(seen, job.shares->pool.position, kind).jobs;
    }
  }
  seen.jobs_not_seen = seen.jobs_active - looked_at;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].jobs > 0 || i + 2 < rows.size()) seen.projects.push_back(std::move(rows[i]));
}

}  // namespace penstock::supervisor
