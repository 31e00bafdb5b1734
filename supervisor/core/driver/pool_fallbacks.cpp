#include "supervisor/core/driver/pool_fallbacks.hpp"

#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/driver/pool_spread.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/audit_log.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

void note_tried(JobShares& shares, std::size_t position) {
  TriedPool& tried = shares.pool.tried[position];
  tried.blocked_by = shares.kinds[0].why.hold.empty() ? shares.kinds[1].why.hold : shares.kinds[0].why.hold;
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    const KindShare& share = shares.kinds[kind];
    tried.kinds[kind] = {share.why.hold, share.why.waits, share.why.starts_by};
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
    if (shares.kinds[kind].why.hold.empty()) continue;
    KindShare& share = shares.kinds.edit(kind);
    TriedPool::OfKind now = tried.kinds[kind];
    if (now.hold.empty())
      now.hold = tried.blocked_by.empty() ? "in pool '" + before + "': " + share.why.hold : tried.blocked_by;
    share.why.hold = std::move(now.hold);
    share.why.waits = std::move(now.waits);
    share.why.starts_by = now.starts_by;
  }
}

}  // namespace

void PoolFallbacks::open_pools(Job& job) const {
  JobShares& shares = *job.shares;
  const bool is_new = shares.pool.name.empty();
  const std::int64_t before = is_new ? -1 : find_pool(policy_.config, shares.pool.name);
  std::vector<std::uint32_t> pools = view_.pools_of(job.spec.policy);
  if (!job.graph.shape->external_inputs().empty()) pools.resize(1);
  shares.pool.fallback =
      policy::PoolFallback{std::move(pools), before < 0 ? kAnyPool : static_cast<std::uint32_t>(before)};
  shares.pool.spreads = is_bag(job) && shares.pool.fallback.pools().size() > 1;
  shares.pool.tried.clear();
  if (shares.pool.fallback.pools().size() > 1) shares.pool.tried.resize(shares.pool.fallback.pools().size());
  shares.pool.position = shares.pool.fallback.pool();
  const std::string& name = policy_.config.pools[shares.pool.position].name;
  const bool placed = is_new || (name == shares.pool.name && shares.pool.placed != kAnyPool);
  shares.pool.placed = placed ? shares.pool.position : kAnyPool;
  shares.pool.name = name;
}

void PoolFallbacks::follow_fallback(Job& job) {
  JobShares& shares = *job.shares;
  const std::size_t pools = shares.pool.fallback.pools().size();
  if (pools == 1 || job.status.recovering) return;
  if (!shares.pool.spreads && (job.tally.in_flight > 0 || holds_slots(shares))) return;
  if (const std::uint32_t pool = pool_of_stranded_work(job, workers_, policy_.pool_of_band); pool != kAnyPool)
    shares.pool.fallback = policy::PoolFallback{shares.pool.fallback.pools(), pool};
  for (std::size_t passed_over = 0; passed_over < pools && pass_over(job); ++passed_over) {
  }
  enter_fallback_pool(job);
}

void PoolFallbacks::enter_fallback_pool(Job& job) const {
  JobShares& shares = *job.shares;
  if (shares.pool.fallback.pool() == shares.pool.position) return;
  PENSTOCK_COVERAGE_MARK("a job is tried in the next of its pools");
  shares.pool.position = shares.pool.fallback.pool();
  shares.pool.name = policy_.config.pools[shares.pool.position].name;
  // Subtasks that have become ready meanwhile have their tentative bands in one pool, earlier ones in the other.
  shares.pool.placed = kAnyPool;
  shares.kinds.visit_own([](KindShare& share) {
    share.promised.clear();
    share.bound = false;
    share.misplaced = 0;
  });
}

bool PoolFallbacks::pass_over(Job& job) const {
  JobShares& shares = *job.shares;
  if (feasibility_.could_hold(job, shares.pool.fallback.pool())) return false;
  shares.pool.tried[shares.pool.fallback.index()] = {"no band there could hold all of it", {}};
  shares.pool.fallback.after_pass(policy::PoolFallback::Outcome::Waits);
  return true;
}

