// SupervisorCore: the pool of its list in which a job is tried next, and the workers that it may use at all. Pool
// fallback: supervisor/policy/pool_choice.hpp. Spec: policy-runai 7, 10.
#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

void note_tried(JobShares& shares, std::size_t position) {
  TriedPool& tried = shares.tried[position];
  tried.blocked_by = shares.kinds[0].hold.empty() ? shares.kinds[1].hold : shares.kinds[0].hold;
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    const KindShare& share = shares.kinds[kind];
    tried.kinds[kind] = {share.hold, share.waits, share.starts_by};
  }
}

/// The pools and kinds of bands where a member is leaving.
std::vector<bool> domains_being_left(const PassUnderWay& pass, const policy::Plan& plan) {
  std::vector<bool> left(pass.domains.size(), false);
  for (const PassUnderWay::Member& member : pass.members)
    if (member.leaving) left[pass.subjects[member.subject].domain] = true;
  for (const policy::Preemption& each : plan.preemptions)
    left[pass.subjects[pass.members[each.member].subject].domain] = true;
  return left;
}

/// The hold that a job shows is that of the pool where it is tried now. Where it was not tried yet, it shows the hold
/// of the pool before, with that pool's name and without numbers.
void show_hold_in_pool(JobShares& shares, const TriedPool& tried, const std::string& before) {
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    if (shares.kinds[kind].hold.empty()) continue;
    KindShare& share = shares.kinds.edit(kind);
    TriedPool::OfKind now = tried.kinds[kind];
    if (now.hold.empty())
      now.hold = tried.blocked_by.empty() ? "in pool '" + before + "': " + share.hold : tried.blocked_by;
    share.hold = std::move(now.hold);
    share.waits = std::move(now.waits);
    share.starts_by = now.starts_by;
  }
}

}  // namespace

