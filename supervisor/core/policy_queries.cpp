// SupervisorCore: questions and orders of operators about policy.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/quantity.hpp"
#include "common/protocol/job_kind.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/explainer.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/supervisor_core.hpp"
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

/// Of a job: 0 is none.
Value cap_value(std::uint32_t cap) { return cap == 0 ? Value{} : Value{cap}; }

Value limit_value(std::int64_t limit) { return limit == kUnbounded ? Value{} : Value{limit}; }

/// A number with up to three decimals, as thousandths; -1 if it is none, or not above 0.
std::int64_t thousandths_of(const std::string& text) {
  double number = 0;
  if (!parse(text, number) || !std::isfinite(number) || number < 0.001 || number > 1e6) return -1;
  return std::llround(number * 1000);
}

Result<std::int64_t> read_slots(const std::string& text) {
  std::int64_t slots = 0;
  if (!parse(text, slots))
    return bad_argument("quota",
                        "'" + text + "' is no whole number of slots from 0 to " + std::to_string(kPolicyAmountMax));
  return slots;
}

/// 0 are shares: it comes after all that have some.
Result<std::int64_t> read_shares(const std::string& text) {
  std::int64_t shares = 0;
  if (!parse(text, shares) || shares < 0 || shares > kPolicyAmountMax)
    return bad_argument("shares", "'" + text + "' is no whole number from 0 to " + std::to_string(kPolicyAmountMax));
  return shares;
}

Result<std::int64_t> read_memory(const std::string& text) {
  const Result<Bytes> bytes = parse_bytes(text);
  if (!bytes) return bad_argument("memory-quota", "'" + text + "' is no amount of memory as in 8GiB");
  return bytes->value();
}

/// 0 is a weight: nothing beyond its guarantee is its due.
Result<std::int64_t> read_weight(const std::string& text) {
  if (text == "none") return std::int64_t{kNoWeight};
  const std::int64_t weight = text == "0" ? 0 : thousandths_of(text);
  if (weight < 0)
    return bad_argument("project-weight",
                        "'" + text + "' is no number from 0.001 to 1000000; 0 and `none` are good, too");
  return weight;
}

Value amount_value(std::int64_t amount) { return Value{amount}; }
Value weight_value(std::int64_t weight) {
  return weight == kNoWeight ? Value{} : Value{static_cast<double>(weight) / 1000};
}

/// Returns the former weight.
Result<Value> set_weight(Job& job, std::int64_t before, const std::string& text) {
  const std::int64_t weight = thousandths_of(text);
  if (weight < 0) return bad_argument("weight", "'" + text + "' is no number from 0.001 to 1000000");
  job.spec.policy.weight = static_cast<std::uint32_t>(weight);
  return weight_value(before);
}

/// The same. REQUIRES: the job has shares.
Result<Value> set_cap(Job& job, const std::string& text) {
  std::uint32_t cap = 0;
  if (text != "none" && (!parse(text, cap) || cap == 0 || cap > kPolicyAmountMax))
    return bad_argument(
        "cap", "'" + text + "' is no number of slots from 1 to " + std::to_string(kPolicyAmountMax) + ", nor `none`");
  if (cap > 0 && cap < job.spec.policy.gang)
    return Error{ErrorCode::InvalidArgument, to_string(job.id),
                 "is a gang of " + std::to_string(job.spec.policy.gang) + ": with less it would wait for ever",
                 "`hold` keeps it back"};
  const std::uint32_t unit = std::max(job.shares->kinds[0].least_slots(), job.shares->kinds[1].least_slots());
  if (cap > 0 && cap < unit)
    return Error{ErrorCode::InvalidArgument, to_string(job.id),
                 "has a subtask of " + std::to_string(unit) + " slots: with less it would wait for ever",
                 "`hold` keeps it back"};
  return cap_value(std::exchange(job.spec.policy.slots_max, cap));
}

