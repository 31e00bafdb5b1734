#include <algorithm>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

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
      const Bound bound{waits.project, waits.resource, waits.hold == policy::Hold::ProjectGuarantee, 0, 0};
      return record_of(bound.key(kind_), owner_text(core_.policy_.config.projects[waits.project]), need, had, text);
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
    add_cap(same);
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
    for (const Job* each : jobs_under(by.whom)) {
      if (each == &job_) continue;
      running += each->shares->rules.has_run ? 1 : 0;
      waiting += core_.view_.is_waiting(*each) ? 1 : 0;
      waiting_milli += core_.view_.is_waiting(*each) ? each->shares->kinds[static_cast<std::size_t>(kind_)].demand : 0;
      milli += each->shares->rules.exempt ? 0 : core_.view_.milli_held(*each, kind_);
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

void PolicyAnswers::Explainer::add_cap(Value::List& all) const {
  const std::uint32_t cap = job_.spec.policy.slots_max;
  const std::uint64_t would = core_.view_.milli_held(job_, kind_) + step();
  if (cap == 0 || would <= std::uint64_t{cap} * 1000) return;
  all.push_back(record_of("cap", to_string(job_.id), decimal_value(would), Value{std::int64_t{cap}},
                          "slots_max of its own: with more it would hold " + decimal_text(would) + " of the " +
                              std::to_string(cap) + " that it may hold"));
}

void PolicyAnswers::Explainer::add_bounds(Value::List& all) const {
  for (const Bound& bound : bounds_in(core_.policy_.config)) {
    const std::string subject = owner_text(core_.policy_.config.projects[bound.project]);
    const bool memory = bound.resource == policy::Resource::Memory;
    const auto text = [memory](std::int64_t amount) {
      return memory ? decimal_text(amount / 1024 * 1000 / 1024) + " MiB" : decimal_text(amount);
    };
    add_new(all, record_of(bound.key(kind_), subject, memory ? Value{bound.would_hold} : slots_value(bound.would_hold),
                           memory ? Value{bound.may_hold} : slots_value(bound.may_hold),
                           (bound.guarantee ? "guarantee of " : "limit of ") + subject + ": with it, it would hold " +
                               text(bound.would_hold) + " of " + text(bound.may_hold)));
  }
}

void PolicyAnswers::Explainer::add_share(Value::List& all) const {
  const std::optional<ShareView> view = shares();
  if (!view.has_value()) return;
  const std::int64_t share = view->share();
  if (share >= view->need) return;
  const auto granularity =
      static_cast<std::int64_t>(core_.policy_.divisions.at(domain_of(job_.shares->pool.position, kind_)).granularity);
  add_new(all, record_of("fair_share", to_string(job_.id), slots_value(view->need * granularity),
                         slots_value(share * granularity),
                         "fair share: with more it would hold " + decimal_text(view->need * granularity) + " of the " +
                             decimal_text(share * granularity) + " slots of its share"));
}

/// Counts the slots that would leave for it, by the rules of its pool.
void PolicyAnswers::Explainer::add_room(Value::List& all) const {
  const RoomView view = room();
  const std::string own = to_string(job_.id);
  const bool reported = has_row(all, "room", own) || has_row(all, "feasible", own) || has_row(all, "promised", own);
  if (reported || view.fits(step(), may_come_back(view, core_.view_.precedence_of(job_)))) return;
  const bool never = !view.fits(step(), view.held());
  add_new(all, record_of(never ? "feasible" : "room", own, decimal_value(step()), decimal_value(view.roomiest()),
                         std::string{never ? "infeasible" : "no room"} + ": it needs " + decimal_text(step()) +
                             ", and the roomiest place has " + decimal_text(view.roomiest())));
}

Value::List PolicyAnswers::Explainer::holds() const {
  Value::List all;
  const std::string text = core_.hold_of(job_, kind_);
  if (text.empty() && !job_.status.on_hold) return all;
  if (!text.empty()) all.push_back(first_hold(text));
  if (job_.status.on_hold)
    add_new(all, record_of("hold", to_string(job_.id), Value{}, Value{},
                           "it is on hold by an operator: `release` lets it go"));
  Value::List more;
  add_limits(more);
  add_cap(more);
  for (const Value& each : more) add_new(all, *each.record());
  add_bounds(all);
  add_share(all);
  add_room(all);
  return all;
}

}  // namespace penstock::supervisor
