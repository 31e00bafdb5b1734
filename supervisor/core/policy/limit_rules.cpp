#include "supervisor/core/policy/limit_rules.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/coverage_mark.hpp"
#include "common/base/quantity.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

Error too_large(const std::string& subject, std::uint64_t slots, const char* unit, const LimitedBy& by,
                std::int64_t most) {
  return {ErrorCode::LimitExceeded, subject,
          "needs " + std::to_string(slots) + unit + " at once, and " + by.whom + " may have " + std::to_string(most),
          "ask for less, or for the limit to be raised"};
}

/// Refuses a request that is above a limit of the job by itself: of all its jobs together, or of each.
Result<void> check_slots(const std::string& subject, const std::vector<LimitedBy>& limits, BandKind kind,
                         std::uint64_t slots) {
  const bool cpu = kind == BandKind::Cpu;
  for (const LimitedBy& by : limits)
    for (const std::int64_t most : {cpu ? by.limits.slots_max : by.limits.gpu_slots_max,
                                    cpu ? by.limits.job_slots_max : by.limits.job_gpu_slots_max})
      if (most != kUnbounded && slots > static_cast<std::uint64_t>(most))
        return too_large(subject, slots, cpu ? " slots" : " GPU slots", by, most);
  return {};
}

/// Refuses a job that takes less at once than a queue is for.
Result<void> check_least(const std::string& subject, const std::vector<LimitedBy>& limits, std::uint64_t slots) {
  for (const LimitedBy& by : limits)
    if (by.limits.job_slots_min != kUnbounded && slots < static_cast<std::uint64_t>(by.limits.job_slots_min))
      return Error{ErrorCode::LimitExceeded, subject,
                   "needs " + std::to_string(slots) + " slots at once, and job_slots_min of " + by.whom + " is " +
                       std::to_string(by.limits.job_slots_min),
                   "ask for more, or name another queue"};
  return {};
}

/// Refuses a job with a time limit of its own that is above one of the site.
Result<void> check_own_time(const std::string& subject, const std::vector<LimitedBy>& limits, Duration own) {
  for (const LimitedBy& by : limits)
    if (by.limits.time_max > Duration{0} && own > by.limits.time_max)
      return Error{
          ErrorCode::LimitExceeded, subject,
          "has a time_limit of " + to_text(own) + ", and time_max of " + by.whom + " is " + to_text(by.limits.time_max),
          "give it a time_limit of at most that"};
  return {};
}

/// Refuses a template that may run for longer than a limit allows.
Result<void> check_time(const std::string& subject, const std::vector<LimitedBy>& limits, const Template& wanted) {
  for (const LimitedBy& by : limits) {
    if (by.limits.time_max == Duration{0}) continue;
    if (wanted.time_limit > Duration{0} && wanted.time_limit <= by.limits.time_max) continue;
    return Error{
        ErrorCode::LimitExceeded, subject,
        "template '" + wanted.name + "' has " +
            (wanted.time_limit == Duration{0} ? "no time limit" : "a time limit of " + to_text(wanted.time_limit)) +
            ", and time_max of " + by.whom + " is " + to_text(by.limits.time_max),
        "give it a time_limit of at most that, or the job one"};
  }
  return {};
}

std::string admission_text(const Admission& admission, const std::string& whom) {
  switch (admission.rule) {
    case LimitRule::None: return {};
    case LimitRule::OnHold: return "it is on hold by an operator: `release` lets it go";
    case LimitRule::RunningJobs:
      return "running_jobs_max of " + whom + " is " + std::to_string(admission.most) + ", and " +
             std::to_string(admission.taken) + " run or come before it";
    case LimitRule::WaitingJobs:
      return "waiting_jobs_max of " + whom + " is " + std::to_string(admission.most) + ", and " +
             std::to_string(admission.taken) + " wait before it";
    case LimitRule::WaitingSlots:
    case LimitRule::WaitingGpuSlots:
      return std::string{admission.rule == LimitRule::WaitingSlots ? "waiting_slots_max" : "waiting_gpu_slots_max"} +
             " of " + whom + " is " + std::to_string(admission.most) + ", and jobs that wait for " +
             decimal_text(admission.taken) + " come before it";
    case LimitRule::Slots:
    case LimitRule::GpuSlots: break;
  }
  return std::string{admission.rule == LimitRule::Slots ? "slots_max" : "gpu_slots_max"} + " of " + whom + " is " +
         std::to_string(admission.most) + ", and others have " + decimal_text(admission.taken) +
         " of them or come before it";
}

