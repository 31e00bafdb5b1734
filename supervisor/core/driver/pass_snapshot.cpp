#include "supervisor/core/driver/pass_snapshot.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/driver/colocation.hpp"
#include "supervisor/core/driver/device_places.hpp"
#include "supervisor/core/driver/gang_parts.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/driver/pool_spread.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/gang_waits.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/charged_user.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/turns.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

policy::WorkloadKind kind_of(JobKind kind) {
  switch (kind) {
    case JobKind::Training: return policy::WorkloadKind::Training;
    case JobKind::Interactive: return policy::WorkloadKind::Interactive;
    case JobKind::Inference: return policy::WorkloadKind::Inference;
  }
  return policy::WorkloadKind::Training;
}

/// Shows the promise for the member that was shown last. A promise with a lost worker, or for another part of a gang,
/// is void.
void show_carried(const std::vector<BandSlot>& bands, const std::vector<PromisedPlace>& promised,
                  std::uint64_t granularity, policy::Snapshot& snapshot) {
  policy::CarriedReservation reservation{static_cast<std::uint32_t>(snapshot.members.size() - 1), {}};
  std::int64_t kept = 0;
  for (const PromisedPlace& place : promised) {
    const auto at = std::lower_bound(bands.begin(), bands.end(), place.band);
    if (at == bands.end() || *at != place.band) continue;
    const auto slots = static_cast<std::int64_t>((place.milli + granularity - 1) / granularity);
    reservation.places.push_back({static_cast<std::uint32_t>(at - bands.begin()), slots});
    kept += slots;
  }
  if (kept == snapshot.members.back().slots) snapshot.carried.push_back(std::move(reservation));
}

/// Takes so much from the first of the places, by whole allocation units on each.
std::vector<PromisedPlace> take_first(std::vector<PromisedPlace>& places, std::uint64_t milli, std::uint64_t unit) {
  std::vector<PromisedPlace> taken;
  for (PromisedPlace& place : places) {
    if (milli == 0) break;
    const std::uint64_t part = place.milli <= milli ? place.milli : (milli + unit - 1) / unit * unit;
    taken.push_back({place.band, std::min(part, place.milli)});
    place.milli -= taken.back().milli;
    milli -= std::min(milli, taken.back().milli);
  }
  std::erase_if(places, [](const PromisedPlace& place) { return place.milli == 0; });
  return taken;
}

/// A part of one slot shares a device with others; a larger request takes whole ones. A rest of an allocation unit
/// comes with all amounts beside a whole allocation unit: rather too much than too little.
void request(policy::Member& member, const AllocationUnit& allocation_unit, std::uint64_t milli) {
  const auto allocation_units = static_cast<std::int64_t>((milli + allocation_unit.milli - 1) / allocation_unit.milli);
  member.request = {allocation_unit.cpu.value() * allocation_units, allocation_unit.memory.value() * allocation_units,
                    0};
  if (milli % 1000 == 0 || milli > 1000) {
    member.request.gpu = static_cast<std::int64_t>((milli + 999) / 1000 * 1000);
  } else {
    member.devices = 1;
    member.device_share = static_cast<std::int64_t>(milli);
  }
}

/// On a band that is too small for a mixture of subtasks the member takes the whole band: see `allocation_unit_of`.
void fit_to(policy::Member& member, const BandEntry& band) {
  const ResourceVector& all = band.description.capacity;
  member.request.cpu = std::min(member.request.cpu, all.cpu.value());
  member.request.memory = std::min(member.request.memory, all.memory.value());
}

/// The band of the promised place of that number; `kNone`: there is none, or it is on several.
std::uint32_t promised_on(const PassUnderWay& pass, const KindShare& share, std::size_t number) {
  if (number >= share.promised.size() || share.promised[number].size() != 1) return policy::kNone;
  const auto at = std::lower_bound(pass.bands.begin(), pass.bands.end(), share.promised[number].front().band);
  const bool is_there = at != pass.bands.end() && *at == share.promised[number].front().band;
  return is_there ? static_cast<std::uint32_t>(at - pass.bands.begin()) : policy::kNone;
}

