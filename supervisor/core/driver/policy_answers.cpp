#include "supervisor/core/driver/policy_answers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/quantity.hpp"
#include "common/protocol/job_kind.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/desired_workers.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/driver/pool_spread.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"
#include "supervisor/policy/sharing/account_factor.hpp"

namespace penstock::supervisor {
namespace {

const char* kind_name(std::size_t kind) { return kind == 0 ? "cpu" : "gpu"; }

/// As the first pool has it that orders by the multi-factor sum.
policy::FactorOptions factor_options(const std::vector<policy::Parts>& parts) {
  policy::FactorOptions options;
  const auto own = std::find_if(parts.begin(), parts.end(), [](const policy::Parts& each) {
    return each.ordering == policy::Ordering::Multifactor;
  });
  if (own != parts.end()) options.kind = own->multifactor.factor, options.lambda = own->multifactor.lambda;
  return options;
}

Error no_policy() {
  return {ErrorCode::WrongState, "policy", "none is in force: nothing is limited",
          "configure a [[policy.pool]] and `penstock reload`"};
}

/// Nothing where the parts of the pool do not know it.
Value flag_value(std::optional<bool> flag) { return flag.has_value() ? Value{bool{*flag}} : Value{}; }

/// A pool that goes in another order, or divides in another way, is none of its preset: its parts say what it does.
std::string preset_text(const PoolConfig& pool, const policy::Parts& parts) {
  const Result<policy::Parts> own = policy::preset(pool.preset);
  const bool is_own = own && own->ordering == parts.ordering && own->sharing == parts.sharing;
  return is_own ? pool.preset : "parts";
}

Value limit_value(std::int64_t limit) { return limit == kUnbounded ? Value{} : Value{limit}; }

}  // namespace

/// For what waits in the pool, in workers like the largest of it; null: it has none.
Value PolicyAnswers::workers_wanted(std::uint32_t pool, BandKind kind) const {
  WorkerShape shape;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    if (!workers_[WorkerSlot{i}].alive) continue;
    std::int64_t slots = 0;
    for (const BandSlot band : workers_[WorkerSlot{i}].bands)
      if (workers_[band].kind == kind && policy_.pool_of_band[band.value()] == pool) slots += workers_[band].slots;
    shape.slots = std::max(shape.slots, slots);
  }
  if (shape.slots == 0) return {};
  std::vector<WaitingRequests> waiting;
  for (const JobId id : indices_.active) {
    const Job& job = jobs_[id];
    const auto& share = job.shares == nullptr ? KindShare{} : job.shares->kinds[static_cast<std::size_t>(kind)];
    if (share.unit_milli == 0 || job.shares->pool.position != pool || job.status.on_hold) continue;
    std::uint64_t runnable = job.place.unschedulable.size();
    for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
      if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind)
        runnable += demand_.runnable_for(job, BandSlot{i});
    const std::uint64_t each = std::max<std::uint64_t>(share.allocation_unit.run_milli, 1);
    const std::uint64_t held = view_.milli_held(job, kind) / each;
    if (runnable <= held) continue;
    WaitingRequests& wanted = waiting.emplace_back();
    const auto count = static_cast<std::int64_t>(runnable - held);
    const auto milli = static_cast<std::int64_t>(each);
    if (job.spec.policy.gang > 0)
      wanted.requests = {{std::int64_t{job.spec.policy.gang}, 1}};
    else if (each < 1000)  // Several share a slot.
      wanted.requests = {{1, (count * milli + 999) / 1000}};
    else
      wanted.requests = {{(milli + 999) / 1000, count}};
    if (job.spec.policy.slots_max > 0) wanted.slots_max = job.spec.policy.slots_max;
  }
  return Value{desired_workers(waiting, shape)};
}