/// An allocation unit of a gang that consolidation moves has a promised place already, and counts as held: otherwise
/// another job takes its share of the limit meanwhile, and the gang stays incomplete.
std::uint64_t milli_on_the_move(const Job& job, const KindShare& share, const WorkerTable& workers) {
  std::uint64_t milli = 0;
  if (job.spec.policy.gang == 0 || share.bound) return milli;
  for (const std::vector<PromisedPlace>& places : share.promised)
    for (const PromisedPlace& place : places)
      if (workers[place.band].alive && !workers[place.band].draining) milli += place.milli;
  return milli;
}

}  // namespace

Result<void> LimitRules::check_rules_of(const JobSpec& spec) const {
  const PolicyConfig& config = policy_.config;
  PENSTOCK_TRY(check_owner(config, spec.owner, spec.policy));
  PENSTOCK_TRY(check_qos(config, spec.owner, spec.policy));
  PENSTOCK_TRY(check_queue(config, spec.owner, spec.policy));
  if (spec.policy.user_factor > kUserFactorMax)
    return Error{ErrorCode::InvalidArgument, "user_factor", "is above 1: users may only lower theirs", "use 0 to 1"};
  return check_active_jobs(spec, nullptr);
}

Result<void> LimitRules::check_active_jobs(const JobSpec& spec, const Job* changed) const {
  const auto has_it = [changed](const LimitedBy& by) {
    if (changed == nullptr) return false;
    const std::vector<LimitedBy>& own = changed->shares->rules.limits;
    return std::any_of(own.begin(), own.end(), [&](const LimitedBy& each) { return each.whom == by.whom; });
  };
  for (const LimitedBy& by : limits_of(policy_.config, spec.owner, spec.policy)) {
    if (by.limits.active_jobs_max == kUnbounded || has_it(by) || spec.parent.any()) continue;
    const std::int64_t active = indices_.limited.count(by.whom);
    if (active >= by.limits.active_jobs_max)
      return Error{ErrorCode::LimitExceeded, by.whom,
                   "has " + std::to_string(active) + " jobs that have not ended, and active_jobs_max is " +
                       std::to_string(by.limits.active_jobs_max),
                   "submit it again when one of them has ended"};
  }
  return {};
}

Result<void> LimitRules::check_limits(const JobSpec& spec, const GraphShape& shape) const {
  if (!view_.policed() || qos_of(policy_.config, spec.owner, spec.policy).exempt) return {};
  const std::vector<LimitedBy> limits = limits_of(policy_.config, spec.owner, spec.policy);
  if (limits.empty()) return {};
  const std::string subject = "job '" + spec.name + "'";
  const bool ends = spec.time_limit > Duration{0};
  if (ends) PENSTOCK_TRY(check_own_time(subject, limits, spec.time_limit));
  std::uint64_t largest = 0;
  for (const Template& wanted : shape.graph().templates) {
    if (!ends) PENSTOCK_TRY(check_time(subject, limits, wanted));  // Else no subtask outlives its job.
    const BandKind kind = wants_gpu(wanted) ? BandKind::Gpu : BandKind::Cpu;
    const auto slots = static_cast<std::uint64_t>((wanted.request.slots.value() + 999) / 1000);
    if (slots == 0) continue;
    const std::uint64_t at_once = std::max<std::uint64_t>(slots, spec.policy.gang);
    PENSTOCK_TRY(check_slots(subject, limits, kind, at_once));
    if (kind == BandKind::Cpu) largest = std::max(largest, at_once);
  }
  PENSTOCK_TRY(check_least(subject, limits, largest));
  // A run that takes most of a device's memory takes as much of its slots.
  const std::uint64_t on_devices = units_.run_milli_on_devices(shape.graph().templates, spec);
  if (on_devices == 0) return {};
  return check_slots(subject, limits, BandKind::Gpu, (on_devices + 999) / 1000);
}