/// By preference: the pools of the job, or of its project, or the default one. An unknown name counts as unset.
std::vector<std::uint32_t> SupervisorCore::pools_of(const JobPolicy& wishes) const {
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

/// All of its pools have the same.
PriorityScale SupervisorCore::scale_of(const JobSpec& spec) const {
  if (!policed()) return {};
  return PriorityScale{policy_.config.pools[pools_of(spec.policy).front()]};
}

/// Follows a reload that changes how the pool writes priorities; an operator that has changed the order of jobs has to
/// do so again.
void SupervisorCore::follow_scale(Job& job) {
  const PriorityScale now = scale_of(job.spec);
  if (now == job.scale) return;
  const std::int32_t before = job.spec.priority;
  indices_.active.erase(job.id, before);
  job.spec.priority = now.taken_over(before, std::exchange(job.scale, now));
  indices_.active.insert(job.id, job.spec.priority);
  policy_.agenda.change(job.id, job.spec.priority, likeness_of(job), policy_.config.queue_depth);
  const bool hidden = policy_.agenda.is_hidden(job.id);
  record_change(job);
  if (hidden) policy_.agenda.hide(job.id);
  if (job.spec.priority != before) send_priority(job);
}

/// The job's list of pools under the configuration in force. A job with external inputs runs where these are held, and
/// cannot be tried elsewhere: it is in the first of its pools only. A job stays in its pool if that is still in its
/// list. REQUIRES: the job has shares.
void SupervisorCore::open_pools(Job& job) const {
  JobShares& shares = *job.shares;
  const bool is_new = shares.pool_name.empty();
  const std::int64_t before = is_new ? -1 : find_pool(policy_.config, shares.pool_name);
  std::vector<std::uint32_t> pools = pools_of(job.spec.policy);
  if (!job.shape->external_inputs().empty()) pools.resize(1);
  shares.fallback = policy::PoolFallback{std::move(pools), before < 0 ? kAnyPool : static_cast<std::uint32_t>(before)};
  shares.tried.clear();
  if (shares.fallback.pools().size() > 1) shares.tried.resize(shares.fallback.pools().size());
  shares.pool = shares.fallback.pool();
  const std::string& name = policy_.config.pools[shares.pool].name;
  const bool placed = is_new || (name == shares.pool_name && shares.placed_in_pool != kAnyPool);
  shares.placed_in_pool = placed ? shares.pool : kAnyPool;
  shares.pool_name = name;
}

/// Whether the job may be on that band at all, apart from the requests of its subtasks.
bool SupervisorCore::may_use(const Job& job, BandSlot band) const {
  if (job.shares != nullptr && policy_.pool_of_band[band.value()] != job.shares->pool) return false;
  return job.label_limits.empty() || allow(job.label_limits, workers_.worker_of(band).description.labels);
}

/// Before a pass. A job that holds anything stays in its pool: all of a job, and so of a gang, is in one pool. Pools
/// that could not hold it if they were empty are passed over.
void SupervisorCore::follow_fallback(Job& job) {
  JobShares& shares = *job.shares;
  const std::size_t pools = shares.fallback.pools().size();
  if (pools == 1 || job.recovering || job.in_flight > 0 || holds_slots(shares)) return;
  for (std::size_t passed_over = 0; passed_over < pools && pass_over(job); ++passed_over) {
  }
  enter_fallback_pool(job);
}

/// REQUIRES: it holds nothing.
void SupervisorCore::enter_fallback_pool(Job& job) const {
  JobShares& shares = *job.shares;
  if (shares.fallback.pool() == shares.pool) return;
  PENSTOCK_COVERAGE_MARK("a job is tried in the next of its pools");
  shares.pool = shares.fallback.pool();
  shares.pool_name = policy_.config.pools[shares.pool].name;
  // Subtasks that have become ready meanwhile have their tentative bands in one pool, earlier ones in the other.
  shares.placed_in_pool = kAnyPool;
  shares.kinds.visit_own([](KindShare& share) {
    share.promised.clear();
    share.bound = false;
    share.misplaced = 0;
  });
}

/// Passes over a pool that could not hold all of the job if no other job were there.
bool SupervisorCore::pass_over(Job& job) const {
  JobShares& shares = *job.shares;
  if (could_hold(job, shares.fallback.pool())) return false;
  shares.tried[shares.fallback.index()] = {"no band there could hold all of it", {}};
  shares.fallback.after_pass(policy::PoolFallback::Outcome::Waits);
  return true;
}

/// Moves each job in its list by the result of a pass. A round through a list is made at once, and begins again with
/// the next period or an earlier event: a waiting job begins at the head of its list.
void SupervisorCore::note_fallbacks(const PassUnderWay& pass, const policy::Plan& plan) {
  std::vector<JobId> owners;
  for (const PassUnderWay::Subject& subject : pass.subjects) owners.push_back(subject.job);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  std::vector<std::uint32_t> owner_of;
  for (const PassUnderWay::Subject& subject : pass.subjects)
    owner_of.push_back(
        static_cast<std::uint32_t>(std::lower_bound(owners.begin(), owners.end(), subject.job) - owners.begin()));
  std::vector<policy::MemberOutcome> members;
  members.reserve(pass.members.size());
  for (const PassUnderWay::Member& member : pass.members) {
    using State = policy::MemberState;
    const State state = member.leaving ? State::Leaving : member.places.empty() ? State::Pending : State::Running;
    // A member that only keeps a place says nothing about the fallback.
    members.push_back({owner_of[member.subject], pass.subjects[member.subject].keeps_place ? State::Succeeded : state});
  }
  const auto outcomes = policy::pool_outcomes(members, std::vector<bool>(owners.size(), false), plan);
  std::vector<std::uint32_t> room_in(owners.size(), kAnyPool);
  // A job's kept places are shown in the order of its list: of several with room the first is the one it likes best.
  std::vector<std::uint32_t> best_kept(owners.size(), policy::kNone);
  for (const policy::Reservation& each : plan.reservations) {
    const std::uint32_t at = pass.members[each.member].subject;
    const PassUnderWay::Subject& subject = pass.subjects[at];
    std::uint32_t& best = best_kept[owner_of[at]];
    if (!subject.keeps_place || each.starts_by > pass.begun || at >= best) continue;
    best = at;
    room_in[owner_of[at]] = subject.domain / static_cast<std::uint32_t>(kBandKinds);
  }
  const std::vector<bool> being_left = domains_being_left(pass, plan);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (!jobs_.knows(owners[i]) || jobs_[owners[i]].shares == nullptr) continue;
    Job& job = jobs_[owners[i]];
    // Fair share takes slots back for no particular job. If the jobs that are below their share went on to the next
    // pool meanwhile, the leaving jobs would take the slots again, and so for ever.
    bool is_due = false;
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
      is_due = is_due || (job.shares->kinds[static_cast<std::size_t>(kind)].target > 0 &&
                          being_left[domain_of(job.shares->pool, kind)]);
    if (outcomes[i] == policy::PoolFallback::Outcome::Waits && is_due && room_in[i] == kAnyPool) continue;
    note_fallback(job, outcomes[i], room_in[i]);
  }
  // A job that may run nowhere in its pool wants nothing there, and so no pass has seen it.
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.unschedulable.empty() || job.shares == nullptr || job.shares->fallback.pools().size() == 1) continue;
    if (job.recovering || job.in_flight > 0 || holds_slots(*job.shares) || !job.shares->rules.hold.empty()) continue;
    if (std::binary_search(owners.begin(), owners.end(), id)) continue;
    PENSTOCK_COVERAGE_MARK("a job that may run nowhere in its pool is tried in the next");
    note_fallback(job, policy::PoolFallback::Outcome::Waits, kAnyPool);
  }
}

