// SupervisorCore: in which of its pools a job is tried next, and on which workers it may be at all. What a turn is:
// supervisor/policy/pool_choice.hpp. Spec: policy-runai 7, 10.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// By preference: its own, or its project's, or the one that takes the rest. What is not known any more counts as not
/// said.
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

/// Its turn under the configuration in force. What borrows from another job runs where that has its outputs, and cannot
/// be tried elsewhere: such a job is in the first of its pools only. Where its pool is still one of its list it stays
/// there. REQUIRES: the job has shares.
void SupervisorCore::open_pools(Job& job) const {
  JobShares& shares = *job.shares;
  const bool is_new = shares.pool_name.empty();
  const std::int64_t before = is_new ? -1 : find_pool(policy_.config, shares.pool_name);
  std::vector<std::uint32_t> pools = pools_of(job.spec.policy);
  if (!job.shape->loans().empty()) pools.resize(1);
  shares.turn = policy::PoolTurn{std::move(pools), before < 0 ? kAnyPool : static_cast<std::uint32_t>(before)};
  shares.tried.assign(shares.turn.pools().size(), "");
  shares.pool = shares.turn.pool();
  const std::string& name = policy_.config.pools[shares.pool].name;
  const bool homed = is_new || (name == shares.pool_name && shares.homed_in != kAnyPool);
  shares.homed_in = homed ? shares.pool : kAnyPool;
  shares.pool_name = name;
}

/// Whether the job may be on that band, whatever its subtasks ask for.
bool SupervisorCore::may_use(const Job& job, BandSlot band) const {
  if (job.shares != nullptr && policy_.pool_of_band[band.value()] != job.shares->pool) return false;
  return job.label_limits.empty() || allow(job.label_limits, workers_.worker_of(band).description.labels);
}

/// Before a pass. Who holds anything stays where that is: all of a job, and so of a gang, is in one pool. Pools that
/// could not hold it if they were empty are passed over.
void SupervisorCore::follow_turn(Job& job) {
  JobShares& shares = *job.shares;
  const std::size_t pools = shares.turn.pools().size();
  if (pools == 1 || job.held || job.in_flight > 0) return;
  if (std::any_of(shares.bands.begin(), shares.bands.end(), [](const BandShare& band) { return band.planned > 0; }))
    return;
  for (std::size_t passed_over = 0; passed_over < pools && pass_over(job); ++passed_over) {
  }
  enter_turn(job);
}

/// REQUIRES: it holds nothing.
void SupervisorCore::enter_turn(Job& job) const {
  JobShares& shares = *job.shares;
  if (shares.turn.pool() == shares.pool) return;
  PENSTOCK_COVERAGE_MARK("a job is tried in the next of its pools");
  shares.pool = shares.turn.pool();
  shares.pool_name = policy_.config.pools[shares.pool].name;
  // What became ready meanwhile has its home in the one, what did before in the other.
  shares.homed_in = kAnyPool;
  for (KindShare& share : shares.kinds) {
    share.promised.clear();
    share.bound = false;
    share.misplaced = 0;
  }
}

/// A pool where all of the job could not be if nobody else were.
bool SupervisorCore::pass_over(Job& job) const {
  JobShares& shares = *job.shares;
  if (could_hold(job, shares.turn.pool())) return false;
  shares.tried[shares.turn.index()] = "no band there could hold all of it";
  shares.turn.after_pass(policy::PoolTurn::Outcome::Waits);
  return true;
}

/// What a pass has made of each job's turn. A round through a list is made at once, and begins again with the next
/// period, or with whatever happens before: who waits does so at the head of its list.
void SupervisorCore::note_turns(const PassUnderWay& pass, const policy::Plan& plan) {
  std::vector<JobId> owners;
  std::vector<std::uint32_t> owner_of;
  for (const PassUnderWay::Subject& subject : pass.subjects) {
    if (owners.empty() || owners.back() != subject.job) owners.push_back(subject.job);
    owner_of.push_back(static_cast<std::uint32_t>(owners.size() - 1));
  }
  std::vector<policy::MemberTurn> members;
  members.reserve(pass.members.size());
  for (const PassUnderWay::Member& member : pass.members)
    members.push_back({owner_of[member.subject], member.leaving          ? policy::MemberState::Leaving
                                                 : member.places.empty() ? policy::MemberState::Pending
                                                                         : policy::MemberState::Running});
  const auto outcomes = policy::pool_outcomes(members, std::vector<bool>(owners.size(), false), plan);
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (knows(owners[i]) && jobs_[owners[i].value()]->shares != nullptr)
      note_turn(*jobs_[owners[i].value()], outcomes[i]);
}

