#include "supervisor/core/admin/operator_orders.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include "common/base/coverage_mark.hpp"
#include "common/base/quantity.hpp"
#include "supervisor/core/admin/cluster_answers.hpp"
#include "supervisor/core/admin/worker_questions.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/policy_answers.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_checks.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/runs/job_priorities.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

Error no_policy() {
  return {ErrorCode::WrongState, "policy", "none is in force: nothing is limited",
          "configure a [[policy.pool]] and `penstock reload`"};
}

/// Of a job: 0 is none.
Value cap_value(std::uint32_t cap) { return cap == 0 ? Value{} : Value{cap}; }

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

Error not_in_the_graph(const Job& job, const std::string& key) {
  return {ErrorCode::NotFound, "subtask '" + key + "' of " + to_string(job.id), "is not in the graph",
          "give its key or its number"};
}

/// Where no pool in which the job may be looks at priorities: an order without an effect is none.
Result<void> check_priority_counts(const PolicyState& policy, const Job& job) {
  const auto parts_in = [&](std::uint32_t pool) -> const policy::Parts& {
    return policy.parts[domain_of(pool, BandKind::Cpu)];
  };
  if (job.shares == nullptr) return {};
  for (const std::uint32_t pool : job.shares->pool.fallback.pools())
    if (parts_in(pool).ordering == policy::Ordering::Priority) return {};
  const policy::Parts& parts = parts_in(job.shares->pool.position);
  const bool shares = parts.sharing != policy::Sharing::None;
  const bool by_sum = parts.ordering == policy::Ordering::Multifactor;
  return Error{ErrorCode::WrongState, to_string(job.id),
               "is in pool '" + policy.config.pools[job.shares->pool.position].name + "', where " +
                   (shares   ? "all have their shares at once, whatever their priorities"
                    : by_sum ? "jobs go by the sum of their factors, and priority is none of them"
                             : "jobs go by age, whatever their priorities"),
               shares   ? "`set weight` changes its share"
               : by_sum ? "`set qos` and `set queue` change the sum, `queue --json` shows it"
                        : "use a pool with ordering = \"priority\""};
}

/// A run that is never preempted keeps its slots whatever its priority: only what waits of its job has any use for it.
/// Spec: policy-determined 5.6.
Result<void> check_priority_matters(const PolicyView& view, const Job& job) {
  if (job.shares == nullptr || job.spec.policy.may_be_preempted()) return {};
  bool holds_any = false;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    const std::uint64_t held = view.milli_held(job, kind);
    if (job.shares->kinds[static_cast<std::size_t>(kind)].demand > held) return {};
    holds_any = holds_any || held > 0;
  }
  if (!holds_any) return {};
  return Error{ErrorCode::WrongState, to_string(job.id),
               "runs as a whole and is never preempted: no priority changes that",
               "submit it again with another priority"};
}

/// Where no pool in which the job may be divides its slots among jobs, its weight is kept for such a pool; empty: one
/// does. REQUIRES: the job has shares.
std::string unused_weight(const PolicyState& policy, const PolicyView& view, const Job& job) {
  for (const std::uint32_t pool : job.shares->pool.fallback.pools())
    if (view.shares_slots(pool)) return {};
  const std::uint32_t pool = job.shares->pool.position;
  return "weight of " + to_string(job.id) + " has no effect: pool '" + policy.config.pools[pool].name +
         (view.counts_quotas(pool) ? "' divides its slots among projects, not among jobs; `set project-weight` counts"
                                   : "' does not divide its slots by weights (sharing)");
}

}  // namespace