bool may_use_band(const std::vector<std::uint32_t>& allowed, std::uint32_t band) {
  return allowed.empty() || std::binary_search(allowed.begin(), allowed.end(), band);
}

/// The part of an allocation unit that a band could hold if it were empty: 1 is all of it.
double part_held_by(const BandEntry& band, const AllocationUnit& allocation_unit) {
  const auto part = [](std::int64_t has, std::int64_t needs) {
    return needs > has ? static_cast<double>(has) / static_cast<double>(needs) : 1.0;
  };
  const ResourceVector& all = band.description.capacity;
  return std::min(part(all.cpu.value(), allocation_unit.cpu.value()),
                  part(all.memory.value(), allocation_unit.memory.value()));
}

}  // namespace

policy::Member member_of(const Job& job, const PassUnderWay::Subject& subject, std::uint64_t milli,
                         std::uint64_t granularity, bool preemptible, bool quotas) {
  policy::Member member;
  member.slots = static_cast<std::int64_t>((milli + granularity - 1) / granularity);
  member.preemptible = preemptible;
  member.single_band = !subject.gang || quotas;
  request(member, job.shares->kinds[static_cast<std::size_t>(subject.kind)].allocation_unit, milli);
  member.submitted = job.id.value();
  return member;
}

void PassSnapshot::begin_pass() {
  policy_.pass.emplace();
  PassUnderWay& pass = *policy_.pass;
  pass.number = ++policy_.passes;
  pass.begun = event_.now;
  policy_.agenda.admit(policy_.config.queue_depth, [this](JobId id) {
    const Job& job = jobs_[id];
    return view_.is_shown(job) && !job.status.on_hold && job.tally.in_flight == 0 && !holds_slots(*job.shares);
  });
  usage_.charge_accounts();
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; view_.is_shown(job)) fallbacks_.follow_fallback(job);
  units_.size_allocation_units(pass);
  demand_.count_holdings();
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; view_.is_shown(job)) find_bonds(job);
  colocation_.choose_groups();
  policy::Snapshot snapshot;
  snapshot.now = event_.now;
  snapshot.level_takes = preempting_levels(policy_.config);
  show_bands(pass, snapshot);
  show_owners(pass, snapshot);
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; view_.is_shown(job)) measure_job(job);
  const std::vector<SharedLimit> limits = rules_.apply_limits();
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (!view_.is_shown(job)) continue;
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
      job.shares->pool.spreads ? show_bag(job, kind, snapshot) : show_job(job, kind, snapshot);
  }
  // After all jobs that may start: where there are more members than a pass can hold, none is left out for these.
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; view_.is_shown(job)) keep_places(job, snapshot);
  show_limits(limits, snapshot);
  event_.out->add(supervisor_action::RunPass{pass.number, std::move(snapshot), policy_.parts});
}

void PassSnapshot::show_limits(const std::vector<SharedLimit>& limits, policy::Snapshot& snapshot) const {
  if (limits.empty()) return;
  const PassUnderWay& pass = *policy_.pass;
  std::map<std::pair<std::uint32_t, JobId>, std::uint32_t> workloads;
  for (std::uint32_t i = 0; i < pass.subjects.size(); ++i)
    workloads.try_emplace({pass.subjects[i].domain, pass.subjects[i].job}, i);
  for (const SharedLimit& limit : limits) {
    const std::uint32_t domain = domain_of(limit.pool, limit.kind);
    policy::SlotLimit shown{static_cast<std::int64_t>(limit.milli / pass.domains[domain].granularity), {}};
    for (const JobId job : limit.jobs)
      if (const auto at = workloads.find({domain, job}); at != workloads.end()) shown.workloads.push_back(at->second);
    std::sort(shown.workloads.begin(), shown.workloads.end());
    if (!shown.workloads.empty()) snapshot.slot_limits.push_back(std::move(shown));
  }
}