/// A setting of a project that `set` may change, and its format.
struct ProjectOrder {
  std::string_view name;
  ProjectSetting what;
  const char* field;  ///< As `projects` has it.
  Result<std::int64_t> (*read)(const std::string&);
  Value (*value)(std::int64_t);
};

constexpr ProjectOrder kProjectOrders[] = {
    {"quota", ProjectSetting::Slots, "guaranteed_slots", read_slots, amount_value},
    {"gpu-quota", ProjectSetting::GpuSlots, "guaranteed_gpu_slots", read_slots, amount_value},
    {"memory-quota", ProjectSetting::Memory, "guaranteed_memory", read_memory, amount_value},
    {"project-weight", ProjectSetting::Weight, "weight", read_weight, weight_value},
};

const ProjectOrder* order_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kProjectOrders), std::end(kProjectOrders),
                                   [&](const ProjectOrder& order) { return order.name == name; });
  return found == std::end(kProjectOrders) ? nullptr : found;
}

}  // namespace

/// Thousandths of slots.
std::uint64_t SupervisorCore::milli_held(const Job& job, BandKind kind) const {
  std::uint64_t milli = 0;
  if (job.shares == nullptr) return 0;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) milli += job.shares->of(BandSlot{i}).planned;
  return milli;
}

Result<Value> SupervisorCore::describe_pools() const {
  if (!policed()) return no_policy();
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
        const std::vector<std::uint32_t>& listed = job.shares->fallback.pools();
        if (job.shares->pool != pool)
          elsewhere += std::find(listed.begin(), listed.end(), pool) != listed.end() ? 1 : 0;
        if (job.shares->pool != pool) continue;
        ++jobs, entitled += milli_held(job, static_cast<BandKind>(kind));
      }
      if (kind > 0 && bands == 0 && jobs == 0) continue;
      const policy::PartsChoice parts = policy::words_of(parts_in(pool));
      rows.push_back(Value::Record{{"pool", policy_.config.pools[pool].name},
                                   {"kind", kind_name(kind)},
                                   {"preset", policy_.config.pools[pool].preset},
                                   {"ordering", parts.ordering},
                                   {"sharing", parts.sharing},
                                   {"backfill", parts.backfill},
                                   {"fitting", parts.fitting},
                                   {"preemption", *parts.preemption},
                                   {"reclaim", flag_value(parts.reclaim)},
                                   {"consolidation", flag_value(parts.consolidation)},
                                   {"bands", bands},
                                   {"slots", slots},
                                   {"entitled", decimal_value(entitled)},
                                   {"running", running},
                                   {"jobs", jobs},
                                   {"jobs_elsewhere", elsewhere},
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

Result<Value> SupervisorCore::describe_projects() const {
  if (!policed()) return no_policy();
  struct Sum {
    std::uint64_t jobs = 0;
    std::uint64_t held[kBandKinds] = {};
    std::uint64_t wanted = 0;
  };
  std::vector<Sum> sums(policy_.config.projects.size());
  for (const JobId id : indices_.active) {
    const Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    const std::uint64_t held[kBandKinds] = {milli_held(job, BandKind::Cpu), milli_held(job, BandKind::Gpu)};
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
    rows.push_back(Value::Record{
        {"project", project.name},
        {"department", project.department},
        {"weight", project.weight == kNoWeight ? Value{} : Value{static_cast<double>(project.weight) / 1000}},
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

Result<Value> SupervisorCore::describe_shares() const {
  if (!policed()) return no_policy();
  const AccountTree tree = accounts_now();
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

std::string SupervisorCore::names_of(const std::vector<std::uint32_t>& pools) const {
  std::string text;
  for (const std::uint32_t pool : pools) text += (text.empty() ? "" : ",") + policy_.config.pools[pool].name;
  return text;
}

/// Jobs that wait for slots or hold some, in the order in which policy would look at them.
Result<Value> SupervisorCore::describe_queue() const {
  if (!policed()) return no_policy();
  std::vector<const Job*> jobs;
  for (const JobId id : indices_.active)
    if (jobs_[id].shares != nullptr) jobs.push_back(jobs_.find(id));
  std::stable_sort(jobs.begin(), jobs.end(), [this](const Job* a, const Job* b) {
    if (a->shares->pool != b->shares->pool) return a->shares->pool < b->shares->pool;
    return goes_before(*a, *b);
  });
  Value::List rows;
  std::vector<std::uint64_t> positions(policy_.config.pools.size(), 0);
  for (const Job* job : jobs)
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      const KindShare& share = job->shares->kinds[kind];
      if (share.unit_milli == 0) continue;
      const std::uint64_t position = ++positions[job->shares->pool];
      const bool in_project = job->shares->project < policy_.config.projects.size();
      const std::array<double, 6>& terms_now = *share.terms;
      Value::Record terms{{"wait", terms_now[0]},  {"fair_share", terms_now[1]}, {"qos", terms_now[2]},
                          {"queue", terms_now[3]}, {"size", terms_now[4]},       {"user", terms_now[5]}};
      rows.push_back(Value::Record{{"pool", policy_.config.pools[job->shares->pool].name},
                                   {"position", position},
                                   {"job", to_string(job->id)},
                                   {"name", job->spec.name},
                                   {"project", in_project ? policy_.config.projects[job->shares->project].name : ""},
                                   {"kind", std::string{to_string(job->spec.policy.kind)}},
                                   {"bands", kind_name(kind)},
                                   {"priority", job->scale.written(job->spec.priority)},
                                   {"qos", qos_of(policy_.config, job->spec.owner, job->spec.policy).name},
                                   {"queue", job->spec.policy.queue},
                                   {"sum", share.priority},
                                   {"terms", share.priority > 0 ? Value{std::move(terms)} : Value{}},
                                   {"weight", static_cast<double>(own_weight(*job)) / 1000},
                                   {"wanted", decimal_value(share.demand)},
                                   {"share", decimal_value(share.target)},
                                   {"slots", decimal_value(milli_held(*job, static_cast<BandKind>(kind)))},
                                   {"preempted", job->shares->preemptions},
                                   {"pools", names_of(job->shares->fallback.pools())},
                                   {"held_by", hold_of(*job, static_cast<BandKind>(kind))}});
    }
  return Value{std::move(rows)};
}

/// `set weight|cap|qos|queue|user-factor JOB VALUE`, `set quota PROJECT SLOTS` and its like, `set shares ACCOUNT N`;
/// priorities have their own order.
Result<Value> SupervisorCore::set_by_request(const AdminRequest& request) {
  const std::string what = operand(request, 0);
  const std::string whom = operand(request, 1);
  if (what == "priority") return priority_by_request({request.request, "priority", {whom, operand(request, 2)}, {}});
  if (!policed()) return no_policy();
  const std::string text = operand(request, 2);
  if (what == "shares" || order_named(what) != nullptr) return set_of_owner(request);
  const bool of_rules = what == "qos" || what == "queue" || what == "user-factor";
  if (what != "weight" && what != "cap" && !of_rules)
    return bad_argument(
        "set " + what,
        "there is no such setting; it takes priority, weight, cap, qos, queue or user-factor of a job, quota, "
        "gpu-quota, memory-quota or project-weight of a project, shares of an account");
  Job* job = jobs_.find(job_selector_of(whom));
  if (job == nullptr) return not_found("job '" + whom + "'", "`queue` lists those that run");
  if (job->shares == nullptr)
    return Error{
        ErrorCode::WrongState, to_string(job->id), "has ended already: " + std::string{to_string(job->state)}, {}};
  if (of_rules) return what == "user-factor" ? set_user_factor(*job, text) : set_rule(*job, what, text);
  const bool weight = what == "weight";
  Result<Value> before = weight ? set_weight(*job, own_weight(*job), text) : set_cap(*job, text);
  if (!before) return before;
  record_change(*job);
  policy_changed();
  Value now = weight ? weight_value(own_weight(*job)) : cap_value(job->spec.policy.slots_max);
  return Value{Value::Record{{"job", to_string(job->id)}, {what, std::move(now)}, {"was", std::move(before).value()}}};
}

/// The setting is in force, also after restarts, until the configuration is read again. Whole slots, bytes as in
/// `8GiB`, a weight with up to three decimals or `none`; whole shares of an account.
Result<Value> SupervisorCore::set_of_owner(const AdminRequest& request) {
  const std::string whom = operand(request, 1);
  const std::string text = operand(request, 2);
  Value::Record done;
  if (const ProjectOrder* order = order_named(operand(request, 0))) {
    const Result<std::int64_t> amount = order->read(text);
    if (!amount) return amount.error();
    const std::int64_t at = find_project(policy_.config, whom);
    const std::int64_t before =
        at < 0 ? 0 : setting_of(policy_.config.projects[static_cast<std::size_t>(at)], order->what);
    PENSTOCK_TRY(change_project(whom, order->what, *amount));
    done = {{"project", whom}, {order->field, order->value(*amount)}, {"was", order->value(before)}};
  } else {
    const Result<std::int64_t> amount = read_shares(text);
    if (!amount) return amount.error();
    const std::int64_t at = find_account(policy_.config, whom);
    const std::int64_t before = at < 0 ? 0 : policy_.config.accounts[static_cast<std::size_t>(at)].shares;
    PENSTOCK_TRY(change_account(whom, *amount));
    done = {{"account", whom}, {"shares", *amount}, {"was", before}};
  }
  keep_policy();
  add_warnings(done);
  return Value{std::move(done)};
}

/// `2nd of 5 of priority 0 in pool 'all'`, by position.
std::string SupervisorCore::place_text(const Job& job) const {
  std::uint64_t place = 1;
  std::uint64_t all = 0;
  for (const JobId id : indices_.active) {
    const Job& each = jobs_[id];
    if (each.shares == nullptr || each.shares->pool != job.shares->pool || precedence_of(each) != precedence_of(job))
      continue;
    ++all;
    place += each.shares->position < job.shares->position ? 1 : 0;
  }
  return "number " + std::to_string(place) + " of " + std::to_string(all) + " of priority " +
         std::to_string(job.scale.written(job.spec.priority)) + " in pool '" +
         policy_.config.pools[job.shares->pool].name + "'";
}

/// Elsewhere a move would change nothing. Spec: policy-determined 5.5.
Result<void> SupervisorCore::check_positions_count(const Job& job) const {
  const policy::Parts& parts = parts_in(job.shares->pool);
  if (policy::goes_by_position(parts)) return {};
  const bool quotas = parts.sharing == policy::Sharing::QuotaTree;
  const bool shares = parts.sharing != policy::Sharing::None && !quotas;
  const bool by_sum = parts.ordering == policy::Ordering::Multifactor;
  return Error{ErrorCode::WrongState, to_string(job.id),
               "is in pool '" + policy_.config.pools[job.shares->pool].name + "', where " +
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

/// `move JOB ahead-of|behind OTHER` of its pool; the job takes the priority of the other. Spec: policy-determined 5.5.
Result<Value> SupervisorCore::move_by_request(const AdminRequest& request) {
  if (!policed()) return no_policy();
  Job* job = jobs_.find(job_selector_of(operand(request, 0)));
  Job* other = jobs_.find(job_selector_of(operand(request, 2)));
  const std::string where = operand(request, 1);
  if (where != "ahead-of" && where != "behind") return bad_argument("move", "write: move JOB ahead-of|behind OTHER");
  for (const auto& [found, named] : {std::pair{job, operand(request, 0)}, {other, operand(request, 2)}})
    if (found == nullptr || found->shares == nullptr)
      return not_found("job '" + named + "'", "`queue` lists those that run");
  if (job->shares->pool != other->shares->pool)
    return Error{ErrorCode::WrongState, to_string(job->id), "is in another pool than " + to_string(other->id), {}};
  PENSTOCK_TRY(check_positions_count(*job));
  const std::string before = place_text(*job);
  PENSTOCK_TRY(move_beside(*job, *other, where == "ahead-of"));
  const Value queue = describe_queue().value();
  const Value::List& rows = *queue.list();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Value& each) { return each["job"] == Value{to_string(job->id)}; });
  return Value{Value::Record{{"job", to_string(job->id)},
                             {where, to_string(other->id)},
                             {"priority", job->scale.written(job->spec.priority)},
                             {"position", row == rows.end() ? Value{} : (*row)["position"]},
                             {"place", place_text(*job)},
                             {"was", before}}};
}

/// A job that is already there, or is moved beside itself, stays.
Result<void> SupervisorCore::move_beside(Job& job, const Job& other, bool ahead) {
  if (&job == &other) return {};
  std::vector<const Job*> order;
  for (const JobId id : indices_.active)
    if (const Job& each = jobs_[id]; each.shares != nullptr && each.shares->pool == job.shares->pool)
      order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [this](const Job* a, const Job* b) {
    const std::int64_t left = precedence_of(*a);
    const std::int64_t right = precedence_of(*b);
    return left != right ? left > right : a->shares->position < b->shares->position;
  });
  const auto at = std::find(order.begin(), order.end(), &other);
  const bool is_last = ahead ? at == order.begin() : at + 1 == order.end();
  const Job* neighbour = is_last ? nullptr : ahead ? *(at - 1) : *(at + 1);
  if (neighbour == &job) return {};
  // Half-way to the neighbour on that side; none of that priority: well beyond. Positions begin far apart.
  const std::int64_t from = other.shares->position;
  const bool bounded = neighbour != nullptr && precedence_of(*neighbour) == precedence_of(other);
  const std::int64_t beyond = std::int64_t{1} << 20U;
  const std::int64_t end = bounded ? neighbour->shares->position : ahead ? from - beyond : from + beyond;
  const std::int64_t position = from + (end - from) / 2;
  if (position == from || position == end)
    return Error{ErrorCode::LimitExceeded, to_string(job.id), "there is no place left between its neighbours",
                 "move one of them first"};
  if (job.spec.priority != other.spec.priority) change_priority(job, other.spec.priority);
  job.shares->position = position;
  record_change(job);
  policy_changed();
  return {};
}

/// The policy fields of a job, for `explain`.
void SupervisorCore::explain_policy(const Job& job, bool with_remedies, Value::Record& fields) const {
  if (job.shares == nullptr) return;
  fields.emplace_back("pool", policy_.config.pools[job.shares->pool].name);
  if (job.shares->fallback.pools().size() > 1) fields.emplace_back("pools", describe_fallback(job));
  fields.emplace_back("preset", policy_.config.pools[job.shares->pool].preset);
  fields.emplace_back("qos", qos_of(policy_.config, job.spec.owner, job.spec.policy).name);
  if (!job.spec.policy.queue.empty()) fields.emplace_back("queue", job.spec.policy.queue);
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    const KindShare& share = job.shares->kinds[kind];
    if (share.unit_milli == 0) continue;
    const std::string which = kind == 0 ? "" : "gpu_";
    fields.emplace_back(which + "slots_wanted", decimal_value(share.demand));
    fields.emplace_back(which + "slots_held", decimal_value(milli_held(job, static_cast<BandKind>(kind))));
    if (std::string hold = hold_of(job, static_cast<BandKind>(kind)); !hold.empty())
      fields.emplace_back(which + "held_by", std::move(hold));
    if (share.starts_by != kNever && share.starts_by > event_.now)
      fields.emplace_back(which + "starts_within_s",
                          std::chrono::duration<double>(share.starts_by - event_.now).count());
    if (!with_remedies) continue;
    const Explainer explainer{*this, job, static_cast<BandKind>(kind)};
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