Result<Value> OperatorOrders::set_rule(Job& job, const std::string& what, const std::string& name) {
  JobSpec changed = job.spec;
  JobPolicy& wishes = changed.policy;
  std::string& rule = what == "qos" ? wishes.qos : what == "queue" ? wishes.queue : wishes.account;
  const auto told = [&what](const std::string& of) {
    if (!of.empty()) return Value{of};
    return what == "qos" ? Value{"normal"} : Value{};
  };
  const Value before = told(rule);
  rule = name == "none" && what != "qos" ? "" : name;
  if (what == "qos" && name.empty()) return bad_argument("qos", "write: set qos JOB LEVEL");
  if (what == "account") PENSTOCK_TRY(rules_.check_move(changed, job));
  PENSTOCK_TRY(check_qos(policy_.config, changed.owner, changed.policy));
  PENSTOCK_TRY(check_queue(policy_.config, changed.owner, changed.policy));
  PENSTOCK_TRY(rules_.check_limits(changed, *job.graph.shape));
  PENSTOCK_TRY(rules_.check_active_jobs(changed, &job));
  job.spec.policy = std::move(changed.policy);
  if (what == "account") usage_.charge_to_account(job);
  const JobPolicy& now = job.spec.policy;
  const Value after = told(what == "qos" ? now.qos : what == "queue" ? now.queue : now.account);
  rules_.open_rules(job);
  records_.record_change(job);
  turns_.policy_changed();
  return Value{Value::Record{{"job", to_string(job.id)}, {what, after}, {"was", before}}};
}

Result<Value> OperatorOrders::set_user_factor(Job& job, const std::string& text) {
  double factor = 0;
  if (!parse(text, factor) || !(factor >= 0 && factor <= 1))
    return bad_argument("user-factor", "'" + text + "' is no number from 0 to 1");
  std::uint32_t& own = job.spec.policy.user_factor;
  const double before = static_cast<double>(own) / kUserFactorMax;
  own = static_cast<std::uint32_t>(std::lround(factor * kUserFactorMax));
  rules_.open_rules(job);
  records_.record_change(job);
  turns_.policy_changed();
  return Value{Value::Record{{"job", to_string(job.id)}, {"user_factor", factor}, {"was", before}}};
}

Result<Value> OperatorOrders::hold_by_request(const AdminRequest& request) {
  if (!view_.policed())
    return Error{ErrorCode::WrongState, "policy", "none is in force, and jobs are held by it",
                 "configure a [[policy.pool]] and `penstock reload`"};
  const std::string whom = operand(request, 0);
  Job* job = jobs_.find(job_selector_of(whom, request.viewer));
  if (job == nullptr) return not_found("job '" + whom + "'", "`queue` lists those that run");
  if (job->shares == nullptr)
    return Error{ErrorCode::WrongState,
                 to_string(job->id),
                 "has ended already: " + std::string{to_string(job->status.state)},
                 {}};
  const bool hold = request.command == "hold";
  const bool before = std::exchange(job->status.on_hold, hold);
  if (before != hold) {
    records_.record_change(*job);
    turns_.policy_changed();
  }
  return Value{Value::Record{{"job", to_string(job->id)}, {"on_hold", hold}, {"was", before}}};
}

Result<Value> OperatorOrders::set_by_request(const AdminRequest& request) {
  const std::string what = operand(request, 0);
  const std::string whom = operand(request, 1);
  if (what == "priority") return priority_by_request({request.request, "priority", {whom, operand(request, 2)}, {}});
  if (!view_.policed()) return no_policy();
  const std::string text = operand(request, 2);
  if (what == "shares" || order_named(what) != nullptr) return set_of_owner(request);
  const bool of_rules = what == "qos" || what == "queue" || what == "account" || what == "user-factor";
  if (what != "weight" && what != "cap" && !of_rules)
    return bad_argument("set " + what,
                        "there is no such setting; it takes priority, time-limit, weight, cap, qos, queue, account or "
                        "user-factor of a job, quota, gpu-quota, memory-quota or project-weight of a project, shares "
                        "of an account");
  Job* job = jobs_.find(job_selector_of(whom, request.viewer));
  if (job == nullptr) return not_found("job '" + whom + "'", "`queue` lists those that run");
  if (job->shares == nullptr)
    return Error{ErrorCode::WrongState,
                 to_string(job->id),
                 "has ended already: " + std::string{to_string(job->status.state)},
                 {}};
  if (of_rules) return what == "user-factor" ? set_user_factor(*job, text) : set_rule(*job, what, text);
  const bool weight = what == "weight";
  Result<Value> before = weight ? set_weight(*job, view_.own_weight(*job), text) : set_cap(*job, text);
  if (!before) return before;
  records_.record_change(*job);
  turns_.policy_changed();
  Value now = weight ? weight_value(view_.own_weight(*job)) : cap_value(job->spec.policy.slots_max);
  Value::Record done{{"job", to_string(job->id)}, {what, std::move(now)}, {"was", std::move(before).value()}};
  if (std::string unused = weight ? unused_weight(policy_, view_, *job) : ""; !unused.empty())
    done.emplace_back("warnings", Value::List{Value{std::move(unused)}});
  return Value{std::move(done)};
}