bool PassSnapshot::shares_by_demand(std::uint32_t pool) const {
  return view_.parts_in(pool).sharing == policy::Sharing::FairShare;
}

void PassSnapshot::find_bonds(Job& job) const {
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
    if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli > 0)
      job.shares->kinds.edit(kind).bound = demand_.is_bound(job, kind);
}

void PassSnapshot::measure_job(Job& job) {
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli == 0) continue;
    KindShare& share = job.shares->kinds.edit(kind);
    const std::uint64_t all = policy_.pass->domains[domain_of(job.shares->pool.position, kind)].capacity;
    std::uint64_t capacity = view_.capacity_for(job, kind, all);
    if (job.shares->pool.spreads)
      capacity += view_.milli_held(job, kind) - view_.milli_held(job, kind, job.shares->pool.position);
    const std::uint64_t before = share.demand + share.beyond;
    share.demand = demand_.measure_demand(job, kind, capacity);
    if (job.shares->pool.spreads || shares_by_demand(job.shares->pool.position))
      share.beyond = demand_.measure_beyond(job, kind, capacity, before);
    if (share.gang.barrier->backs_off_through >= policy_.pass->number) share.demand = 0;
  }
  rules_.leave_admission(job);
}

void PassSnapshot::show_bands(PassUnderWay& pass, policy::Snapshot& snapshot) const {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    policy::Band seen;
    seen.name = to_string(band.id);
    seen.pool = domain_of(policy_.pool_of_band[i], band.kind);
    seen.state = band.draining ? policy::BandState::Draining : policy::BandState::Enabled;
    const DomainView& domain = pass.domains[seen.pool];
    seen.slots = static_cast<std::int64_t>(std::uint64_t{band.slots} * 1000 / domain.granularity);
    seen.capacity.gpu = std::int64_t{band.slots} * 1000;
    const ResourceVector& capacity = band.description.capacity;
    if (domain.by_amount) seen.capacity.cpu = capacity.cpu.value(), seen.capacity.memory = capacity.memory.value();
    seen.device_memory_mib = kDeviceMib;
    snapshot.bands.push_back(std::move(seen));
    pass.bands.push_back(BandSlot{i});
    pass.band_ids.push_back(band.id);
    pass.devices.push_back(devices_of(band, jobs_));
  }
}

void PassSnapshot::show_owners(PassUnderWay& pass, policy::Snapshot& snapshot) const {
  for (std::uint32_t pool = 0; pool < policy_.config.pools.size(); ++pool)
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
      pass.first_projects.push_back(static_cast<std::uint32_t>(snapshot.projects.size()));
      if (!view_.counts_quotas(pool)) continue;
      for (policy::Project& project : projects_in(policy_.config, policy_.tree, pool, kind, pass.first_projects.back()))
        snapshot.projects.push_back(std::move(project));
    }
  AccountTree tree = usage_.accounts_now();
  snapshot.accounts = std::move(tree.accounts);
  pass.charged = std::move(tree.charged);
}

void PassSnapshot::watch_gang(Job& job, BandKind kind, std::vector<PromisedPlace>& held,
                              std::vector<PromisedPlace>& leaving) const {
  KindShare& share = job.shares->kinds.edit(kind);
  const std::uint64_t all = std::uint64_t{job.spec.policy.gang} * 1000;
  const bool gives_up = aborts_reservation(share, all, held, event_.now, policy_.config.gang_wait);
  if (view_.counts_quotas(job.shares->pool.position) && !held.empty()) {
    share.gang.promised_since = kNever;  // The time of the next promise begins anew.
    return;
  }
  if (gives_up) {
    PENSTOCK_COVERAGE_MARK("a gang gives up the rest of its places");
    leaving.insert(leaving.end(), held.begin(), held.end());
    held.clear();
    if (share.demand < all) share.demand = 0;  // A limit leaves it a part only.
  }
  // The grace is looked up among all jobs, so only where places are promised.
  const Duration grace = share.promised.empty() ? Duration{0} : view_.longest_grace_in(job.shares->pool.position);
  if (gives_promise_back(share, event_.now, policy_.config.gang_wait, grace))
    PENSTOCK_COVERAGE_MARK("a gang gives its promised places back");
}

