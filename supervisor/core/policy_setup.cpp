// SupervisorCore: the policy in force, and the place of a job in it.
#include <algorithm>
#include <utility>

#include "common/base/nearest_name.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/policy_differences.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/core/unused_settings.hpp"

namespace penstock::supervisor {
namespace {

template <class Entry>
Error unknown_name(const char* kind, const std::string& name, const std::vector<Entry>& entries) {
  NearestName nearest{name};
  for (const Entry& entry : entries) nearest.offer(entry.name);
  return {ErrorCode::NotFound, std::string{kind} + " '" + name + "'", "is not known",
          nearest.best().empty() ? "`penstock " + std::string{kind} + "s` lists them" : nearest.remedy()};
}

constexpr std::pair<Guarantee, const char*> kGuarantees[] = {
    {Guarantee::Slots, " slots"}, {Guarantee::GpuSlots, " GPU slots"}, {Guarantee::Memory, " bytes of memory"}};

/// The present amount of a guaranteed resource on the bands of a pool.
std::int64_t amount_in(const WorkerTable& workers, const std::vector<std::uint32_t>& pool_of_band, std::uint32_t pool,
                       Guarantee of) {
  const BandKind kind = of == Guarantee::GpuSlots ? BandKind::Gpu : BandKind::Cpu;
  std::int64_t amount = 0;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const BandEntry& band = workers[BandSlot{i}];
    if (!band.alive || band.kind != kind || pool_of_band[i] != pool) continue;
    amount += of == Guarantee::Memory ? band.description.capacity.memory.value() : std::int64_t{band.slots};
  }
  return amount;
}

/// Departments speak for their parts.
std::int64_t guaranteed_together(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                 Guarantee of) {
  const std::vector<std::int64_t> amounts = guarantees_in(config, tree, pool, of);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) sum += config.projects[i].department.empty() ? amounts[i] : 0;
  return sum;
}

/// More than the site lets a job ask for would keep others waiting. Without a policy workers are drained all the same.
Result<void> check_grace(Duration grace, Duration most) {
  if (grace <= most) return {};
  const auto text = [](Duration of) { return decimal_text(std::int64_t{of / std::chrono::milliseconds{1}}) + " s"; };
  return Error{ErrorCode::InvalidArgument, "grace of " + text(grace),
               "is above `policy.grace_max`, which is " + text(most), "ask for less, or have it raised"};
}

}  // namespace

/// The time in which a preempted attempt of the job may save its state. The site may have lowered its limit since.
Duration SupervisorCore::grace_of(const Job& job) const {
  const Duration own = job.spec.policy.grace;
  return own > Duration{0} ? std::min(own, policy_.config.grace_max) : policy_.config.grace;
}

/// The longest grace of preemptible jobs in a pool.
Duration SupervisorCore::longest_grace_in(std::uint32_t pool) const {
  Duration longest = policy_.config.grace;
  for (const JobId id : indices_.active)
    if (const Job& job = jobs_[id]; job.shares != nullptr && job.shares->pool == pool)
      longest = std::max(longest, grace_of(job));
  return longest;
}

/// Checks the owner's names in a job, which must be known. Little is checked without a policy.
Result<void> SupervisorCore::check_policy_of(const JobSpec& spec) const {
  PENSTOCK_TRY(check_labels("job '" + spec.name + "'", spec.policy.labels));
  PENSTOCK_TRY(check_pool_names("job '" + spec.name + "'", spec.policy.pools));
  PENSTOCK_TRY(check_grace(spec.policy.grace, policy_.config.grace_max));
  if (!policed()) return {};
  const PolicyConfig& config = policy_.config;
  const JobPolicy& wishes = spec.policy;
  if (!wishes.project.empty()) {
    const std::int64_t project = find_project(config, wishes.project);
    if (project < 0) return unknown_name("project", wishes.project, config.projects);
    if (config.projects[static_cast<std::size_t>(project)].is_department)
      return Error{ErrorCode::InvalidArgument, "project '" + wishes.project + "'", "is a department",
                   "name one of its projects"};
  }
  if (!wishes.account.empty() && find_account(config, wishes.account) < 0)
    return Error{ErrorCode::NotFound, "account '" + wishes.account + "'", "is not known",
                 "`penstock shares` lists them"};
  for (const std::string& pool : wishes.pools)
    if (find_pool(config, pool) < 0) return unknown_name("pool", pool, config.pools);
  PENSTOCK_TRY(check_one_scale(config, "job '" + spec.name + "'", wishes.pools));
  PENSTOCK_TRY(scale_of(spec).inside_of_new(spec.priority));
  if (wishes.slots_max > 0 && wishes.gang > wishes.slots_max)
    return Error{ErrorCode::InvalidArgument, "gang of " + std::to_string(wishes.gang),
                 "is larger than its own slots_max, which is " + std::to_string(wishes.slots_max), "raise it"};
  return check_rules_of(spec);
}