Result<Value> PolicyAnswers::describe_pools() const {
  if (!view_.policed()) return no_policy();
  Value::List rows;
  for (std::uint32_t pool = 0; pool < policy_.config.pools.size(); ++pool)
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      std::uint64_t bands = 0;
      std::uint64_t slots = 0;
      std::uint64_t running = 0;
      std::uint64_t jobs = 0;
      std::uint64_t elsewhere = 0;  // Jobs that list it, and are in another one now.
      std::uint64_t entitled = 0;
      for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
        const BandEntry& band = workers_[BandSlot{i}];
        if (!band.alive || policy_.pool_of_band[i] != pool || static_cast<std::size_t>(band.kind) != kind) continue;
        ++bands, slots += band.slots, running += band.load.running;
      }
      for (const JobId id : indices_.active) {
        const Job& job = jobs_[id];
        if (job.shares == nullptr || job.shares->kinds[kind].unit_milli == 0) continue;
        const std::uint64_t held = view_.milli_held(job, static_cast<BandKind>(kind), pool);
        const bool is_here = job.shares->pool.position == pool || held > 0;
        if (is_here) ++jobs, entitled += held;
        if (!is_here && job.shares->pool.lists(pool)) ++elsewhere;
      }
      if (kind > 0 && bands == 0 && jobs == 0) continue;
      const policy::PartsChoice parts = policy::words_of(view_.parts_in(pool));
      rows.push_back(Value::Record{{"pool", policy_.config.pools[pool].name},
                                   {"kind", kind_name(kind)},
                                   {"preset", preset_text(policy_.config.pools[pool], view_.parts_in(pool))},
                                   {"ordering", parts.ordering},
                                   {"sharing", parts.sharing},
                                   {"backfill", parts.backfill},
                                   {"fitting", parts.fitting},
                                   {"preemption", parts.preemption.value_or(false)},
                                   {"reclaim", flag_value(parts.reclaim)},
                                   {"consolidation", flag_value(parts.consolidation)},
                                   {"bands", bands},
                                   {"slots", slots},
                                   {"entitled", decimal_value(entitled)},
                                   {"running", running},
                                   {"jobs", jobs},
                                   {"jobs_elsewhere", elsewhere},
                                   {"workers_wanted", workers_wanted(pool, static_cast<BandKind>(kind))},
                                   {"contended", bool{policy_.contended[pool * kBandKinds + kind]}},
                                   {"passes", policy_.passes},
                                   {"given_up", policy_.given_up},
                                   {"preemptions", policy_.preemptions},
                                   {"barriers", policy_.barriers},
                                   {"barriers_given_up", policy_.barriers_given_up},
                                   {"trouble", policy_.trouble}});
    }
  return Value{std::move(rows)};
}

Result<Value> PolicyAnswers::describe_projects() const {
  if (!view_.policed()) return no_policy();
  struct Sum {
    std::uint64_t jobs = 0;
    std::uint64_t held[kBandKinds] = {};
    std::uint64_t wanted = 0;
  };
  std::vector<Sum> sums(policy_.config.projects.size());
  for (const JobId id : indices_.active) {
    const Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    const std::uint64_t held[kBandKinds] = {view_.milli_held(job, BandKind::Cpu), view_.milli_held(job, BandKind::Gpu)};
    for (std::uint32_t at = job.shares->project; at < sums.size(); at = policy_.tree.parents[at]) {
      ++sums[at].jobs;
      for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
        sums[at].held[kind] += held[kind];
        sums[at].wanted += job.shares->kinds[kind].demand;
      }
    }
  }
  Value::List rows;
  for (std::size_t i = 0; i < policy_.config.projects.size(); ++i) {
    const ProjectConfig& project = policy_.config.projects[i];
    const Sum& sum = sums[i];
    rows.push_back(Value::Record{{"project", project.name},
                                 {"department", project.department},
                                 {"weight", weight_value(project.weight)},
                                 {"guaranteed_slots", project.guaranteed_slots},
                                 {"slots_max", limit_value(project.slots_max)},
                                 {"guaranteed_gpu_slots", project.guaranteed_gpu_slots},
                                 {"gpu_slots_max", limit_value(project.gpu_slots_max)},
                                 {"guaranteed_memory", project.guaranteed_memory.value()},
                                 {"memory_max", limit_value(project.memory_max.value())},
                                 {"jobs", sum.jobs},
                                 {"wanted", decimal_value(sum.wanted)},
                                 {"slots", decimal_value(sum.held[0])},
                                 {"gpu_slots", decimal_value(sum.held[1])}});
  }
  return Value{std::move(rows)};
}

