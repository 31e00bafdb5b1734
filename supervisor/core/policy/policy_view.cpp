#include "supervisor/core/policy/policy_view.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

/// The base priority of a kind of workload, where quotas count. Spec: policy-runai 1.
std::int64_t base_priority(const JobPolicy& wishes) {
  switch (wishes.kind) {
    case JobKind::Training: return 50;
    case JobKind::Interactive: return wishes.may_be_preempted() ? 75 : 100;
    case JobKind::Inference: return 125;
  }
  return 50;
}

}  // namespace

bool PolicyView::counts_quotas(std::uint32_t pool) const {
  return parts_in(pool).sharing == policy::Sharing::QuotaTree;
}

bool PolicyView::shares_slots(std::uint32_t pool) const {
  return policy::has_action(parts_in(pool), policy::Action::StartByShare);
}

std::vector<std::uint32_t> PolicyView::pools_of(const JobPolicy& wishes) const {
  const PolicyConfig& config = policy_.config;
  const auto known = [&](const std::vector<std::string>& names) {
    std::vector<std::uint32_t> pools;
    for (const std::string& name : names)
      if (const std::int64_t pool = find_pool(config, name); pool >= 0)
        pools.push_back(static_cast<std::uint32_t>(pool));
    return pools;
  };
  const std::int64_t project = wishes.project.empty() ? -1 : find_project(config, wishes.project);
  std::uint32_t rest = 0;
  while (rest + 1 < config.pools.size() && !config.pools[rest].workers.empty()) ++rest;
  return policy::pools_wanted(
      known(wishes.pools),
      project < 0 ? std::vector<std::uint32_t>{} : known(config.projects[static_cast<std::size_t>(project)].pools),
      rest);
}

PriorityScale PolicyView::scale_of(const JobSpec& spec) const {
  if (!policed()) return {};
  return PriorityScale{policy_.config.pools[pools_of(spec.policy).front()]};
}

void PolicyView::route_light(JobSpec& spec, const GraphShape& shape) const {
  const PolicyConfig& config = policy_.config;
  const auto light =
      std::find_if(config.pools.begin(), config.pools.end(), [](const PoolConfig& pool) { return pool.light; });
  if (light == config.pools.end() || !spec.policy.pools.empty()) return;
  const std::int64_t project = spec.policy.project.empty() ? -1 : find_project(config, spec.policy.project);
  if (project >= 0 && !config.projects[static_cast<std::size_t>(project)].pools.empty()) return;
  const std::vector<Template>& templates = shape.graph().templates;
  const auto takes_a_slot = [](const Template& each) { return each.request.slots >= kOneSlot; };
  if (std::none_of(templates.begin(), templates.end(), takes_a_slot)) spec.policy.pools = {light->name};
}

/// A band of the pool where the job is tried, or one of another pool of a bag, where it has slots.
bool PolicyView::may_use_shared(const Job& job, BandSlot band) const {
  return is_tried_on(job, band) ||
         (job.shares->pool.spreads && job.shares->of(band).planned > 0 && may_hold(job, band));
}

bool PolicyView::labels_allow(const Job& job, BandSlot band) const {
  return allow(job.place.label_limits, workers_.worker_of(band).description);
}

Duration PolicyView::grace_of(const Job& job) const {
  const Duration own = job.spec.grace;
  return own > Duration{0} ? std::min(own, policy_.config.grace_max) : policy_.config.grace;
}

Duration PolicyView::longest_grace_in(std::uint32_t pool) const {
  Duration longest = policy_.config.grace;
  for (const JobId id : indices_.active)
    if (const Job& job = jobs_[id]; job.shares != nullptr && job.shares->pool.position == pool)
      longest = std::max(longest, grace_of(job));
  return longest;
}

std::int64_t PolicyView::precedence_of(const Job& job) const {
  const std::int64_t of_level = std::int64_t{job.shares->rules.rank} << 44U;  // Above all that is added here.
  if (!counts_quotas(job.shares->pool.position)) return of_level + job.spec.priority;
  return of_level + (base_priority(job.spec.policy) << 32U) + job.spec.priority;
}

