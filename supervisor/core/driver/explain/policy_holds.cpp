#include <algorithm>
#include <utility>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/policy/sharing/owner_limit.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

/// Above the guarantees of other projects.
constexpr std::int64_t kAmountMax = std::int64_t{1} << 48U;

Value::Record record_of(std::string rule, std::string subject, Value need, Value had, std::string text) {
  return {{"rule", std::move(rule)},
          {"subject", std::move(subject)},
          {"need", std::move(need)},
          {"had", std::move(had)},
          {"text", std::move(text)}};
}

Value slots_value(std::int64_t milli) {
  return decimal_value(static_cast<std::uint64_t>(std::max<std::int64_t>(milli, 0)));
}

/// As the configuration and the commands call it.
const char* rule_of(policy::Hold hold) {
  switch (hold) {
    case policy::Hold::NoRoom: return "room";
    case policy::Hold::NeverFits: return "feasible";
    case policy::Hold::AtFairShare: return "fair_share";
    case policy::Hold::AtSlotsMax: return "cap";
    case policy::Hold::HigherPriority: return "priority";
    case policy::Hold::PredecessorsLeave: return "promised";
    case policy::Hold::ProjectLimit: return "limit";
    case policy::Hold::ProjectGuarantee: return "guarantee";
    case policy::Hold::Gated: return "gang";
    case policy::Hold::Held: return "hold";
    case policy::Hold::BehindReservation: return "reservation";
    case policy::Hold::FirstServed: return "first_served";
  }
  return "policy";
}

const char* rule_of(LimitRule rule) {
  switch (rule) {
    case LimitRule::None: return "limit";
    case LimitRule::OnHold: return "hold";
    case LimitRule::RunningJobs: return "running_jobs_max";
    case LimitRule::WaitingJobs: return "waiting_jobs_max";
    case LimitRule::WaitingSlots: return "waiting_slots_max";
    case LimitRule::WaitingGpuSlots: return "waiting_gpu_slots_max";
    case LimitRule::Slots: return "slots_max";
    case LimitRule::GpuSlots: return "gpu_slots_max";
  }
  return "limit";
}

bool is_under(const JobRules& rules, const std::string& whom) {
  return std::any_of(rules.limits.begin(), rules.limits.end(), [&](const LimitedBy& by) { return by.whom == whom; });
}

bool has_row(const Value::List& all, const std::string& rule, const std::string& subject) {
  return std::any_of(all.begin(), all.end(), [&](const Value& each) {
    return *each["rule"].text() == rule && *each["subject"].text() == subject;
  });
}

void add_new(Value::List& all, Value::Record made) {
  const Value row{std::move(made)};
  if (!has_row(all, *row["rule"].text(), *row["subject"].text())) all.push_back(row);
}

}  // namespace

const char* project_key(BandKind kind, const policy::Explanation& why) {
  const bool guarantee = why.hold == policy::Hold::ProjectGuarantee;
  if (why.resource == policy::Resource::Memory) return guarantee ? "guaranteed_memory" : "memory_max";
  if (kind == BandKind::Gpu) return guarantee ? "guaranteed_gpu_slots" : "gpu_slots_max";
  return guarantee ? "guaranteed_slots" : "slots_max";
}

/// The rule of `held_by`.
Value::Record PolicyAnswers::Explainer::first_hold(const std::string& text) const {
  const JobRules& rules = job_.shares->rules;
  const std::string own = to_string(job_.id);
  if (share_.gang.barrier->waits()) return record_of("barrier", own, Value{}, Value{}, text);
  if (share_.why.waits.has_value()) {
    const WaitsFor& waits = *share_.why.waits;
    const bool slots = waits.resource == policy::Resource::Gpu;
    const Value need = slots ? slots_value(waits.need) : Value{waits.need};
    const Value had = slots ? slots_value(waits.have) : Value{waits.have};
    if (waits.project < core_.policy_.config.projects.size()) {
      policy::Explanation why;
      why.hold = waits.hold, why.resource = waits.resource;
      return record_of(project_key(kind_, why), owner_text(core_.policy_.config.projects[waits.project]), need, had,
                       text);
    }
    return record_of(rule_of(waits.hold), waits.other.valid() ? to_string(waits.other) : own, need, had, text);
  }
  if (!share_.why.hold.empty() && rules.blocked_by != LimitRule::None) {
    Value::List same;
    add_limits(same);
    for (const Value& each : same)
      if (*each["rule"].text() == rule_of(rules.blocked_by) && *each["subject"].text() == rules.blocked_by_whom)
        return record_of(rule_of(rules.blocked_by), rules.blocked_by_whom, each["need"], each["had"], text);
    return record_of(rule_of(rules.blocked_by), rules.blocked_by == LimitRule::OnHold ? own : rules.blocked_by_whom,
                     Value{}, Value{}, text);
  }
  if (core_.is_at_cap(job_, kind_)) {
    Value::List same;
    add_own_cap(same);
    if (!same.empty()) return record_of("cap", own, same.front()["need"], same.front()["had"], text);
  }
  if (text.rfind("drained", 0) == 0) return record_of("drained", own, Value{}, Value{}, text);
  if (job_.place.unschedulable.empty() || core_.view_.milli_held(job_, kind_) > 0)
    return record_of("gang", own, Value{}, Value{}, text);
  return record_of(text.rfind("infeasible", 0) == 0 ? "feasible" : "room", own, Value{}, Value{}, text);
}