/// Enters the job into the policy in force. Attempts that it has already are counted again.
void SupervisorCore::open_shares(Job& job) {
  if (!policed() || job.shape == nullptr) return;
  const bool is_new = job.shares == nullptr;
  if (is_new) job.shares = std::make_unique<JobShares>();
  JobShares& shares = *job.shares;
  if (shares.use.any()) accrue(job).started_rate = {};
  const PolicyConfig& config = policy_.config;
  const JobPolicy& wishes = job.spec.policy;
  const std::int64_t project = wishes.project.empty() ? -1 : find_project(config, wishes.project);
  const std::int64_t account = find_account(config, wishes.account.empty() ? job.spec.owner : wishes.account);
  open_pools(job);
  shares.project =
      static_cast<std::uint32_t>(project < 0 ? static_cast<std::int64_t>(config.projects.size()) : project);
  shares.account =
      static_cast<std::uint32_t>(account < 0 ? static_cast<std::int64_t>(config.accounts.size()) : account);
  if (is_new) {
    shares.position = first_position(job.id);
    policy_.agenda.enter(job.id, job.spec.priority, likeness_of(job), policy_.config.queue_depth);
  }
  open_rules(job);
  shares.kinds.visit_own([](KindShare& share) {
    KindShare fresh;
    fresh.holds_since = share.holds_since;
    fresh.incomplete_since = share.incomplete_since;
    fresh.barrier = std::move(share.barrier);
    share = std::move(fresh);
  });
  // Of a hundred thousand equal jobs nearly all wait where no pass reads them: their demand is stored once.
  KindShares* alike = is_new && job.larger_templates->empty() ? policy_.agenda.wanted_alike(job.id) : nullptr;
  if (alike != nullptr) shares.kinds = *alike;
  measure_requests(job);
  if (alike != nullptr) *alike = shares.kinds;
  // The entitlements that workers have stay in force until they get others.
  const std::vector<BandShare> before = std::exchange(shares.bands, {});
  if (!before.empty() || job.in_flight > 0) shares.bands.resize(workers_.band_slots());
  shares.short_bands = {};
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    if (!workers_[WorkerSlot{i}].alive || i >= job.known_of.size() || (job.known_of[i] & Job::kHeardOf) == 0) continue;
    for (const BandSlot band : workers_[WorkerSlot{i}].bands)
      shares.at(band).entitled = is_new                         ? MilliSlots::max()
                                 : band.value() < before.size() ? before[band.value()].entitled
                                                                : MilliSlots{0};
  }
  // The last plan stays in force until the next one; where the job may not be any more it has ended.
  for (std::uint32_t i = 0; i < before.size() && i < workers_.band_slots(); ++i) {
    if (!workers_[BandSlot{i}].alive || !may_use(job, BandSlot{i})) continue;
    shares.bands[i].planned = before[i].planned;
    shares.bands[i].claimed = before[i].claimed;
  }
  for (std::uint32_t i = 0; job.in_flight > 0 && i < workers_.band_slots(); ++i)
    for (const AssignedRef& ref : workers_[BandSlot{i}].assigned) {
      if (ref.job != job.id || ref.subtask >= job.total()) continue;
      const SubtaskHot& hot = job.hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt || hot.band != BandSlot{i}) continue;
      BandShare& share = shares.bands[i];
      shares.change(BandSlot{i}, workers_[BandSlot{i}].kind, [&](BandShare& counted) {
        ++counted.in_flight;
        counted.runnable += hot.missing == 0;
      });
      if ((hot.flags & SubtaskFlag::kStarted) == 0) continue;
      ++share.started;
      add(accrue(job).started_rate, rate_of(job, ref.subtask));
    }
  policy_changed();
}

/// Nothing is limited any more.
void SupervisorCore::close_shares(Job& job) {
  if (job.shares == nullptr) return;
  job.shares->kinds.visit_own([](KindShare& share) {
    if (GangBarrier* barrier = share.barrier.if_any()) barrier->end(true);
  });
  for (BandShare& share : job.shares->bands) share.entitled = MilliSlots::max();
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    if (!workers_[WorkerSlot{i}].alive) continue;
    for (const BandSlot band : workers_[WorkerSlot{i}].bands) {
      job.shares->at(band).entitled = MilliSlots::max();
      bands_.mark_dirty(band);
    }
    if (i < job.known_of.size() && (job.known_of[i] & Job::kHeardOf) != 0) send_entitlements(job, WorkerSlot{i});
  }
  leave_policy(job);
}