void PassSnapshot::show_bag(Job& job, BandKind kind, policy::Snapshot& snapshot) {
  JobShares& shares = *job.shares;
  const auto of_kind = static_cast<std::size_t>(kind);
  if (shares.kinds[of_kind].unit_milli == 0) return;
  note_turn(shares.kinds.edit(kind), view_.milli_held(job, kind) > 0, shares.kinds[of_kind].demand > 0, false,
            event_.now, policy_.config.starvation_after, job.tally.counts.succeeded);
  const KindShare all = shares.kinds[of_kind];
  const std::uint32_t tried_in = shares.pool.position;
  const std::vector<std::uint32_t>& pools = shares.pool.fallback.pools();
  const std::vector<std::uint64_t> parts = demand_.divide_by_pool(job, kind);
  const auto at = static_cast<std::size_t>(std::find(pools.begin(), pools.end(), tried_in) - pools.begin());
  const std::uint64_t wants_more = parts[at] - std::min(parts[at], view_.milli_held(job, kind, tried_in));
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (pools[i] == tried_in) continue;
    const DomainView& domain = policy_.pass->domains[domain_of(pools[i], kind)];
    KindShare& share = shares.kinds.edit(kind);
    share.allocation_unit = units_.allocation_unit_of(share, kind, domain, view_.counts_quotas(pools[i]));
    if (!domain.by_amount) share.allocation_unit.cpu = {}, share.allocation_unit.memory = {};
    // The whole demand counts in each pool, or the shares would change with the pool where the job is tried.
    share.demand = parts[i], share.beyond = view_.shares_slots(pools[i]) ? all.beyond + wants_more : 0;
    share.promised.clear();
    shares.pool.position = pools[i];
    show_job(job, kind, snapshot, true);
    shares.kinds.edit(kind) = all;
  }
  shares.pool.position = tried_in;
  KindShare& share = shares.kinds.edit(kind);
  share.demand = parts[at], share.beyond = view_.shares_slots(tried_in) ? all.beyond : 0;
  show_job(job, kind, snapshot);
  share.demand = all.demand, share.beyond = all.beyond;
}