/// `room_in`: one of its pools where there is room in the place that it has kept there.
void SupervisorCore::note_fallback(Job& job, policy::PoolFallback::Outcome outcome, std::uint32_t room_in) {
  using Outcome = policy::PoolFallback::Outcome;
  JobShares& shares = *job.shares;
  const bool listed = shares.fallback.pools().size() > 1;
  if (outcome == Outcome::Placed) {
    if (shares.placed_in_pool != shares.pool) place_in_pool(job);
    if (!listed) return;
    shares.fallback = policy::PoolFallback{shares.fallback.pools(), shares.pool};
    shares.tried[shares.fallback.index()] = {};
    if (*shares.pool_kept == shares.pool_name) return;
    shares.pool_kept.edit() = shares.pool_name;
    record_change(job);
  } else if (outcome == Outcome::Sent) {
    shares.fallback.after_pass(outcome);
  } else if (outcome == Outcome::Waits && listed && shares.fallback.pool() == shares.pool) {
    const std::size_t before = shares.fallback.index();
    note_tried(shares, before);
    shares.fallback.after_pass(outcome);
    if (room_in != kAnyPool) shares.fallback = policy::PoolFallback{shares.fallback.pools(), room_in};
    for (std::size_t i = 0; i < shares.tried.size() && pass_over(job); ++i) {
    }
    const std::size_t next = shares.fallback.index();
    if (job.in_flight == 0) enter_fallback_pool(job);
    if (next != before)
      show_hold_in_pool(shares, shares.tried[next], policy_.config.pools[shares.fallback.pools()[before]].name);
    // Known room is not left idle for a period: a pass there uses it.
    if (next > before || room_in != kAnyPool)
      policy_.due = std::min(policy_.due, later(event_.now, policy_.config.settle));
  }
}