void PoolFallbacks::note_fallbacks(const PassUnderWay& pass, const policy::Plan& plan) {
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
  const std::vector<bool> promised = promised_owners(pass, plan, owner_of, owners.size());
  const std::vector<bool> waits = waiting_owners(pass, plan, owner_of, owners.size());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (!jobs_.knows(owners[i]) || jobs_[owners[i]].shares == nullptr) continue;
    Job& job = jobs_[owners[i]];
    // Fair share takes slots back for no particular job. If the jobs that are below their share went on to the next
    // pool meanwhile, the leaving jobs would take the slots again, and so for ever.
    bool is_due = false;
    for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
      is_due = is_due || (job.shares->kinds[static_cast<std::size_t>(kind)].target > 0 &&
                          being_left[domain_of(job.shares->pool.position, kind)]);
    if (outcomes[i] == policy::PoolFallback::Outcome::Waits && is_due && room_in[i] == kAnyPool) continue;
    note_fallback(job, outcomes[i], room_in[i]);
    const bool goes_on = job.shares->pool.spreads && outcomes[i] == policy::PoolFallback::Outcome::Placed;
    if (!goes_on || is_due || promised[i] || !(waits[i] || wants_more_pools(*job.shares))) continue;
    PENSTOCK_COVERAGE_MARK("a bag that holds slots is tried for more in the next of its pools");
    note_fallback(job, policy::PoolFallback::Outcome::Waits, kAnyPool);
  }
  // A job that may run nowhere in its pool wants nothing there, and so no pass has seen it.
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.place.unschedulable.empty() || job.shares == nullptr || job.shares->pool.fallback.pools().size() == 1)
      continue;
    if (job.status.recovering || job.tally.in_flight > 0 || holds_slots(*job.shares) || !job.shares->rules.hold.empty())
      continue;
    if (std::binary_search(owners.begin(), owners.end(), id)) continue;
    PENSTOCK_COVERAGE_MARK("a job that may run nowhere in its pool is tried in the next");
    note_fallback(job, policy::PoolFallback::Outcome::Waits, kAnyPool);
  }
}

void PoolFallbacks::note_fallback(Job& job, policy::PoolFallback::Outcome outcome, std::uint32_t room_in) {
  using Outcome = policy::PoolFallback::Outcome;
  JobShares& shares = *job.shares;
  const bool listed = shares.pool.fallback.pools().size() > 1;
  if (outcome == Outcome::Placed) {
    // Work that has failed somewhere is pulled by no other band: it is placed anew. Where a bag has lost its slots in
    // another pool, its work leaves.
    if (shares.pool.placed != shares.pool.position)
      placer_.place_in_pool(job, shares.pool.spreads && !job.extras.histories->empty());
    else if (shares.pool.spreads)
      placer_.leave_lost_bands(job);
    if (!listed) return;
    shares.pool.fallback = policy::PoolFallback{shares.pool.fallback.pools(), shares.pool.position};
    if (is_in(job, shares.pool.position)) shares.pool.tried[shares.pool.fallback.index()] = {};
    if (*shares.pool.kept_name == shares.pool.name || (shares.pool.spreads && !shares.pool.kept_name->empty())) return;
    shares.pool.kept_name.edit() = shares.pool.name;
    records_.record_change(job);
  } else if (outcome == Outcome::Sent) {
    shares.pool.fallback.after_pass(outcome);
  } else if (outcome == Outcome::Waits && listed && shares.pool.fallback.pool() == shares.pool.position) {
    const std::size_t before = shares.pool.fallback.index();
    note_tried(shares, before);
    shares.pool.fallback.after_pass(outcome);
    if (room_in != kAnyPool) shares.pool.fallback = policy::PoolFallback{shares.pool.fallback.pools(), room_in};
    for (std::size_t i = 0; i < shares.pool.tried.size() && pass_over(job); ++i) {
    }
    const std::size_t next = shares.pool.fallback.index();
    if (job.tally.in_flight == 0) enter_fallback_pool(job);
    if (next != before && !(shares.pool.spreads && holds_slots(shares)))
      show_hold_in_pool(shares, shares.pool.tried[next],
                        policy_.config.pools[shares.pool.fallback.pools()[before]].name);
    // A bag that holds slots goes round without end.
    const bool goes_round = shares.pool.spreads && holds_slots(shares);
    if (!goes_round && (next > before || room_in != kAnyPool)) hurry();
  }
}