Result<Value> PolicyAnswers::describe_shares() const {
  if (!view_.policed()) return no_policy();
  const AccountTree tree = usage_.accounts_now();
  // A pass decays use and charges new runs: where no job waits there is no pass for long.
  const double left = left_after(std::max(event_.now - policy_.decayed, Duration{0}), policy_.config.usage_half_life);
  std::vector<UsedSeconds> used(tree.accounts.size());
  for (const auto& [whom, seconds] : policy_.usage.tallies()) {
    const auto charged = tree.charged.find(whom);
    std::uint32_t at = charged == tree.charged.end() ? policy::kNone : charged->second;
    for (; at != policy::kNone; at = tree.accounts[at].parent)
      for (std::size_t i = 0; i < kUsedKinds; ++i) used[at][i] += seconds[i] * left;
  }
  const std::vector<double> factors = policy::account_factors(tree.accounts, factor_options(policy_.parts));
  const std::vector<policy::AccountMeasure> measures = policy::measure_accounts(tree.accounts);
  const auto all = static_cast<std::uint32_t>(policy_.config.accounts.size());
  Value::List rows;
  const auto add_row = [&](std::uint32_t at) {
    const policy::Account& node = tree.accounts[at];
    const std::uint32_t account = at < all ? at : node.parent;
    const double whole = measures[all].usage;
    rows.push_back(Value::Record{{"account", policy_.config.accounts[account].name},
                                 {"user", at < all ? "" : node.name},
                                 {"parent", policy_.config.accounts[account].parent},
                                 {"shares", node.shares},
                                 {"share_part", measures[at].share},
                                 {"usage_slot_s", used[at][0] + used[at][1]},
                                 {"usage_gpu_slot_s", used[at][1]},
                                 {"usage_memory_gib_s", used[at][2]},
                                 {"usage", billed(used[at], policy_.config.usage)},
                                 {"usage_part", whole > 0 ? measures[at].usage / whole : 0.0},
                                 {"factor", factors[at]}});
  };
  std::vector<std::vector<std::uint32_t>> users(all);
  for (std::uint32_t user = all + 1; user < tree.accounts.size(); ++user)
    users[tree.accounts[user].parent].push_back(user);
  for (std::uint32_t account = 0; account < all; ++account) {
    add_row(account);
    for (const std::uint32_t user : users[account]) add_row(user);
  }
  return Value{std::move(rows)};
}

std::string PolicyAnswers::names_of(const std::vector<std::uint32_t>& pools) const {
  std::string text;
  for (const std::uint32_t pool : pools) text += (text.empty() ? "" : ",") + policy_.config.pools[pool].name;
  return text;
}

Result<Value> PolicyAnswers::describe_queue(const Viewer& viewer) const {
  if (!view_.policed()) return no_policy();
  std::vector<const Job*> jobs;
  for (const JobId id : indices_.active)
    if (jobs_[id].shares != nullptr) jobs.push_back(jobs_.find(id));
  std::stable_sort(jobs.begin(), jobs.end(), [this](const Job* a, const Job* b) {
    if (a->shares->pool.position != b->shares->pool.position)
      return a->shares->pool.position < b->shares->pool.position;
    return view_.goes_before(*a, *b);
  });
  Value::List rows;
  std::vector<std::uint64_t> positions(policy_.config.pools.size(), 0);
  for (const Job* job : jobs)
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      const KindShare& share = job->shares->kinds[kind];
      if (share.unit_milli == 0) continue;
      const std::uint64_t position = ++positions[job->shares->pool.position];
      if (!viewer.sees(job->spec)) continue;
      const bool in_project = job->shares->project < policy_.config.projects.size();
      const std::array<double, 6>& terms_now = *share.why.terms;
      Value::Record terms{{"wait", terms_now[0]},  {"fair_share", terms_now[1]}, {"qos", terms_now[2]},
                          {"queue", terms_now[3]}, {"size", terms_now[4]},       {"user", terms_now[5]}};
      rows.push_back(Value::Record{{"pool", fallbacks_.pools_text(*job)},
                                   {"position", position},
                                   {"job", to_string(job->id)},
                                   {"name", job->spec.name},
                                   {"project", in_project ? policy_.config.projects[job->shares->project].name : ""},
                                   {"kind", std::string{to_string(job->spec.policy.kind)}},
                                   {"bands", kind_name(kind)},
                                   {"priority", job->scale.written(job->spec.priority)},
                                   {"qos", qos_of(policy_.config, job->spec.owner, job->spec.policy).name},
                                   {"queue", job->spec.policy.queue},
                                   {"sum", share.why.priority},
                                   {"terms", share.why.priority > 0 ? Value{std::move(terms)} : Value{}},
                                   {"weight", static_cast<double>(view_.own_weight(*job)) / 1000},
                                   {"wanted", decimal_value(wanted_of(*job->shares, kind))},
                                   {"share", decimal_value(share.target)},
                                   {"slots", decimal_value(view_.milli_held(*job, static_cast<BandKind>(kind)))},
                                   {"preempted", job->shares->preemptions},
                                   {"pools", names_of(job->shares->pool.fallback.pools())},
                                   {"held_by", hold_of(*job, static_cast<BandKind>(kind))}});
    }
  return Value{std::move(rows)};
}