/// A job that is tried in one of its pools has been tried in the ones that it prefers, and waits there as well: others
/// get neither the place of its start there, nor its share, nor a start that would delay its reserved one.
void SupervisorCore::keep_places(Job& job, std::int64_t weights, policy::Snapshot& snapshot) {
  JobShares& shares = *job.shares;
  const std::size_t here = shares.fallback.index();
  if (here == 0 || shares.fallback.pool() != shares.pool || job.in_flight > 0 || holds_slots(shares)) return;
  if (!shares.rules.hold.empty()) return;
  const KindShares kinds = shares.kinds;
  const std::uint32_t placed_in_pool = std::exchange(shares.placed_in_pool, kAnyPool);
  for (std::size_t i = 0; i < here; ++i) {
    if (could_hold(job, shares.fallback.pools()[i]))
      show_kept_place(job, shares.fallback.pools()[i], weights, snapshot);
    shares.kinds = kinds;
  }
  shares.placed_in_pool = placed_in_pool;
  shares.pool = shares.fallback.pool();
}

void SupervisorCore::show_kept_place(Job& job, std::uint32_t pool, std::int64_t weights, policy::Snapshot& snapshot) {
  PassUnderWay& pass = *policy_.pass;
  job.shares->pool = pool;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const KindShare& before = job.shares->kinds[static_cast<std::size_t>(kind)];
    if (before.unit_milli == 0 || before.demand == 0) continue;
    KindShare& share = job.shares->kinds.edit(kind);
    const DomainView& domain = pass.domains[domain_of(pool, kind)];
    share.allocation_unit = allocation_unit_of(share, kind, domain, counts_quotas(pool));
    if (job.spec.policy.gang > 0 || !domain.by_amount)
      share.allocation_unit.cpu = {}, share.allocation_unit.memory = {};
    share.bound = false;
    share.promised.clear();
    share.demand = std::min(share.demand, measure_demand(job, kind, capacity_for(job, kind, domain.capacity)));
    const std::size_t at = pass.subjects.size();
    show_job(job, kind, weights, snapshot);
    if (pass.subjects.size() == at) continue;
    pass.subjects[at].keeps_place = snapshot.workloads[at].keeps_place = true;
  }
}

/// Waiting subtasks of the job on bands that it may not use any more, or without a band, are placed again.
void SupervisorCore::place_in_pool(Job& job) {
  if (job.recovering) return;
  if (job.shares != nullptr) job.shares->placed_in_pool = job.shares->pool;
  for (std::uint32_t band = job.first_local; band < job.locals_end(); ++band)
    if (!workers_[BandSlot{band}].alive || !may_use(job, BandSlot{band})) place_again(job, BandSlot{band});
  place_unschedulable(job);
}

/// Workers of before a restart may have work of the job in a pool that was not written down in time.
void SupervisorCore::stay_where_claimed(Job& job) const {
  if (job.shares == nullptr || job.shares->fallback.pools().size() == 1) return;
  JobShares& shares = *job.shares;
  const std::vector<std::uint32_t>& pools = shares.fallback.pools();
  std::uint32_t claimed = kAnyPool;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers_.band_slots(); ++i) {
    if (!workers_[BandSlot{i}].alive || shares.bands[i].in_flight == 0) continue;
    if (policy_.pool_of_band[i] == shares.pool) return;
    if (std::find(pools.begin(), pools.end(), policy_.pool_of_band[i]) != pools.end())
      claimed = policy_.pool_of_band[i];
  }
  if (claimed == kAnyPool) return;
  PENSTOCK_COVERAGE_MARK("a job stays in the pool where its work was claimed");
  shares.pool_name = policy_.config.pools[claimed].name;
  open_pools(job);
  shares.placed_in_pool = shares.pool;  // Nothing is placed yet.
}