Result<void> LimitRules::check_move(const JobSpec& changed, const Job& job) const {
  const std::string& account = changed.policy.account;
  if (!account.empty() && find_account(policy_.config, account) < 0)
    return Error{ErrorCode::NotFound, "account '" + account + "'", "is not known", "`penstock shares` lists them"};
  if (job.shares->rules.has_run)
    return Error{ErrorCode::WrongState, to_string(job.id), "has begun, and its use is charged already",
                 "only a job that waits can change its account"};
  PENSTOCK_TRY(check_owner(policy_.config, changed.owner, changed.policy));
  for (const LimitedBy& by : limits_of(policy_.config, changed.owner, changed.policy)) {
    if (by.limits.running_jobs_max == kUnbounded) continue;
    std::int64_t running = 0;
    for (const JobId id : indices_.active) {
      const Job& each = jobs_[id];
      if (each.shares == nullptr || !each.shares->rules.has_run) continue;
      const std::vector<LimitedBy>& own = each.shares->rules.limits;
      running += std::count_if(own.begin(), own.end(), [&](const LimitedBy& of) { return of.whom == by.whom; });
    }
    if (running >= by.limits.running_jobs_max)
      return Error{ErrorCode::LimitExceeded, by.whom,
                   "has " + std::to_string(running) + " jobs that run, and running_jobs_max is " +
                       std::to_string(by.limits.running_jobs_max),
                   "move it when one of them has ended"};
  }
  return {};
}

void LimitRules::open_rules(Job& job) {
  const PolicyConfig& config = policy_.config;
  const JobPolicy& wishes = job.spec.policy;
  const QosConfig& level = qos_of(config, job.spec.owner, wishes);
  JobRules& rules = job.shares->rules;
  rules.qos_factor = static_cast<double>(level.factor) / 1000;
  rules.level = level_position(config, level.name);
  rules.rank = level_ranks(config)[rules.level];
  rules.queue_factor = wishes.queue.empty() ? 0 : queue_factor(config, wishes.queue);
  rules.user_factor = static_cast<double>(std::min(wishes.user_factor, kUserFactorMax)) / kUserFactorMax;
  rules.usage_factor = level.usage_factor;
  rules.exempt = level.exempt;
  indices_.limited.remove(rules.limits);
  rules.limits = limits_of(config, job.spec.owner, wishes);
  indices_.limited.add(rules.limits);
}

void LimitRules::leave_admission(Job& job) const {
  std::uint64_t any = 0;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
    any += view_.milli_held(job, kind) + job.shares->kinds[static_cast<std::size_t>(kind)].demand;
  if (any == 0) job.shares->rules.has_run = false;
}

std::vector<AdmittedJob> LimitRules::admit(const Wanted& wanted) const {
  std::vector<std::pair<const Job*, MilliByKind>> jobs;
  for (const JobId id : policy_.agenda.in_sight()) {
    const Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    // A recovered job keeps its admission until its workers have reported its runs.
    const bool counts = view_.is_shown(job) || (job.status.recovering && !job.status.cancelling);
    if (!counts || (!job.status.on_hold && job.shares->rules.limits.empty())) continue;
    if (const std::optional<MilliByKind> demand = wanted(job)) jobs.emplace_back(&job, *demand);
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [this](const auto& a, const auto& b) { return view_.goes_before(*a.first, *b.first); });
  std::map<std::string, std::uint32_t> places;
  std::vector<JobLimits> limits;
  std::vector<std::string> whose;
  std::vector<AdmissionRequest> requests;
  for (const auto& [job, demand] : jobs) {
    const JobRules& rules = job->shares->rules;
    AdmissionRequest& request = requests.emplace_back();
    request.exempt = rules.exempt;
    request.nested = job->spec.parent.any();
    request.on_hold = job->status.on_hold;
    request.runs = rules.has_run || job->status.recovering;
    for (const LimitedBy& by : rules.limits) {
      const auto [place, is_new] = places.try_emplace(by.whom, static_cast<std::uint32_t>(limits.size()));
      if (is_new) limits.push_back(by.limits), whose.push_back(by.whom);
      request.limits.push_back(place->second);
    }
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      const KindShare& share = job->shares->kinds[kind];
      request.held[kind] = view_.milli_held(*job, static_cast<BandKind>(kind));
      if (request.held[kind] > 0) request.held[kind] += milli_on_the_move(*job, share, workers_);
      request.wanted[kind] = demand[kind];
      const bool gang = job->spec.policy.gang > 0 && !job->spec.policy.is_elastic() && !share.bound;
      request.gang = request.gang || gang;
      request.step[kind] = std::max<std::uint64_t>(gang ? demand[kind] : share.allocation_unit.milli, 1);
      if (job->status.recovering) request.wanted[kind] = std::max(request.held[kind], request.step[kind]);
    }
  }
  std::vector<AdmittedJob> admitted;
  for (const Admission& each : admit_by_limits(limits, requests)) {
    const bool named = each.rule != LimitRule::None && each.rule != LimitRule::OnHold;
    admitted.push_back({jobs[admitted.size()].first->id, each, named ? whose[each.limit] : "",
                        each.kept_for < jobs.size() ? jobs[each.kept_for].first->id : JobId::none()});
  }
  return admitted;
}