/// Limits of users, accounts, levels of service and queues that one step more, or its start, would pass.
void PolicyAnswers::Explainer::add_limits(Value::List& all) const {
  const JobRules& own = job_.shares->rules;
  const bool cpu = kind_ == BandKind::Cpu;
  const char* slots_rule = cpu ? "slots_max" : "gpu_slots_max";
  const char* waiting_rule = cpu ? "waiting_slots_max" : "waiting_gpu_slots_max";
  for (const LimitedBy& by : own.limits) {
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::uint64_t waiting_milli = step();
    std::uint64_t milli = core_.view_.milli_held(job_, kind_) + step();
    for (const JobId id : core_.indices_.active) {
      const Job& each = core_.jobs_[id];
      if (&each == &job_ || each.shares == nullptr || !is_under(each.shares->rules, by.whom)) continue;
      running += each.shares->rules.has_run ? 1 : 0;
      waiting += core_.view_.is_waiting(each) ? 1 : 0;
      waiting_milli += core_.view_.is_waiting(each) ? each.shares->kinds[static_cast<std::size_t>(kind_)].demand : 0;
      milli += each.shares->rules.exempt ? 0 : core_.view_.milli_held(each, kind_);
    }
    const JobLimits& limits = by.limits;
    const auto add = [&](const char* rule, std::int64_t count, std::int64_t most, const char* does) {
      if (most == kUnbounded || own.has_run || count + 1 <= most) return;
      all.push_back(record_of(rule, by.whom, Value{count + 1}, Value{most},
                              std::string{rule} + " of " + by.whom + " is " + std::to_string(most) + ", and " +
                                  std::to_string(count) + does));
    };
    add("running_jobs_max", running, limits.running_jobs_max, " run already");
    add("waiting_jobs_max", waiting, limits.waiting_jobs_max, " wait already");
    const std::int64_t waiting_most = cpu ? limits.waiting_slots_max : limits.waiting_gpu_slots_max;
    const bool begins = !own.exempt && !own.has_run;
    if (waiting_most != kUnbounded && begins && waiting_milli > static_cast<std::uint64_t>(waiting_most) * 1000)
      all.push_back(record_of(waiting_rule, by.whom, decimal_value(waiting_milli), Value{waiting_most},
                              std::string{waiting_rule} + " of " + by.whom + " is " + std::to_string(waiting_most) +
                                  ", and with it they would wait for " + decimal_text(waiting_milli)));
    const std::int64_t most = cpu ? limits.slots_max : limits.gpu_slots_max;
    if (most == kUnbounded || own.exempt || milli <= static_cast<std::uint64_t>(most) * 1000) continue;
    all.push_back(record_of(slots_rule, by.whom, decimal_value(milli), Value{most},
                            std::string{slots_rule} + " of " + by.whom + " is " + std::to_string(most) +
                                ", and with it they would hold " + decimal_text(milli)));
  }
}

void PolicyAnswers::Explainer::add_own_cap(Value::List& all) const {
  const std::uint32_t cap = job_.spec.policy.slots_max;
  const std::uint64_t would = core_.view_.milli_held(job_, kind_) + step();
  if (cap == 0 || would <= std::uint64_t{cap} * 1000) return;
  all.push_back(record_of("cap", to_string(job_.id), decimal_value(would), Value{std::int64_t{cap}},
                          "slots_max of its own: with more it would hold " + decimal_text(would) + " of the " +
                              std::to_string(cap) + " that it may hold"));
}

/// Adds the limit of an owner that leaves the job no larger share, and takes it out of the snapshot.
bool PolicyAnswers::Explainer::add_share_limit(const policy::Plan& plan, policy::Snapshot& changed,
                                               Value::List& all) const {
  const policy::Explanation* why = what_if_->why(plan);
  if (why == nullptr) return false;
  const std::optional<policy::OwnerLimit> limit = policy::OwnerLimits{changed, plan}.of(*why);
  if (!limit) return false;
  const std::uint32_t project = core_.policy_.last->pass.owners.projects()[limit->node];
  const std::string owner = owner_text(core_.policy_.config.projects[project]);
  const auto unit = static_cast<std::int64_t>(granularity());
  add_new(all, record_of(kind_ == BandKind::Cpu ? "slots_max" : "gpu_slots_max", owner, slots_value(limit->need * unit),
                         slots_value(limit->have * unit),
                         "limit of " + owner + ": with it, it would hold " + decimal_text(limit->need * unit) + " of " +
                             decimal_text(limit->have * unit)));
  changed.share_nodes[limit->node].slots_max = policy::kUnlimited;
  return true;
}