void PassSnapshot::show_job(Job& job, BandKind kind, policy::Snapshot& snapshot, bool holds_only) {
  if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli == 0) return;
  KindShare& share = job.shares->kinds.edit(kind);
  const DomainView& domain = policy_.pass->domains[domain_of(job.shares->pool.position, kind)];
  std::vector<PromisedPlace> leaving;
  std::vector<PromisedPlace> held = demand_.settle_holdings(job, kind, leaving);
  const bool backs_off = share.gang.barrier->backs_off_through >= policy_.pass->number;
  if (!job.shares->pool.spreads)
    note_turn(share, !held.empty(), share.demand > 0, backs_off, event_.now, policy_.config.starvation_after,
              job.tally.counts.succeeded);
  const JobPolicy& wishes = job.spec.policy;
  const bool gang = wishes.gang > 0 && !share.bound;
  if (gang) watch_gang(job, kind, held, leaving);
  // A job that a limit holds has no members, but a priority: jobs are admitted by it.
  const bool is_held = !job.shares->rules.hold.empty() && !holds_only;
  if (share.demand == 0 && held.empty() && leaving.empty() && !is_held) return;
  PassUnderWay& pass = *policy_.pass;
  policy::Workload seen;
  seen.name = to_string(job.id);
  seen.pool = domain_of(job.shares->pool.position, kind);
  if (view_.counts_quotas(job.shares->pool.position))
    seen.project = pass.first_projects[seen.pool] + job.shares->project;
  if (const auto at = pass.charged.find(charged_for(job, policy_.config.accounts)); at != pass.charged.end())
    seen.account = at->second;
  seen.kind = kind_of(wishes.kind);
  seen.preemptible = demand_.may_leave(job, kind);
  seen.priority = view_.precedence_of(job);
  seen.weight = view_.own_weight(job);
  if (view_.shares_slots(job.shares->pool.position))
    seen.share_node = pass.owners.user(policy_.config, policy_.tree, {seen.pool, kind, domain.granularity},
                                       job.shares->project, job.spec.owner, snapshot);
  const auto slots_max = static_cast<std::int64_t>(std::uint64_t{wishes.slots_max} * 1000 / domain.granularity);
  seen.slots_max = wishes.slots_max > 0 ? slots_max : policy::kUnlimited;
  if (!job.shares->rules.cut[static_cast<std::size_t>(kind)])
    seen.beyond = static_cast<std::int64_t>(share.beyond / domain.granularity);
  if (job.shares->pool.spreads && view_.shares_slots(job.shares->pool.position))
    seen.elsewhere = static_cast<std::int64_t>(
        (view_.milli_held(job, kind) - view_.milli_held(job, kind, job.shares->pool.position)) / domain.granularity);
  if (wishes.is_elastic() && gang && view_.shares_slots(job.shares->pool.position))
    seen.core = static_cast<std::int64_t>(std::uint64_t{wishes.gang} * 1000 / domain.granularity);
  seen.position = job.shares->position;
  seen.submitted = job.id.value();
  seen.submitted_at = job.status.submitted;
  seen.quality_factor = job.shares->rules.qos_factor;
  seen.level = job.shares->rules.level;
  seen.rank = job.shares->rules.rank;
  seen.level_factor = job.shares->rules.queue_factor;
  seen.user_factor = job.shares->rules.user_factor;
  const std::uint64_t wanted =
      is_held ? demand_.measure_demand(job, kind, view_.capacity_for(job, kind, domain.capacity)) : share.demand;
  seen.size = static_cast<std::int64_t>(wanted / domain.granularity);
  seen.time_limit = view_.time_limit_of(job);
  seen.limit_is_kept = job.spec.time_limit > Duration{0};
  if (!held.empty()) seen.ends_by = view_.ends_by(job, share.since.holds);
  if (!held.empty()) seen.last_start = share.since.holds;
  if (share.since.waits != kNever) seen.waits_since = share.since.waits;
  if (!held.empty() && view_.shares_slots(job.shares->pool.position))
    seen.protected_until = later(share.since.holds, view_.min_runtime_of(job));
  if (share.gang.incomplete_since != kNever) seen.stale_since = share.gang.incomplete_since;
  const bool together = gang && view_.counts_quotas(job.shares->pool.position);
  if (together) seen.sets = {{"gang", static_cast<std::int64_t>(wishes.gang * 1000ULL / share.allocation_unit.milli)}};
  pass.subjects.push_back({job.id, kind, gang, seen.pool, false, holds_only});
  snapshot.workloads.push_back(std::move(seen));
  show_members(share, held, leaving, snapshot);
}