std::string PolicyAnswers::place_text(const Job& job) const {
  std::uint64_t place = 1;
  std::uint64_t all = 0;
  for (const JobId id : indices_.active) {
    const Job& each = jobs_[id];
    if (each.shares == nullptr || each.shares->pool.position != job.shares->pool.position ||
        view_.precedence_of(each) != view_.precedence_of(job))
      continue;
    ++all;
    place += each.shares->position < job.shares->position ? 1 : 0;
  }
  return "number " + std::to_string(place) + " of " + std::to_string(all) + " of priority " +
         std::to_string(job.scale.written(job.spec.priority)) + " in pool '" +
         policy_.config.pools[job.shares->pool.position].name + "'";
}

Result<void> PolicyAnswers::check_positions_count(const Job& job) const {
  const policy::Parts& parts = view_.parts_in(job.shares->pool.position);
  if (policy::goes_by_position(parts)) return {};
  const bool quotas = parts.sharing == policy::Sharing::QuotaTree;
  const bool shares = parts.sharing != policy::Sharing::None && !quotas;
  const bool by_sum = parts.ordering == policy::Ordering::Multifactor;
  return Error{ErrorCode::WrongState, to_string(job.id),
               "is in pool '" + policy_.config.pools[job.shares->pool.position].name + "', where " +
                   (shares   ? "all have their shares at once"
                    : quotas ? "jobs go by the need of their projects, then by priority and age"
                    : by_sum ? "jobs go by the sum of their factors"
                             : "jobs go by age") +
                   ", not by their places in a queue",
               shares   ? "`set weight` changes its share"
               : quotas ? "`set priority` changes its place among the jobs of its project"
               : by_sum ? "`queue` shows the factors"
                        : "use a pool with ordering = \"priority\""};
}

void PolicyAnswers::explain_policy(const Job& job, bool with_remedies, Value::Record& fields) const {
  if (job.shares == nullptr) return;
  fields.emplace_back("pool", policy_.config.pools[job.shares->pool.position].name);
  if (job.shares->pool.fallback.pools().size() > 1) fields.emplace_back("pools", fallbacks_.describe_fallback(job));
  if (const GroupChoice& choice = *job.shares->pool.group; choice.is_known())
    fields.emplace_back("together_on", text_of(choice.now));
  fields.emplace_back("preset", preset_text(policy_.config.pools[job.shares->pool.position],
                                            view_.parts_in(job.shares->pool.position)));
  fields.emplace_back("qos", qos_of(policy_.config, job.spec.owner, job.spec.policy).name);
  if (!job.spec.policy.queue.empty()) fields.emplace_back("queue", job.spec.policy.queue);
  if (job.spec.time_limit > Duration{0})
    fields.emplace_back("time_limit_s", std::chrono::duration<double>(job.spec.time_limit).count());
  if (const std::optional<Duration> left = time_left_of(job, event_.now))
    fields.emplace_back("time_left_s", std::chrono::duration<double>(*left).count());
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    const KindShare& share = job.shares->kinds[kind];
    if (share.unit_milli == 0) continue;
    const std::string which = kind == 0 ? "" : "gpu_";
    fields.emplace_back(which + "slots_wanted", decimal_value(share.demand));
    fields.emplace_back(which + "slots_held", decimal_value(view_.milli_held(job, static_cast<BandKind>(kind))));
    if (std::string hold = hold_of(job, static_cast<BandKind>(kind)); !hold.empty())
      fields.emplace_back(which + "held_by", std::move(hold));
    if (share.why.starts_by != kNever && share.why.starts_by > event_.now)
      fields.emplace_back(which + "starts_within_s",
                          std::chrono::duration<double>(share.why.starts_by - event_.now).count());
    if (!with_remedies) continue;
    Explainer explainer{*this, job, static_cast<BandKind>(kind)};
    if (std::optional<Value::Record> start = explainer.start())
      fields.emplace_back(which + "start", Value{std::move(*start)});
    if (Value::List rows = explainer.holds(); !rows.empty()) fields.emplace_back(which + "holds", std::move(rows));
    if (Value::List rows = explainer.freed_by(); !rows.empty())
      fields.emplace_back(which + "freed_by", std::move(rows));
  }
  if (!job.shares->preempting->empty())
    fields.emplace_back("leaving", static_cast<std::uint64_t>(job.shares->preempting->size()));
}

}  // namespace penstock::supervisor