void SupervisorCore::note_turn(Job& job, policy::PoolTurn::Outcome outcome) {
  using Outcome = policy::PoolTurn::Outcome;
  JobShares& shares = *job.shares;
  const bool listed = shares.turn.pools().size() > 1;
  if (outcome == Outcome::Placed) {
    if (shares.homed_in != shares.pool) go_home(job);
    if (!listed) return;
    shares.turn = policy::PoolTurn{shares.turn.pools(), shares.pool};
    shares.tried[shares.turn.index()].clear();
    if (std::exchange(shares.pool_kept, shares.pool_name) != shares.pool_name) record_change(job);
  } else if (outcome == Outcome::Sent) {
    shares.turn.after_pass(outcome);
  } else if (outcome == Outcome::Waits && listed && shares.turn.pool() == shares.pool) {
    const KindShare& cpu = shares.kinds[0];
    const std::size_t before = shares.turn.index();
    shares.tried[before] = cpu.hold.empty() ? shares.kinds[1].hold : cpu.hold;
    shares.turn.after_pass(outcome);
    for (std::size_t i = 0; i < shares.tried.size() && pass_over(job); ++i) {
    }
    const std::size_t next = shares.turn.index();
    if (job.in_flight == 0) enter_turn(job);
    for (KindShare& share : shares.kinds)
      if (!share.hold.empty() && !shares.tried[next].empty()) share.hold = shares.tried[next];
    if (next > before) policy_.due = std::min(policy_.due, later(now_, policy_.config.settle));
  }
}

/// What of the job waits on bands where it may not be any more, or nowhere, gets homes where it may.
void SupervisorCore::go_home(Job& job) {
  if (job.held) return;
  if (job.shares != nullptr) job.shares->homed_in = job.shares->pool;
  for (std::uint32_t band = 0; band < job.local_of.size(); ++band)
    if (!workers_[BandSlot{band}].alive || !may_use(job, BandSlot{band})) rehouse(job, BandSlot{band});
  house_homeless(job);
}

/// Workers of before a restart may have work of the job in a pool that was not written down in time.
void SupervisorCore::stay_where_claimed(Job& job) const {
  if (job.shares == nullptr || job.shares->turn.pools().size() == 1) return;
  JobShares& shares = *job.shares;
  const std::vector<std::uint32_t>& pools = shares.turn.pools();
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
  shares.homed_in = shares.pool;  // Nothing is placed yet.
}

/// Those of the configuration in force. What of the job waits where they do not allow it moves.
void SupervisorCore::open_labels(Job& job) {
  std::vector<LabelLimit> limits = label_limits_of(policed() ? policy_.config : PolicyConfig{}, job.spec.policy);
  if (limits == job.label_limits) return;
  job.label_limits = std::move(limits);
  if (job.shape != nullptr) go_home(job);
}

/// What the bands have where the job may be; `all`: what the bands of its pool have.
std::uint64_t SupervisorCore::capacity_for(const Job& job, BandKind kind, std::uint64_t all) const {
  if (job.label_limits.empty()) return all;
  std::uint64_t capacity = 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && band.kind == kind && may_use(job, BandSlot{i}))
      capacity += std::uint64_t{band.slots} * 1000;
  return capacity;
}

/// Of those that the pass sees, by labels, and where the job has no homes yet also by what its subtasks ask for. Empty:
/// any will do; `kNone`: none will.
std::vector<std::uint32_t> SupervisorCore::bands_allowed(const Job& job, BandKind kind) const {
  const bool homed = job.shares->homed_in == job.shares->pool;
  if (homed && job.label_limits.empty()) return {};
  const std::vector<Template>& templates = job.shape->graph().templates;
  std::vector<std::uint32_t> allowed;
  std::size_t all = 0;
  const std::vector<BandSlot>& seen = policy_.pass->bands;
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    const BandEntry& band = workers_[seen[i]];
    if (band.kind != kind || policy_.pool_of_band[seen[i].value()] != job.shares->pool) continue;
    ++all;
    const auto has_it = [&](const Template& wanted) { return is_eligible(wanted, band); };
    if (may_use(job, seen[i]) && (homed || std::any_of(templates.begin(), templates.end(), has_it)))
      allowed.push_back(i);
  }
  if (allowed.size() == all) return {};
  return allowed.empty() ? std::vector<std::uint32_t>{policy::kNone} : allowed;
}

/// Its list, and what held it in those pools that it is not in. For `explain`.
Value::List SupervisorCore::describe_turns(const Job& job) const {
  Value::List rows;
  const JobShares& shares = *job.shares;
  for (std::size_t i = 0; i < shares.tried.size(); ++i)
    rows.push_back(Value::Record{{"pool", policy_.config.pools[shares.turn.pools()[i]].name},
                                 {"here", shares.turn.pools()[i] == shares.pool},
                                 {"held_by", shares.tried[i]}});
  return rows;
}

}  // namespace penstock::supervisor