void PassSnapshot::show_members(KindShare& share, const std::vector<PromisedPlace>& held,
                                const std::vector<PromisedPlace>& leaving, policy::Snapshot& snapshot) {
  PassUnderWay& pass = *policy_.pass;
  const PassUnderWay::Subject subject = pass.subjects.back();
  const bool whole = subject.gang && !view_.counts_quotas(jobs_[subject.job].shares->pool.position);
  std::uint64_t sum = 0;
  for (const PromisedPlace& place : held) sum += place.milli;
  const Job& job = jobs_[subject.job];
  // The first slots of a turn are not taken back.
  bool is_kept = view_.shares_slots(job.shares->pool.position) && !subject.holds_only &&
                 is_in_turn(share, event_.now, policy_.config.starvation_after);
  std::vector<PromisedPlace> singly = held;
  const std::uint64_t least = std::uint64_t{job.spec.policy.gang} * 1000;
  const std::uint64_t together = job.spec.policy.is_elastic() ? std::min(sum, least) : sum;
  const std::vector<PromisedPlace> gang =
      whole ? take_first(singly, together, share.allocation_unit.milli) : std::vector<PromisedPlace>{};
  if (!gang.empty()) {
    show_member(together, gang, policy::MemberState::Running, snapshot);
    for (const PromisedPlace& place : gang)
      if (is_kept || demand_.milli_that_stays(job, place.band) > 0) snapshot.members.back().preemptible = false;
    is_kept = false;
  }
  // Where quotas count, a pass finds another place for a member that it moves. A member that is bound to its band has
  // none.
  const bool moves = view_.counts_quotas(job.shares->pool.position) && !held.empty();
  const std::vector<std::uint32_t> allowed =
      moves && !share.bound ? view_.bands_allowed(job, subject.kind) : std::vector<std::uint32_t>{};
  const std::uint32_t movable_to = pass.band_lists.name(allowed, snapshot);
  const GangParts parts{job, subject.kind, policy_, workers_, allowed, held};
  for (const PromisedPlace& place : singly) {
    const std::uint64_t unit = share.unit_on(workers_[place.band]);
    const std::uint64_t stays = demand_.milli_that_stays(job, place.band);
    for (std::uint64_t shown = 0; shown + unit <= place.milli; shown += unit) {
      show_member(unit, {{place.band, unit}}, policy::MemberState::Running, snapshot);
      policy::Member& member = snapshot.members.back();
      member.single_band = true;
      const bool bound = moves && share.bound;
      member.band_list = bound ? pass.band_lists.name({member.places.front().band}, snapshot) : movable_to;
      if (moves && !share.bound && parts.any())
        member.band_list = pass.band_lists.name(parts.bands_of(member.places.front().band), snapshot);
      if (shown < stays || is_kept) snapshot.members.back().preemptible = false;
      is_kept = false;
    }
  }
  for (const PromisedPlace& place : leaving) show_member(place.milli, {place}, policy::MemberState::Leaving, snapshot);
  if (sum >= share.demand || subject.holds_only) return;
  if (share.bound)
    show_bound_members(share, share.demand - sum, snapshot);
  else
    show_waiting_members(share, held, snapshot);
}

void PassSnapshot::show_member(std::uint64_t milli, std::vector<PromisedPlace> places, policy::MemberState state,
                               policy::Snapshot& snapshot) {
  PassUnderWay& pass = *policy_.pass;
  const PassUnderWay::Subject& subject = pass.subjects.back();
  const Job& job = jobs_[subject.job];
  const std::uint64_t granularity = pass.domains[subject.domain].granularity;
  policy::Member member = member_of(job, subject, milli, granularity, demand_.may_leave(job, subject.kind),
                                    view_.counts_quotas(job.shares->pool.position));
  member.name = to_string(job.id) + "." + std::to_string(snapshot.members.size());
  member.workload = static_cast<std::uint32_t>(pass.subjects.size() - 1);
  member.state = state;
  member.requested = static_cast<std::int64_t>(snapshot.members.size());
  std::uint32_t device = policy::kNone;
  for (const PromisedPlace& place : places) {
    const auto at = std::lower_bound(pass.bands.begin(), pass.bands.end(), place.band);
    const auto band = static_cast<std::uint32_t>(at - pass.bands.begin());
    member.places.push_back({band, static_cast<std::int64_t>((place.milli + granularity - 1) / granularity)});
    fit_to(member, workers_[place.band]);
    if (member.devices == 0) continue;
    member.device_groups = {show_part(pass.devices[band], job, place.band, workers_[place.band], milli)};
    if (pass.devices[band].named) device = member.device_groups.front();
  }
  pass.members.push_back({member.workload, milli, std::move(places), state == policy::MemberState::Leaving, device});
  snapshot.members.push_back(std::move(member));
}