std::int64_t PolicyView::own_weight(const Job& job) const {
  return job.spec.policy.weight > 0 ? job.spec.policy.weight : 1000;
}

Duration PolicyView::said_time_limit(const Job& job) const {
  if (job.spec.time_limit > Duration{0}) return job.spec.time_limit;
  const QueueConfig* queue =
      job.spec.policy.queue.empty() ? nullptr : find_queue(policy_.config, job.spec.policy.queue);
  return queue == nullptr ? Duration{0} : queue->time_limit;
}

Duration PolicyView::time_limit_of(const Job& job) const {
  const Duration said = said_time_limit(job);
  return said > Duration{0} ? said : policy_.config.pools[job.shares->pool.position].time_limit;
}

bool PolicyView::has_time_limit(const Job& job) const { return said_time_limit(job) > Duration{0}; }

Instant PolicyView::ends_by(const Job& job, Instant holds) const {
  const bool has_run = job.spec.time_limit > Duration{0} && job.status.limit_since != kNever;
  return later(has_run ? job.status.limit_since : holds, time_limit_of(job));
}

Duration PolicyView::min_runtime_of(const Job& job) const {
  for (std::uint32_t at = job.shares->project; at < policy_.tree.parents.size(); at = policy_.tree.parents[at])
    if (const std::optional<Duration>& said = policy_.config.projects[at].preempt_min_runtime) return *said;
  return Duration{0};
}

bool PolicyView::is_shown(const Job& job) const {
  return job.shares != nullptr && !job.status.cancelling && !job.status.waiting_for_disk && !job.status.recovering;
}

std::uint64_t PolicyView::milli_held(const Job& job, BandKind kind, std::uint32_t pool) const {
  std::uint64_t milli = 0;
  if (job.shares == nullptr) return 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind &&
        (pool == kAnyPool || policy_.pool_of_band[i] == pool))
      milli += job.shares->of(BandSlot{i}).planned;
  return milli;
}

bool PolicyView::goes_before(const Job& left, const Job& right) const {
  const auto sum = [](const Job& job) {
    return std::max(job.shares->kinds[0].why.priority, job.shares->kinds[1].why.priority);
  };
  // A criterion that does not count in the pool of a job is the same for all its jobs.
  const auto precedence = [this](const Job& job) {
    return parts_in(job.shares->pool.position).ordering == policy::Ordering::Priority ? precedence_of(job) : 0;
  };
  const auto position = [this](const Job& job) {
    return policy::goes_by_position(parts_in(job.shares->pool.position)) ? job.shares->position : 0;
  };
  if (sum(left) != sum(right)) return sum(left) > sum(right);
  if (precedence(left) != precedence(right)) return precedence(left) > precedence(right);
  return position(left) < position(right);
}

bool PolicyView::is_waiting(const Job& job) {
  const KindShares& kinds = job.shares->kinds;
  return !job.shares->rules.has_run && (kinds[0].demand > 0 || kinds[1].demand > 0);
}

std::int64_t PolicyView::first_position(const Job& job) const {
  if (job.spec.parent.any())
    if (const Job* parent = jobs_.find(job.spec.parent->id.job); parent != nullptr && parent->shares != nullptr)
      return parent->shares->position;
  return (std::int64_t{1} << 40U) + (std::int64_t{job.id.value()} << 20U);
}

std::vector<LabelLimit> PolicyView::limits_of(const JobSpec& spec) const {
  std::vector<LabelLimit> limits = label_limits_of(policed() ? policy_.config : PolicyConfig{}, spec.policy);
  // A limit costs each search for a band a look at its worker.
  if (workers_.some_refuse(spec.owner)) limits.push_back({"it", {}, spec.owner});
  return limits;
}