/// Removes the job from all that policy counts. The job ends, or no policy is in force any more.
void SupervisorCore::leave_policy(Job& job) {
  if (job.shares == nullptr) return;
  policy_.agenda.leave(job.id);
  indices_.limited.remove(job.shares->rules.limits);
  job.shares.reset();
}

void SupervisorCore::note_pools_of(WorkerSlot slot) {
  if (!policed()) return;
  policy_.pool_of_band.resize(workers_.band_slots());
  const std::int64_t pool = pool_of_worker(policy_.config, workers_[slot].description.name);
  for (const BandSlot band : workers_[slot].bands)
    policy_.pool_of_band[band.value()] = static_cast<std::uint32_t>(pool);
  policy_changed();
}

/// Replaces the policy as a whole: a pass under way rests on the old one and is dropped.
void SupervisorCore::set_policy(PolicyConfig config) {
  const std::vector<std::pair<std::string, std::string>> pools = pools_by_name();
  const PolicyConfig before = std::exchange(policy_.config, std::move(config));
  policy_.tree = project_tree(policy_.config);
  policy_.parts = parts_in_force(policy_.config);
  policy_.pass.reset();
  policy_.settings.clear();
  policy_.shares.clear();
  policy_.divisions.clear();
  policy_.contended.assign(policy_.config.pools.size() * kBandKinds, true);
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i)
    if (workers_[WorkerSlot{i}].alive) note_pools_of(WorkerSlot{i});
  for (const JobId id : indices_.active.all()) {
    Job& job = jobs_[id];
    if (policed())
      open_shares(job);
    else
      close_shares(job);
    follow_scale(job);
    open_labels(job);
    enter_waiting_anew(job);
  }
  note_pool_moves(pools);
  policy_.due = kNever;
  policy_changed();
  keep_policy();
}

/// The first position of a job among those of its priority. Far from 0, which means none, and far apart, so that jobs
/// can be moved between others.
std::int64_t SupervisorCore::first_position(JobId job) {
  return (std::int64_t{1} << 40U) + (std::int64_t{job.value()} << 20U);
}

/// Settings in force that are probably not meant, given the present cluster.
std::vector<std::string> SupervisorCore::warnings_of_policy() const {
  std::vector<std::string> warnings = policy_warnings(policy_.config);
  for (std::string& unused : unused_settings(policy_.config)) warnings.push_back(std::move(unused));
  for (std::uint32_t pool = 0; pool < policy_.config.pools.size(); ++pool)
    for (const auto& [of, unit] : kGuarantees) {
      if (!counts_quotas(pool)) continue;
      const std::int64_t all = amount_in(workers_, policy_.pool_of_band, pool, of);
      const std::int64_t sum = guaranteed_together(policy_.config, policy_.tree, pool, of);
      if (sum > all)
        warnings.push_back("pool '" + policy_.config.pools[pool].name + "' has " + std::to_string(all) + unit +
                           " now, and " + std::to_string(sum) + " are guaranteed: first come, first served");
    }
  return warnings;
}

/// Adds the warnings to the answer, and to the log.
void SupervisorCore::add_warnings(Value::Record& answer) {
  Value::List all;
  for (std::string& warning : warnings_of_policy()) {
    all.emplace_back(warning);
    event_.out->add(supervisor_action::Alert{Error{ErrorCode::InvalidArgument, "policy", std::move(warning), {}}});
  }
  if (!all.empty()) answer.emplace_back("warnings", std::move(all));
}

/// The shell has read the configuration again, because a client or a signal wanted it.
void SupervisorCore::on(supervisor_event::PolicyRead& event) {
  Result<Value> result = [&]() -> Result<Value> {
    if (!event.config) return event.config.error();
    if (const auto parts = parts_of(event.config->pools); !parts) return parts.error();
    std::string changes = differences(policy_.config, *event.config);
    set_policy(std::move(event.config).value());
    Value::Record done{{"changed", std::move(changes)},
                       {"pools", static_cast<std::uint64_t>(policy_.config.pools.size())},
                       {"projects", static_cast<std::uint64_t>(policy_.config.projects.size())},
                       {"accounts", static_cast<std::uint64_t>(policy_.config.accounts.size())}};
    add_warnings(done);
    return Value{std::move(done)};
  }();
  audit_.note_order(event.request, result);
  if (!event.client.valid()) {
    if (!result) event_.out->add(supervisor_action::Alert{result.error()});
    return;
  }
  AdminAnswer reply;
  reply.request = event.request.request;
  if (result)
    reply.value = std::move(result).value();
  else
    reply.refusal = result.error();
  send_to_client(event.client, std::move(reply));
}

}  // namespace penstock::supervisor