void PassSnapshot::show_waiting_members(const KindShare& share, const std::vector<PromisedPlace>& places,
                                        policy::Snapshot& snapshot) {
  PassUnderWay& pass = *policy_.pass;
  const PassUnderWay::Subject subject = pass.subjects.back();
  const bool quotas = view_.counts_quotas(jobs_[subject.job].shares->pool.position);
  const std::uint64_t granularity = pass.domains[subject.domain].granularity;
  const std::uint64_t least = std::uint64_t{jobs_[subject.job].spec.policy.gang} * 1000;
  std::uint64_t held = 0;
  for (const PromisedPlace& place : places) held += place.milli;
  std::uint64_t missing = share.demand - held;
  const bool whole = subject.gang && !quotas && held < least;
  if (whole && missing > least - held) {  // An elastic gang grows when it has begun.
    snapshot.workloads.back().beyond += static_cast<std::int64_t>((missing - (least - held)) / granularity);
    missing = least - held;
  }
  const std::uint64_t each = whole ? missing : share.allocation_unit.milli;
  const std::vector<std::uint32_t> allowed = view_.bands_allowed(jobs_[subject.job], subject.kind);
  const std::uint32_t band_list = pass.band_lists.name(allowed, snapshot);
  const BandEntry* roomiest = nullptr;
  double most = 0;
  for (std::uint32_t i = 0; i < pass.bands.size(); ++i) {
    const BandEntry& band = workers_[pass.bands[i]];
    const bool in_pool = policy_.pool_of_band[pass.bands[i].value()] == jobs_[subject.job].shares->pool.position;
    if (band.kind != subject.kind || !in_pool || !may_use_band(allowed, i)) continue;
    if (const double part = part_held_by(band, share.allocation_unit); part > most) most = part, roomiest = &band;
  }
  std::size_t promise = 0;
  GangParts parts{jobs_[subject.job], subject.kind, policy_, workers_, allowed, places};
  // A limit may leave a gang less than its groups want.
  const bool in_parts = subject.gang && parts.any() && parts.missing() == missing;
  // The rest of a gang that is moved in part is shown always: it would run without it.
  const bool is_rest = subject.gang && held > 0 && held < least;
  if (snapshot.members.size() >= policy_.config.members_max && !is_rest) return;
  for (; missing > 0; missing -= std::min(missing, each)) {
    // A part of a gang would wait for its rest for ever.
    if (!subject.gang && snapshot.members.size() >= policy_.config.members_max) return;
    show_member(each, {}, policy::MemberState::Pending, snapshot);
    policy::Member& member = snapshot.members.back();
    member.band_list = band_list;
    member.single_band = !whole || member.single_band;
    if (in_parts && whole)
      parts.divide(member, granularity, pass.band_lists, snapshot);
    else if (in_parts)
      member.band_list = pass.band_lists.name(parts.take(each, promised_on(pass, share, promise)), snapshot);
    // A subtask that fits none of them runs alone there: it takes the whole band.
    if (roomiest != nullptr && most < 1) fit_to(snapshot.members.back(), *roomiest);
    if (promise < share.promised.size()) show_carried(pass.bands, share.promised[promise++], granularity, snapshot);
  }
}