Result<Value> OperatorOrders::set_of_owner(const AdminRequest& request) {
  const std::string whom = operand(request, 1);
  const std::string text = operand(request, 2);
  Value::Record done;
  if (const ProjectOrder* order = order_named(operand(request, 0))) {
    const Result<std::int64_t> amount = order->read(text);
    if (!amount) return amount.error();
    const std::int64_t at = find_project(policy_.config, whom);
    const std::int64_t before =
        at < 0 ? 0 : setting_of(policy_.config.projects[static_cast<std::size_t>(at)], order->what);
    PENSTOCK_TRY(usage_.change_project(whom, order->what, *amount));
    done = {{"project", whom}, {order->field, order->value(*amount)}, {"was", order->value(before)}};
  } else {
    const Result<std::int64_t> amount = read_shares(text);
    if (!amount) return amount.error();
    const std::int64_t at = find_account(policy_.config, whom);
    const std::int64_t before = at < 0 ? 0 : policy_.config.accounts[static_cast<std::size_t>(at)].shares;
    PENSTOCK_TRY(usage_.change_account(whom, *amount));
    done = {{"account", whom}, {"shares", *amount}, {"was", before}};
  }
  usage_.keep_policy();
  policy_checks_.add_warnings(done);
  return Value{std::move(done)};
}

Result<Value> OperatorOrders::move_by_request(const AdminRequest& request) {
  if (!view_.policed()) return no_policy();
  Job* job = jobs_.find(job_selector_of(operand(request, 0), request.viewer));
  Job* other = jobs_.find(job_selector_of(operand(request, 2), request.viewer));
  const std::string where = operand(request, 1);
  if (where != "ahead-of" && where != "behind") return bad_argument("move", "write: move JOB ahead-of|behind OTHER");
  for (const auto& [found, named] : {std::pair{job, operand(request, 0)}, {other, operand(request, 2)}})
    if (found == nullptr || found->shares == nullptr)
      return not_found("job '" + named + "'", "`queue` lists those that run");
  if (job->shares->pool.position != other->shares->pool.position)
    return Error{ErrorCode::WrongState, to_string(job->id), "is in another pool than " + to_string(other->id), {}};
  PENSTOCK_TRY(policy_answers_.check_positions_count(*job));
  const std::string before = policy_answers_.place_text(*job);
  PENSTOCK_TRY(move_beside(*job, *other, where == "ahead-of"));
  const Value queue = policy_answers_.describe_queue(request.viewer).value();
  const Value::List& rows = *queue.list();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Value& each) { return each["job"] == Value{to_string(job->id)}; });
  return Value{Value::Record{{"job", to_string(job->id)},
                             {where, to_string(other->id)},
                             {"priority", job->scale.written(job->spec.priority)},
                             {"position", row == rows.end() ? Value{} : (*row)["position"]},
                             {"place", policy_answers_.place_text(*job)},
                             {"was", before}}};
}