/// Adds the rule, and takes it out of the snapshot; false: it is the last that counts.
bool PolicyAnswers::Explainer::add_hold(const policy::Explanation& why, policy::Snapshot& changed,
                                        Value::List& all) const {
  const auto unit = static_cast<std::int64_t>(granularity());
  const std::string own = to_string(job_.id);
  const auto text = [&](std::int64_t amount) {
    const bool memory = why.resource == policy::Resource::Memory;
    return memory ? decimal_text(amount / 1024 * 1000 / 1024) + " MiB" : decimal_text(amount);
  };
  if (why.hold == policy::Hold::AtFairShare) {
    const std::int64_t would = why.have * unit + static_cast<std::int64_t>(step());
    add_new(all, record_of("fair_share", own, slots_value(would), slots_value(why.need * unit),
                           "fair share: with more it would hold " + text(would) + " of the " + text(why.need * unit) +
                               " slots of its share"));
    std::int64_t& weight = changed.workloads[what_if_->subject()].weight;
    return std::exchange(weight, kWeightMax) != kWeightMax;
  }
  if (why.hold == policy::Hold::NoRoom || why.hold == policy::Hold::NeverFits) {
    const std::int64_t need = why.need * unit + (why.hold == policy::Hold::NoRoom ? step_beyond_first() : 0);
    if (!has_row(all, "room", own) && !has_row(all, "feasible", own) && !has_row(all, "promised", own))
      add_new(all, record_of(rule_of(why.hold), own, slots_value(need), slots_value(why.have * unit),
                             std::string{why.hold == policy::Hold::NoRoom ? "no room" : "infeasible"} + ": it needs " +
                                 text(need) + ", and the roomiest place has " + text(why.have * unit)));
    return false;
  }
  const bool guarantee = why.hold == policy::Hold::ProjectGuarantee;
  const std::size_t projects = core_.policy_.config.projects.size();
  if ((why.hold != policy::Hold::ProjectLimit && !guarantee) || why.subject == policy::kNone ||
      why.subject % (projects + 1) >= projects)
    return false;
  const std::string owner = owner_text(core_.policy_.config.projects[why.subject % (projects + 1)]);
  const bool memory = why.resource == policy::Resource::Memory;
  add_new(all, record_of(project_key(kind_, why), owner, memory ? Value{why.need} : slots_value(why.need),
                         memory ? Value{why.have} : slots_value(why.have),
                         (guarantee ? "guarantee of " : "limit of ") + owner + ": with it, it would hold " +
                             text(why.need) + " of " + text(why.have)));
  policy::ResourceShare& share = changed.projects[why.subject].shares[static_cast<std::size_t>(why.resource)];
  if (!guarantee) return std::exchange(share.limit, policy::kUnlimited) != policy::kUnlimited;
  return std::exchange(share.guaranteed, std::max(share.guaranteed, kAmountMax)) < kAmountMax;
}

/// Takes one rule after the other that holds the job out of the next pass, until it gets its next step.
void PolicyAnswers::Explainer::add_holds_of_policy(Value::List& all) {
  if (!what_if_.has_value()) return;
  what_if_->begin();
  policy::Snapshot changed = with_step();
  for (;;) {
    const std::optional<policy::Plan> plan = what_if_->pass(changed);
    if (!plan.has_value() || what_if_->is_more(changed, *plan)) return;
    if (add_share_limit(*plan, changed, all)) continue;
    const policy::Explanation* why = what_if_->why(*plan);
    if (why == nullptr || !add_hold(*why, changed, all)) return;
  }
}

Value::List PolicyAnswers::Explainer::holds() {
  Value::List all;
  const std::string text = core_.hold_of(job_, kind_);
  if (text.empty() && !job_.status.on_hold) return all;
  if (!text.empty()) all.push_back(first_hold(text));
  if (job_.status.on_hold)
    add_new(all, record_of("hold", to_string(job_.id), Value{}, Value{},
                           "it is on hold by an operator: `release` lets it go"));
  Value::List more;
  add_limits(more);
  add_own_cap(more);
  for (const Value& each : more) add_new(all, *each.record());
  add_holds_of_policy(all);
  return all;
}

}  // namespace penstock::supervisor