std::vector<SharedLimit> LimitRules::apply_limits() {
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    job.shares->rules.hold.clear();
    job.shares->rules.blocked_by = LimitRule::None;
    job.shares->rules.kept_for = JobId::none();
    job.shares->rules.cut = {};
  }
  const auto all = [](const Job& job) -> std::optional<MilliByKind> {
    return MilliByKind{job.shares->kinds[0].demand, job.shares->kinds[1].demand};
  };
  const std::vector<AdmittedJob> admitted = admit(all);
  std::vector<SharedLimit> shared = shared_limits(admitted);
  for (const AdmittedJob& each : admitted) {
    Job& job = jobs_[each.job];
    if (job.status.recovering) continue;
    std::array<const SharedLimit*, kBandKinds> divided{};
    for (const SharedLimit& limit : shared)
      if (std::binary_search(limit.jobs.begin(), limit.jobs.end(), each.job))
        divided[static_cast<std::size_t>(limit.kind)] = &limit;
    cut(job, each, divided);
  }
  return shared;
}

void LimitRules::cut(Job& job, const AdmittedJob& admitted,
                     const std::array<const SharedLimit*, kBandKinds>& divided) const {
  JobShares& shares = *job.shares;
  JobRules& rules = shares.rules;
  const Admission& admission = admitted.admission;
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    if (divided[kind] != nullptr) continue;
    rules.cut[kind] = admission.allowed[kind] < shares.kinds[kind].demand;
    if (!rules.cut[kind]) continue;
    // With less than its least an elastic gang has none; of any other all or nothing is admitted.
    const bool too_few = job.spec.policy.is_elastic() && !shares.kinds[kind].bound &&
                         admission.allowed[kind] < std::uint64_t{job.spec.policy.gang} * 1000;
    shares.kinds.edit(kind).demand = too_few ? 0 : admission.allowed[kind];
  }
  for (std::size_t kind = 0; kind < kBandKinds; ++kind)
    if (const SharedLimit* limit = divided[kind]; limit != nullptr) {
      PENSTOCK_COVERAGE_MARK("a limit is divided with the shares of a pool");
      rules.blocked_by = kind == 0 ? LimitRule::Slots : LimitRule::GpuSlots;
      rules.blocked_by_whom = limit->whom;
      rules.hold = std::string{kind == 0 ? "slots_max" : "gpu_slots_max"} + " of " + limit->whom + " is " +
                   std::to_string(limit->most) + ", which its jobs share";
    }
  if (admission.rule == LimitRule::None || rules.blocked_by != LimitRule::None) return;
  PENSTOCK_COVERAGE_MARK("a limit keeps a job from slots");
  rules.blocked_by = admission.rule;
  rules.blocked_by_whom = admitted.owner;
  rules.hold = admission_text(admission, admitted.owner);
  if (admitted.kept_for.valid()) {
    rules.kept_for = admitted.kept_for;
    rules.hold += "; of these " + decimal_text(admission.kept_milli) + (admission.kept_milli > 1000 ? " are" : " is") +
                  " kept for " + to_string(admitted.kept_for) + ", which takes more at once";
  }
  if (admission.rule == LimitRule::OnHold) rules.has_run = false;
}

bool LimitRules::shares_limits(const Job& job, const Admission& admission) const {
  const JobShares& shares = *job.shares;
  const bool by_number = admission.rule == LimitRule::OnHold || admission.rule == LimitRule::RunningJobs ||
                         admission.rule == LimitRule::WaitingJobs;
  if (by_number || job.status.recovering || shares.rules.exempt || shares.pool.spreads) return false;
  if (!view_.shares_slots(shares.pool.position)) return false;
  // A gang that runs is not cut, as a division might.
  if (job.spec.policy.gang > 0 && holds_slots(shares)) return false;
  if (shares.rules.has_run) return true;
  // A job that the limits of slots admit nothing was not counted by the limits of numbers either: a division would
  // begin more jobs than those allow.
  const bool admitted = admission.allowed[0] + admission.allowed[1] > 0;
  return std::none_of(shares.rules.limits.begin(), shares.rules.limits.end(), [admitted](const LimitedBy& by) {
    const bool by_wait = by.limits.waiting_slots_max != kUnbounded || by.limits.waiting_gpu_slots_max != kUnbounded;
    return by_wait || (!admitted && by.limits.running_jobs_max != kUnbounded);
  });
}