Result<void> OperatorOrders::move_beside(Job& job, const Job& other, bool ahead) {
  if (&job == &other) return {};
  std::vector<const Job*> order;
  for (const JobId id : indices_.active)
    if (const Job& each = jobs_[id];
        &each != &job && each.shares != nullptr && each.shares->pool.position == job.shares->pool.position)
      order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [this](const Job* a, const Job* b) {
    const std::int64_t left = view_.precedence_of(*a);
    const std::int64_t right = view_.precedence_of(*b);
    return left != right ? left > right : a->shares->position < b->shares->position;
  });
  const auto at = std::find(order.begin(), order.end(), &other);
  const bool is_last = ahead ? at == order.begin() : at + 1 == order.end();
  const Job* neighbour = is_last ? nullptr : ahead ? *(at - 1) : *(at + 1);
  const std::int64_t from = other.shares->position;
  const bool bounded = neighbour != nullptr && view_.precedence_of(*neighbour) == view_.precedence_of(other);
  const std::int64_t own = job.shares->position;
  const auto before = [ahead](std::int64_t a, std::int64_t b) { return ahead ? a < b : a > b; };
  const bool is_there = view_.precedence_of(job) == view_.precedence_of(other) && before(own, from) &&
                        (!bounded || before(neighbour->shares->position, own));
  if (is_there) return {};
  // Half-way to the neighbour on that side; none of that priority: well beyond. Positions begin far apart.
  const std::int64_t beyond = std::int64_t{1} << 20U;
  const std::int64_t end = bounded ? neighbour->shares->position : ahead ? from - beyond : from + beyond;
  const std::int64_t position = from + (end - from) / 2;
  if (position == from || position == end)
    return Error{ErrorCode::LimitExceeded, to_string(job.id), "there is no place left between its neighbours",
                 "move one of them first"};
  if (job.spec.priority != other.spec.priority) priorities_.change_priority(job, other.spec.priority);
  job.shares->position = position;
  records_.record_change(job);
  turns_.policy_changed();
  return {};
}

Result<Value> OperatorOrders::cancel_by_request(const AdminRequest& request) {
  Job* job = jobs_.find(job_selector_of(operand(request, 0), request.viewer));
  if (job == nullptr) return not_found("job '" + operand(request, 0) + "'", "`jobs` lists those that run");
  if (job->status.state != JobState::Running)
    return Error{ErrorCode::WrongState,
                 to_string(job->id),
                 "has ended already: " + std::string{to_string(job->status.state)},
                 {}};
  Duration kill_after = kDefaultGrace;
  if (const std::string grace = option(request, "kill-after-ms"); !grace.empty()) {
    std::int64_t ms = 0;
    if (grace == "never")
      kill_after = kNeverKill;
    else if (parse(grace, ms) && ms >= 0 && ms <= 86'400'000)
      kill_after = std::chrono::milliseconds{ms};
    else
      return bad_argument("--kill-after-ms", "takes a number of milliseconds up to a day, or `never`");
  }
  if (const std::string key = operand(request, 1); !key.empty()) {
    const SubtaskIndex subtask = job->graph.shape->find_key_or_number(key);
    if (!subtask.valid())
      return not_found("subtask '" + key + "' of " + to_string(job->id), "give its key or its number");
    const SubtaskHot& hot = job->hot[subtask.value()];
    const bool ended = is_final(hot.phase);
    // The end of a subtask that has failed, or was cancelled behind another, may not be written yet: after a restart
    // without that record the order must be known.
    const bool may_come_back = ended && (hot.flags & SubtaskFlag::kVisible) == 0;
    if (may_come_back) PENSTOCK_COVERAGE_MARK("a subtask that had ended without success was cancelled");
    if (!ended || may_come_back) {
      job->extras.cancel_orders.edit().insert(subtask, true);
      records_.record_change(*job, subtask.value());
    }
    ends_.cancel_subtasks(*job, {subtask.value()}, kill_after);
    return Value{Value::Record{{"job", to_string(job->id)}, {"subtask", key}, {"cancelled", !ended}}};
  }
  ends_.cancel_job(*job, Error{ErrorCode::Cancelled, job->spec.name, "was cancelled by an operator or its client", {}},
                   kill_after);
  return Value{Value::Record{{"job", to_string(job->id)}, {"cancelled", true}}};
}