void PassSnapshot::show_bound_members(const KindShare& share, std::uint64_t missing, policy::Snapshot& snapshot) {
  PassUnderWay& pass = *policy_.pass;
  const PassUnderWay::Subject subject = pass.subjects.back();
  const Job& job = jobs_[subject.job];
  const std::uint64_t granularity = pass.domains[subject.domain].granularity;
  std::map<BandSlot, std::vector<const std::vector<PromisedPlace>*>> promised;
  for (const std::vector<PromisedPlace>& places : share.promised)
    if (places.size() == 1) promised[places.front().band].push_back(&places);
  for (std::uint32_t i = 0; i < pass.bands.size(); ++i) {
    const BandEntry& band = workers_[pass.bands[i]];
    if (band.kind != subject.kind || !view_.is_tried_on(job, pass.bands[i])) continue;
    const std::uint64_t unit = share.unit_on(band);
    const std::uint64_t wanted = demand_.measure_demand_at(job, pass.bands[i]);
    for (std::uint64_t held = job.shares->of(pass.bands[i]).planned; held < wanted && missing > 0; held += unit) {
      if (snapshot.members.size() >= policy_.config.members_max) return;
      show_member(unit, {}, policy::MemberState::Pending, snapshot);
      snapshot.members.back().band_list = pass.band_lists.name({i}, snapshot);
      fit_to(snapshot.members.back(), band);
      if (const auto at = promised.find(pass.bands[i]); at != promised.end() && !at->second.empty()) {
        show_carried(pass.bands, *at->second.back(), granularity, snapshot);
        at->second.pop_back();
      }
      missing -= std::min(missing, unit);
    }
  }
}

void PassSnapshot::keep_places(Job& job, policy::Snapshot& snapshot) {
  JobShares& shares = *job.shares;
  if (!shares.rules.hold.empty() || shares.pool.fallback.pool() != shares.pool.position) return;
  const std::size_t here = shares.pool.fallback.index();
  const bool waits = job.tally.in_flight == 0 && !holds_slots(shares);
  const KindShares kinds = shares.kinds;
  const std::uint32_t placed_in_pool = std::exchange(shares.pool.placed, kAnyPool);
  for (std::size_t i = 0; i < shares.pool.fallback.pools().size(); ++i) {
    const std::uint32_t pool = shares.pool.fallback.pools()[i];
    const bool keeps = (waits && i < here) || (shares.pool.spreads && i != here && view_.shares_slots(pool));
    if (keeps && feasibility_.could_hold(job, pool)) show_kept_place(job, pool, snapshot);
    shares.kinds = kinds;
  }
  shares.pool.placed = placed_in_pool;
  shares.pool.position = shares.pool.fallback.pool();
}

void PassSnapshot::show_kept_place(Job& job, std::uint32_t pool, policy::Snapshot& snapshot) {
  PassUnderWay& pass = *policy_.pass;
  job.shares->pool.position = pool;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const KindShare& before = job.shares->kinds[static_cast<std::size_t>(kind)];
    if (before.unit_milli == 0 || before.demand == 0) continue;
    const bool spreads = job.shares->pool.spreads;
    if (spreads && view_.milli_held(job, kind, pool) > 0) continue;  // Shown with its slots there.
    KindShare& share = job.shares->kinds.edit(kind);
    const DomainView& domain = pass.domains[domain_of(pool, kind)];
    share.allocation_unit = units_.allocation_unit_of(share, kind, domain, view_.counts_quotas(pool));
    if (job.spec.policy.gang > 0 || !domain.by_amount)
      share.allocation_unit.cpu = {}, share.allocation_unit.memory = {};
    share.bound = false;
    share.promised.clear();
    const std::uint64_t held = spreads ? view_.milli_held(job, kind) : 0;
    const std::uint64_t wanted = wanted_of(*job.shares, static_cast<std::size_t>(kind));
    const std::uint64_t more = wanted - std::min(wanted, held);
    share.demand = std::min(more, demand_.measure_demand(job, kind, view_.capacity_for(job, kind, domain.capacity)));
    if (spreads) share.beyond = more - share.demand;
    const std::size_t at = pass.subjects.size();
    show_job(job, kind, snapshot);
    if (pass.subjects.size() == at) continue;
    pass.subjects[at].keeps_place = snapshot.workloads[at].keeps_place = true;
  }
}

}  // namespace penstock::supervisor