std::vector<Reach> PolicyView::reaches_of(const JobSpec& spec) const {
  const std::vector<LabelLimit> labels = limits_of(spec);
  if (!policed()) return {Reach{kAnyPool, labels}};
  std::vector<Reach> reaches;
  for (const std::uint32_t pool : pools_of(spec.policy)) reaches.push_back({pool, labels});
  return reaches;
}

bool PolicyView::is_in(const Reach& reach, BandSlot band) const {
  if (reach.pool != kAnyPool && policy_.pool_of_band[band.value()] != reach.pool) return false;
  const Register& worker = workers_.worker_of(band).description;
  if (reach.group && !supervisor::is_in(*reach.group, worker)) return false;
  return reach.labels.empty() || allow(reach.labels, worker);
}

std::vector<WorkerGroup> PolicyView::groups_in(const Reach& reach, const std::string& together) const {
  std::set<WorkerGroup> groups;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && is_in(reach, BandSlot{i}))
      for (WorkerGroup& group : groups_of(workers_.worker_of(BandSlot{i}).description, together))
        groups.insert(std::move(group));
  return {groups.begin(), groups.end()};
}

bool PolicyView::has_workers(const Reach& reach) const {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && is_in(reach, BandSlot{i})) return true;
  return false;
}

std::vector<std::uint32_t> PolicyView::bands_allowed(const Job& job, BandKind kind) const {
  const bool placed = job.shares->pool.placed == job.shares->pool.position;
  const std::vector<Template>& templates = job.graph.shape->graph().templates;
  const GroupChoice& groups = *job.shares->pool.group;
  bool fits_all = placed && job.place.label_limits.empty() && groups.now.empty();
  for (std::uint32_t i = 0; i < templates.size() && fits_all; ++i)
    fits_all = eligibility_.bands_of(job, i).misfits.empty();
  if (fits_all) return {};
  std::vector<std::uint32_t> allowed;
  std::size_t all = 0;
  const std::vector<BandSlot>& seen = policy_.pass->bands;
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    const BandEntry& band = workers_[seen[i]];
    if (band.kind != kind || policy_.pool_of_band[seen[i].value()] != job.shares->pool.position) continue;
    ++all;
    if (!groups.holds(workers_.worker_of(seen[i]).description)) continue;
    const auto has_it = [&](const Template& wanted) { return eligibility_.is_eligible(wanted, band); };
    if (is_tried_on(job, seen[i]) && std::any_of(templates.begin(), templates.end(), has_it)) allowed.push_back(i);
  }
  if (allowed.size() == all) return {};
  return allowed.empty() ? std::vector<std::uint32_t>{policy::kNone} : allowed;
}

std::uint64_t PolicyView::capacity_for(const Job& job, BandKind kind, std::uint64_t all) const {
  if (job.place.label_limits.empty()) return all;
  std::uint64_t capacity = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && band.kind == kind && is_tried_on(job, BandSlot{i}))
      capacity += std::uint64_t{band.slots} * 1000;
  return capacity;
}

bool PolicyView::is_limited(const Job& job, BandKind kind, std::uint32_t pool) const {
  const JobShares& shares = *job.shares;
  if (policy_.contended[pool * kBandKinds + static_cast<std::size_t>(kind)]) return true;
  if (job.spec.policy.slots_max > 0 || job.spec.policy.gang > 0) return true;
  if (job.status.on_hold || !shares.rules.limits.empty()) return true;
  const bool quotas = counts_quotas(pool);
  if (!quotas && !shares_slots(pool)) return false;
  if (quotas && !job.spec.policy.may_be_preempted()) return true;
  for (std::uint32_t at = shares.project; at < policy_.tree.parents.size(); at = policy_.tree.parents[at]) {
    const ProjectConfig& project = policy_.config.projects[at];
    if ((kind == BandKind::Cpu ? project.slots_max : project.gpu_slots_max) != kUnbounded) return true;
    if (quotas && kind == BandKind::Cpu && project.memory_max != kUnboundedBytes) return true;
  }
  return false;
}

}  // namespace penstock::supervisor