Result<Value> OperatorOrders::priority_by_request(const AdminRequest& request) {
  Job* job = jobs_.find(job_selector_of(operand(request, 0), request.viewer));
  if (job == nullptr) return not_found("job '" + operand(request, 0) + "'", "`jobs` lists those that run");
  if (job->status.state != JobState::Running)
    return Error{ErrorCode::WrongState,
                 to_string(job->id),
                 "has ended already: " + std::string{to_string(job->status.state)},
                 {}};
  std::int32_t priority = 0;
  if (!parse(operand(request, 1), priority))
    return bad_argument("priority", "'" + operand(request, 1) + "' is no whole number from " +
                                        std::to_string(std::numeric_limits<std::int32_t>::min()) + " to " +
                                        std::to_string(std::numeric_limits<std::int32_t>::max()));
  if (const std::string key = option(request, "subtask"); !key.empty()) {
    const SubtaskIndex subtask = job->graph.shape->find_key_or_number(key);
    if (!subtask.valid())
      return not_found("subtask '" + key + "' of " + to_string(job->id), "give its key or its number");
    priorities_.change_subtask_priority(*job, subtask.value(), priority);
  } else {
    PENSTOCK_TRY(check_priority_counts(policy_, *job));
    PENSTOCK_TRY(check_priority_matters(view_, *job));
    const std::int32_t before = job->scale.written(job->spec.priority);
    const Result<std::int32_t> inside = job->scale.inside(priority);
    if (!inside) return inside.error();
    priorities_.change_priority(*job, *inside);
    return Value{Value::Record{{"job", to_string(job->id)}, {"priority", priority}, {"was", before}}};
  }
  return Value{Value::Record{{"job", to_string(job->id)}, {"priority", priority}}};
}

Result<Value> OperatorOrders::explain_by_request(ClientId client, const AdminRequest& request, bool& deferred) {
  if (request.arguments.empty())
    return Error{ErrorCode::InvalidArgument, request.command, "needs a job, and perhaps a subtask",
                 request.command + " JOB [SUBTASK]"};
  std::string job_text = request.arguments[0];
  std::string key = request.arguments.size() > 1 ? request.arguments[1] : "";
  const bool is_job = jobs_.find(job_selector_of(job_text, request.viewer)) != nullptr;  // Names may have colons.
  if (const std::size_t colon = job_text.find(':'); !is_job && key.empty() && colon != std::string::npos) {
    key = job_text.substr(colon + 1);
    job_text.resize(colon);
  }
  Job* job = jobs_.find(job_selector_of(job_text, request.viewer));
  if (job == nullptr)
    return Error{ErrorCode::NotFound, "job '" + job_text + "'", "is not known", "`jobs --all` lists them"};
  if (request.command == "logs") {
    std::string only;
    if (!key.empty()) {
      std::uint32_t index = 0;  // The graph of a job that has ended may be gone; then only numbers say which.
      const bool plain = std::from_chars(key.data(), key.data() + key.size(), index).ptr == key.data() + key.size();
      const SubtaskIndex wanted = job->graph.shape != nullptr ? job->graph.shape->find_key_or_number(key)
                                  : plain                     ? SubtaskIndex{index}
                                                              : SubtaskIndex::none();
      if (!wanted.valid()) return not_in_the_graph(*job, key);
      only = to_string(SubtaskId{job->id, wanted}) + "#";
    }
    deferred = questions_.ask_for_logs(job->id, only, {client, request.request});
    return Value{Value::Record{{"job", to_string(job->id)}, {"logs", Value::List{}}}};
  }
  if (job->graph.shape == nullptr || key.empty()) return cluster_answers_.explain_job(*job, true);
  const SubtaskIndex subtask = job->graph.shape->find_key_or_number(key);
  if (!subtask.valid()) return not_in_the_graph(*job, key);
  Value answer = cluster_answers_.explain_subtask(*job, subtask.value());
  if (job->hot[subtask.value()].phase != SubtaskPhase::Assigned) return answer;
  // Only the worker knows which of its latches holds the subtask.
  deferred = true;
  const WorkerSlot slot = workers_[job->hot[subtask.value()].band].worker;
  questions_.ask_for_explanation(slot, {job->id, subtask}, {client, request.request}, std::move(answer));
  return Value{};
}

bool OperatorOrders::await_confirmations(ClientId client, const AdminRequest& request, const Value& answer) {
  const std::string* name = answer["job"].text();
  const Job* job = name == nullptr ? nullptr : jobs_.find(job_selector_of(*name, request.viewer));
  if (job == nullptr) return false;
  const WorkerQuestions::Asker asker{client, request.request};
  if (!job->status.recovering) return questions_.ask_for_confirmations(job->id, job->audience.workers, asker, answer);
  questions_.ask_for_confirmations_later(job->id, asker, answer);
  return true;
}

}  // namespace penstock::supervisor