std::vector<SharedLimit> LimitRules::shared_limits(const std::vector<AdmittedJob>& admitted) const {
  struct Group {
    SharedLimit limit;
    std::uint64_t allowed = 0;
    bool binds = false;
  };
  struct Limit {
    std::uint64_t allowed = 0;  ///< Of all jobs under it.
    std::map<std::uint32_t, Group> by_pool;
  };
  std::map<std::pair<std::string, std::size_t>, Limit> limits;
  for (const AdmittedJob& each : admitted) {
    const Job& job = jobs_[each.job];
    const bool shares = shares_limits(job, each.admission);
    for (std::size_t kind = 0; kind < kBandKinds && !job.shares->rules.exempt; ++kind)
      for (const LimitedBy& by : job.shares->rules.limits) {
        const std::int64_t most = kind == 0 ? by.limits.slots_max : by.limits.gpu_slots_max;
        const std::uint64_t allowed = each.admission.allowed[kind];
        const std::uint64_t demand = job.shares->kinds[kind].demand;
        if (most == kUnbounded) continue;
        Limit& limit = limits[{by.whom, kind}];
        limit.allowed += allowed;
        if (!shares || demand == 0) continue;
        const std::uint32_t pool = job.shares->pool.position;
        Group& group = limit.by_pool[pool];
        group.limit.kind = static_cast<BandKind>(kind), group.limit.pool = pool;
        group.limit.whom = by.whom, group.limit.most = most;
        group.limit.jobs.push_back(each.job);
        group.allowed += allowed;
        group.binds = group.binds || allowed < demand;
      }
  }
  std::vector<SharedLimit> shared;
  for (auto& [whose, limit] : limits)
    for (auto& [pool, group] : limit.by_pool) {
      if (!group.binds) continue;
      const std::uint64_t others = limit.allowed - group.allowed;
      const std::uint64_t all = static_cast<std::uint64_t>(group.limit.most) * 1000;
      group.limit.milli = all - std::min(all, others);
      std::sort(group.limit.jobs.begin(), group.limit.jobs.end());
      shared.push_back(std::move(group.limit));
    }
  return shared;
}

void LimitRules::note_limit_holds(Job& job) const {
  if (job.shares == nullptr) return;
  JobRules& rules = job.shares->rules;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli == 0) continue;
    KindShare& share = job.shares->kinds.edit(kind);
    if (share.why.hold.empty() && rules.cut[static_cast<std::size_t>(kind)]) share.why.hold = rules.hold;
    if (!rules.has_run && !job.status.on_hold) rules.has_run = view_.milli_held(job, kind) > 0;
  }
}

Result<Value> LimitRules::describe_limits() const {
  if (!view_.policed())
    return Error{ErrorCode::WrongState, "policy", "none is in force: nothing is limited",
                 "configure a [[policy.pool]] and `penstock reload`"};
  struct Count {
    JobLimits limits;
    std::int64_t active = 0;
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::uint64_t slots[kBandKinds] = {};
  };
  std::map<std::string, Count> counts;
  for (const UserConfig& user : policy_.config.users) counts["user '" + user.name + "'"].limits = user.limits;
  for (const AccountConfig& account : policy_.config.accounts)
    if (account.limits.any()) counts["account '" + account.name + "'"].limits = account.limits;
  for (const JobId id : indices_.active) {
    const Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    for (const LimitedBy& by : job.shares->rules.limits) {
      Count& count = counts[by.whom];
      count.limits = by.limits;
      ++count.active;
      count.running += job.shares->rules.has_run ? 1 : 0;
      count.waiting += view_.is_waiting(job) ? 1 : 0;
      for (std::size_t kind = 0; kind < kBandKinds && !job.shares->rules.exempt; ++kind)
        count.slots[kind] += view_.milli_held(job, static_cast<BandKind>(kind));
    }
  }
  const auto most = [](std::int64_t limit) { return limit == kUnbounded ? Value{} : Value{limit}; };
  Value::List rows;
  for (const auto& [whom, count] : counts) {
    Value::Record row{{"whom", whom},
                      {"active_jobs", count.active},
                      {"running_jobs", count.running},
                      {"waiting_jobs", count.waiting},
                      {"slots", decimal_value(count.slots[0])},
                      {"gpu_slots", decimal_value(count.slots[1])}};
    for (const LimitField& field : kLimitFields) row.emplace_back(field.name, most(count.limits.*field.amount));
    row.emplace_back("time_max",
                     count.limits.time_max == Duration{0} ? Value{} : Value{to_text(count.limits.time_max)});
    rows.emplace_back(std::move(row));
  }
  return Value{std::move(rows)};
}

}  // namespace penstock::supervisor