void PoolFallbacks::hurry() {
  const Instant soon = later(event_.now, policy_.config.settle);
  if (policy_.due <= soon) return;
  if (event_.now >= later(hurries_since_, policy_.config.period)) hurries_since_ = event_.now, hurries_ = 0;
  if (hurries_ >= policy_.config.pools.size()) return;
  ++hurries_;
  policy_.due = soon;
}

void PoolFallbacks::stay_where_claimed(Job& job) const {
  if (job.shares == nullptr || job.shares->pool.fallback.pools().size() == 1 || job.shares->pool.spreads) return;
  JobShares& shares = *job.shares;
  const std::vector<std::uint32_t>& pools = shares.pool.fallback.pools();
  std::uint32_t claimed = kAnyPool;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers_.band_slots(); ++i) {
    if (!workers_[BandSlot{i}].alive || shares.bands[i].in_flight == 0) continue;
    if (policy_.pool_of_band[i] == shares.pool.position) return;
    if (std::find(pools.begin(), pools.end(), policy_.pool_of_band[i]) != pools.end())
      claimed = policy_.pool_of_band[i];
  }
  if (claimed == kAnyPool) return;
  PENSTOCK_COVERAGE_MARK("a job stays in the pool where its work was claimed");
  shares.pool.name = policy_.config.pools[claimed].name;
  open_pools(job);
  shares.pool.placed = shares.pool.position;  // Nothing is placed yet.
}

bool PoolFallbacks::goes_on_elsewhere(Job& job, WorkerSlot slot) {
  if (job.status.recovering || job.shares == nullptr || job.shares->pool.fallback.pools().size() == 1) return false;
  JobShares& shares = *job.shares;
  const std::uint32_t pool = policy_.pool_of_band[workers_[slot].bands.front().value()];
  if (shares.pool.may_hold_in(pool)) return false;
  const bool holds = job.tally.in_flight > 0 || holds_slots(shares);
  if (!holds && shares.pool.lists(pool)) {
    PENSTOCK_COVERAGE_MARK("a job goes where its work is claimed late");
    shares.pool.fallback = policy::PoolFallback{shares.pool.fallback.pools(), pool};
    enter_fallback_pool(job);
    return false;
  }
  PENSTOCK_COVERAGE_MARK("work is claimed late in a pool that its job has left");
  audit_.note_decision(
      "fence " + to_string(job.id),
      workers_[slot].description.name + " came back too late: the job goes on in pool '" + shares.pool.name + "'");
  return true;
}

bool PoolFallbacks::must_end_there(const Job& job, const ClaimedAttempt& claim) {
  const bool runs = claim.stage == ClaimedStage::Running && claim.subtask.value() < job.total();
  return runs && !job.graph.shape->template_of(claim.subtask.value()).retryable;
}

void PoolFallbacks::open_labels(Job& job) {
  std::vector<LabelLimit> limits = view_.limits_of(job.spec);
  if (limits == job.place.label_limits) return;
  job.place.label_limits = std::move(limits);
  if (job.graph.shape != nullptr) placer_.place_in_pool(job);
}

bool PoolFallbacks::is_in(const Job& job, std::uint32_t pool) const {
  const auto holds_in = [&](std::uint32_t each) {
    return view_.milli_held(job, BandKind::Cpu, each) + view_.milli_held(job, BandKind::Gpu, each) > 0;
  };
  if (!job.shares->pool.spreads || !holds_slots(*job.shares)) return pool == job.shares->pool.position;
  return holds_in(pool);
}

std::string PoolFallbacks::pools_text(const Job& job) const {
  std::string text;
  for (const std::uint32_t pool : job.shares->pool.fallback.pools())
    if (is_in(job, pool)) text += (text.empty() ? "" : ",") + policy_.config.pools[pool].name;
  return text;
}

Value::List PoolFallbacks::describe_fallback(const Job& job) const {
  Value::List rows;
  const JobShares& shares = *job.shares;
  for (std::size_t i = 0; i < shares.pool.fallback.pools().size(); ++i)
    rows.push_back(Value::Record{{"pool", policy_.config.pools[shares.pool.fallback.pools()[i]].name},
                                 {"here", is_in(job, shares.pool.fallback.pools()[i])},
                                 {"held_by", i < shares.pool.tried.size() ? shares.pool.tried[i].blocked_by : ""}});
  return rows;
}

}  // namespace penstock::supervisor