/// Whether work that is claimed late belongs to a job that has gone on in another of its pools: all of a job is in one.
/// A job that holds nothing goes to the pool of its work. For work claimed in time: `stay_where_claimed`.
bool SupervisorCore::goes_on_elsewhere(Job& job, WorkerSlot slot) {
  if (job.recovering || job.shares == nullptr || job.shares->fallback.pools().size() == 1) return false;
  JobShares& shares = *job.shares;
  const std::uint32_t pool = policy_.pool_of_band[workers_[slot].bands.front().value()];
  if (pool == shares.pool) return false;
  const std::vector<std::uint32_t>& pools = shares.fallback.pools();
  const bool holds = job.in_flight > 0 || holds_slots(shares);
  if (!holds && std::find(pools.begin(), pools.end(), pool) != pools.end()) {
    PENSTOCK_COVERAGE_MARK("a job goes where its work is claimed late");
    shares.fallback = policy::PoolFallback{pools, pool};
    enter_fallback_pool(job);
    return false;
  }
  PENSTOCK_COVERAGE_MARK("work is claimed late in a pool that its job has left");
  audit_.note_decision(
      "fence " + to_string(job.id),
      workers_[slot].description.name + " came back too late: the job goes on in pool '" + shares.pool_name + "'");
  return true;
}

/// A subtask that must not run twice may have begun: it is left to end, and policy takes its slots back like any
/// others.
bool SupervisorCore::must_end_there(const Job& job, const ClaimedAttempt& claim) {
  const bool runs = claim.stage == ClaimedStage::Running && claim.subtask.value() < job.total();
  return runs && !job.shape->template_of(claim.subtask.value()).retryable;
}

/// Takes the label limits of the configuration in force. Waiting subtasks on workers that these bar are placed again.
void SupervisorCore::open_labels(Job& job) {
  std::vector<LabelLimit> limits = label_limits_of(policed() ? policy_.config : PolicyConfig{}, job.spec.policy);
  if (limits == job.label_limits) return;
  job.label_limits = std::move(limits);
  if (job.shape != nullptr) place_in_pool(job);
}

/// The capacity of the bands that the job may use; `all`: that of all bands of its pool.
std::uint64_t SupervisorCore::capacity_for(const Job& job, BandKind kind, std::uint64_t all) const {
  if (job.label_limits.empty()) return all;
  std::uint64_t capacity = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && band.kind == kind && may_use(job, BandSlot{i}))
      capacity += std::uint64_t{band.slots} * 1000;
  return capacity;
}

/// Positions of the pass's bands that the job may use, by labels, and for a job without tentative bands also by the
/// requests of its subtasks. Empty: any; `kNone`: none.
std::vector<std::uint32_t> SupervisorCore::bands_allowed(const Job& job, BandKind kind) const {
  const bool placed = job.shares->placed_in_pool == job.shares->pool;
  if (placed && job.label_limits.empty()) return {};
  const std::vector<Template>& templates = job.shape->graph().templates;
  std::vector<std::uint32_t> allowed;
  std::size_t all = 0;
  const std::vector<BandSlot>& seen = policy_.pass->bands;
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    const BandEntry& band = workers_[seen[i]];
    if (band.kind != kind || policy_.pool_of_band[seen[i].value()] != job.shares->pool) continue;
    ++all;
    const auto has_it = [&](const Template& wanted) { return eligibility_.is_eligible(wanted, band); };
    if (may_use(job, seen[i]) && (placed || std::any_of(templates.begin(), templates.end(), has_it)))
      allowed.push_back(i);
  }
  if (allowed.size() == all) return {};
  return allowed.empty() ? std::vector<std::uint32_t>{policy::kNone} : allowed;
}

/// The job's list of pools, with the rule that held it in each other pool. For `explain`.
Value::List SupervisorCore::describe_fallback(const Job& job) const {
  Value::List rows;
  const JobShares& shares = *job.shares;
  for (std::size_t i = 0; i < shares.fallback.pools().size(); ++i)
    rows.push_back(Value::Record{{"pool", policy_.config.pools[shares.fallback.pools()[i]].name},
                                 {"here", shares.fallback.pools()[i] == shares.pool},
                                 {"held_by", i < shares.tried.size() ? shares.tried[i].blocked_by : ""}});
  return rows;
}

}  // namespace penstock::supervisor
