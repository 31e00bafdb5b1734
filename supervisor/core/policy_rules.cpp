// SupervisorCore: the effects of levels of service, queues and limits on a job.
#include <algorithm>
#include <cmath>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/limit_admission.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

Error too_large(const std::string& subject, std::uint64_t slots, const char* unit, const LimitedBy& by,
                std::int64_t most) {
  return {ErrorCode::LimitExceeded, subject,
          "needs " + std::to_string(slots) + unit + " at once, and " + by.whom + " may have " + std::to_string(most),
          "ask for less, or for the limit to be raised"};
}

/// Refuses a request that is above a limit of the job by itself.
Result<void> check_slots(const std::string& subject, const std::vector<LimitedBy>& limits, BandKind kind,
                         std::uint64_t slots) {
  for (const LimitedBy& by : limits) {
    const std::int64_t most = kind == BandKind::Cpu ? by.limits.slots_max : by.limits.gpu_slots_max;
    if (most != kUnbounded && slots > static_cast<std::uint64_t>(most))
      return too_large(subject, slots, kind == BandKind::Cpu ? " slots" : " GPU slots", by, most);
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

/// Checks the job's level and queue, and the number of jobs that its owner already has.
Result<void> SupervisorCore::check_rules_of(const JobSpec& spec) const {
  const PolicyConfig& config = policy_.config;
  PENSTOCK_TRY(check_qos(config, spec.owner, spec.policy));
  PENSTOCK_TRY(check_queue(config, spec.owner, spec.policy));
  if (spec.policy.user_factor > kUserFactorMax)
    return Error{ErrorCode::InvalidArgument, "user_factor", "is above 1: users may only lower theirs", "use 0 to 1"};
  return check_active_jobs(spec, nullptr);
}

/// One more of them, `changed`, which is none of those that have these limits already; null: a new one.
Result<void> SupervisorCore::check_active_jobs(const JobSpec& spec, const Job* changed) const {
  const auto has_it = [changed](const LimitedBy& by) {
    if (changed == nullptr) return false;
    const std::vector<LimitedBy>& own = changed->shares->rules.limits;
    return std::any_of(own.begin(), own.end(), [&](const LimitedBy& each) { return each.whom == by.whom; });
  };
  for (const LimitedBy& by : limits_of(policy_.config, spec.owner, spec.policy)) {
    if (by.limits.active_jobs_max == kUnbounded || has_it(by)) continue;
    const std::int64_t active = indices_.limited.count(by.whom);
    if (active >= by.limits.active_jobs_max)
      return Error{ErrorCode::LimitExceeded, by.whom,
                   "has " + std::to_string(active) + " jobs that have not ended, and active_jobs_max is " +
                       std::to_string(by.limits.active_jobs_max),
                   "submit it again when one of them has ended"};
  }
  return {};
}

/// A gang or a subtask that is larger than a limit would wait for ever. Spec: policy-flux 8, request > max.
Result<void> SupervisorCore::check_limits(const JobSpec& spec, const GraphShape& shape) const {
  if (!policed() || qos_of(policy_.config, spec.owner, spec.policy).exempt) return {};
  const std::vector<LimitedBy> limits = limits_of(policy_.config, spec.owner, spec.policy);
  if (limits.empty()) return {};
  for (const Template& wanted : shape.graph().templates) {
    const BandKind kind = wants_gpu(wanted) ? BandKind::Gpu : BandKind::Cpu;
    const auto slots = static_cast<std::uint64_t>((wanted.request.slots.value() + 999) / 1000);
    if (slots == 0) continue;
    PENSTOCK_TRY(
        check_slots("job '" + spec.name + "'", limits, kind, std::max<std::uint64_t>(slots, spec.policy.gang)));
  }
  // A run that takes most of a device's memory takes as much of its slots.
  const std::uint64_t on_devices = run_milli_on_devices(shape.graph().templates, spec.policy);
  if (on_devices == 0) return {};
  return check_slots("job '" + spec.name + "'", limits, BandKind::Gpu, (on_devices + 999) / 1000);
}

/// As the policy in force has it now. REQUIRES: the job has shares.
void SupervisorCore::open_rules(Job& job) {
  const PolicyConfig& config = policy_.config;
  const JobPolicy& wishes = job.spec.policy;
  const QosConfig& level = qos_of(config, job.spec.owner, wishes);
  JobRules& rules = job.shares->rules;
  rules.qos_factor = static_cast<double>(level.factor) / 1000;
  rules.queue_factor = wishes.queue.empty() ? 0 : queue_factor(config, wishes.queue);
  rules.user_factor = static_cast<double>(std::min(wishes.user_factor, kUserFactorMax)) / kUserFactorMax;
  rules.usage_factor = level.usage_factor;
  rules.exempt = level.exempt;
  indices_.limited.remove(rules.limits);
  rules.limits = limits_of(config, job.spec.owner, wishes);
  indices_.limited.add(rules.limits);
}

/// Larger sums first, then more important ones, then earlier ones; as the last pass has left it.
bool SupervisorCore::goes_before(const Job& left, const Job& right) const {
  const auto sum = [](const Job& job) {
    return std::max(job.shares->kinds[0].priority, job.shares->kinds[1].priority);
  };
  // A criterion that does not count in the pool of a job is the same for all its jobs.
  const auto precedence = [this](const Job& job) {
    return parts_in(job.shares->pool).ordering == policy::Ordering::Priority ? precedence_of(job) : 0;
  };
  const auto position = [this](const Job& job) {
    return policy::goes_by_position(parts_in(job.shares->pool)) ? job.shares->position : 0;
  };
  if (sum(left) != sum(right)) return sum(left) > sum(right);
  if (precedence(left) != precedence(right)) return precedence(left) > precedence(right);
  return position(left) < position(right);
}

/// A job that holds nothing and has nothing to run lets another one begin instead, and must be admitted again.
void SupervisorCore::leave_admission(Job& job) const {
  std::uint64_t any = 0;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu})
    any += milli_held(job, kind) + job.shares->kinds[static_cast<std::size_t>(kind)].demand;
  if (any == 0) job.shares->rules.has_run = false;
}

/// Lowers the demand of jobs to the rest of their limits, before anything is divided: so policy keeps within the
/// limits, whatever its parts, and reserves nothing for a job that may not have it.
void SupervisorCore::apply_limits() {
  std::vector<Job*> jobs;
  for (const JobId id : policy_.agenda.in_sight()) {
    Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    job.shares->rules.hold.clear();
    job.shares->rules.blocked_by = LimitRule::None;
    job.shares->rules.kept_for = JobId::none();
    job.shares->rules.cut = {};
    // A recovered job keeps its admission until its workers have reported its runs.
    const bool counts = is_shown(job) || (job.recovering && !job.cancelling);
    if (counts && (job.on_hold || !job.shares->rules.limits.empty())) jobs.push_back(&job);
  }
  if (jobs.empty()) return;
  std::stable_sort(jobs.begin(), jobs.end(), [this](const Job* a, const Job* b) { return goes_before(*a, *b); });
  std::map<std::string, std::uint32_t> places;
  std::vector<JobLimits> limits;
  std::vector<std::string> whose;
  std::vector<AdmissionRequest> requests;
  for (const Job* job : jobs) {
    const JobRules& rules = job->shares->rules;
    AdmissionRequest& request = requests.emplace_back();
    request.exempt = rules.exempt;
    request.on_hold = job->on_hold;
    request.runs = rules.has_run || job->recovering;
    for (const LimitedBy& by : rules.limits) {
      const auto [place, is_new] = places.try_emplace(by.whom, static_cast<std::uint32_t>(limits.size()));
      if (is_new) limits.push_back(by.limits), whose.push_back(by.whom);
      request.limits.push_back(place->second);
    }
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      const KindShare& share = job->shares->kinds[kind];
      request.held[kind] = milli_held(*job, static_cast<BandKind>(kind));
      if (request.held[kind] > 0) request.held[kind] += milli_on_the_move(*job, share, workers_);
      request.wanted[kind] = share.demand;
      const bool gang = job->spec.policy.gang > 0 && !share.bound;
      request.gang = request.gang || gang;
      request.step[kind] = std::max<std::uint64_t>(gang ? share.demand : share.allocation_unit.milli, 1);
      if (job->recovering) request.wanted[kind] = std::max(request.held[kind], request.step[kind]);
    }
  }
  const std::vector<Admission> admissions = admit_by_limits(limits, requests);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    JobShares& shares = *jobs[i]->shares;
    if (jobs[i]->recovering) continue;
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      shares.rules.cut[kind] = admissions[i].allowed[kind] < shares.kinds[kind].demand;
      if (shares.rules.cut[kind]) shares.kinds.edit(kind).demand = admissions[i].allowed[kind];
    }
    if (admissions[i].rule == LimitRule::None) continue;
    PENSTOCK_COVERAGE_MARK("a limit keeps a job from slots");
    shares.rules.blocked_by = admissions[i].rule;
    shares.rules.blocked_by_whom = admissions[i].rule == LimitRule::OnHold ? "" : whose[admissions[i].limit];
    shares.rules.hold = admission_text(admissions[i], shares.rules.blocked_by_whom);
    if (admissions[i].kept_for < jobs.size()) {
      shares.rules.kept_for = jobs[admissions[i].kept_for]->id;
      shares.rules.hold += "; of these " + decimal_text(admissions[i].kept_milli) +
                           (admissions[i].kept_milli > 1000 ? " are" : " is") + " kept for " +
                           to_string(shares.rules.kept_for) + ", which takes more at once";
    }
    if (admissions[i].rule == LimitRule::OnHold) shares.rules.has_run = false;
  }
}

/// A job that no rule of the plan holds may be held by a limit. A job that has got slots counts as running from now on.
void SupervisorCore::note_limit_holds(Job& job) const {
  if (job.shares == nullptr) return;
  JobRules& rules = job.shares->rules;
  for (const BandKind kind : {BandKind::Cpu, BandKind::Gpu}) {
    if (job.shares->kinds[static_cast<std::size_t>(kind)].unit_milli == 0) continue;
    KindShare& share = job.shares->kinds.edit(kind);
    if (share.hold.empty() && rules.cut[static_cast<std::size_t>(kind)]) share.hold = rules.hold;
    if (!rules.has_run && !job.on_hold) rules.has_run = milli_held(job, kind) > 0;
  }
}

/// Whether the job has not begun, and no limit keeps it from beginning.
bool SupervisorCore::is_waiting(const Job& job) {
  const KindShares& kinds = job.shares->kinds;
  return !job.shares->rules.has_run && (kinds[0].demand > 0 || kinds[1].demand > 0);
}

/// How long a job is taken to run: as its queue says, else as its pool does. Spec: policy-flux 9.
Duration SupervisorCore::time_limit_of(const Job& job) const {
  const QueueConfig* queue =
      job.spec.policy.queue.empty() ? nullptr : find_queue(policy_.config, job.spec.policy.queue);
  if (queue != nullptr && queue->time_limit > Duration{0}) return queue->time_limit;
  return policy_.config.pools[job.shares->pool].time_limit;
}

/// The users and accounts with limits, the limits, and their present counts.
Result<Value> SupervisorCore::describe_limits() const {
  if (!policed())
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
      count.waiting += is_waiting(job) ? 1 : 0;
      for (std::size_t kind = 0; kind < kBandKinds && !job.shares->rules.exempt; ++kind)
        count.slots[kind] += milli_held(job, static_cast<BandKind>(kind));
    }
  }
  const auto most = [](std::int64_t limit) { return limit == kUnbounded ? Value{} : Value{limit}; };
  Value::List rows;
  for (const auto& [whom, count] : counts)
    rows.push_back(Value::Record{{"whom", whom},
                                 {"active_jobs", count.active},
                                 {"active_jobs_max", most(count.limits.active_jobs_max)},
                                 {"running_jobs", count.running},
                                 {"running_jobs_max", most(count.limits.running_jobs_max)},
                                 {"waiting_jobs", count.waiting},
                                 {"waiting_jobs_max", most(count.limits.waiting_jobs_max)},
                                 {"slots", decimal_value(count.slots[0])},
                                 {"slots_max", most(count.limits.slots_max)},
                                 {"gpu_slots", decimal_value(count.slots[1])},
                                 {"gpu_slots_max", most(count.limits.gpu_slots_max)}});
  return Value{std::move(rows)};
}

/// `set qos|queue JOB NAME`. Checked as at submission, so that a job that leaves `standby` is under its limits again.
Result<Value> SupervisorCore::set_rule(Job& job, const std::string& what, const std::string& name) {
  JobSpec changed = job.spec;
  std::string& rule = what == "qos" ? changed.policy.qos : changed.policy.queue;
  const std::string before = rule.empty() ? what == "qos" ? "normal" : "none" : rule;
  rule = name == "none" && what == "queue" ? "" : name;
  if (what == "qos" && name.empty()) return bad_argument("qos", "write: set qos JOB LEVEL");
  PENSTOCK_TRY(check_qos(policy_.config, changed.owner, changed.policy));
  PENSTOCK_TRY(check_queue(policy_.config, changed.owner, changed.policy));
  PENSTOCK_TRY(check_limits(changed, *job.shape));
  PENSTOCK_TRY(check_active_jobs(changed, &job));
  job.spec.policy = std::move(changed.policy);
  open_rules(job);
  record_change(job);
  policy_changed();
  return Value{Value::Record{{"job", to_string(job.id)}, {what, name}, {"was", before}}};
}

/// `set user-factor JOB VALUE`, from 0 to 1: counts from the next pass, where a sum of factors orders jobs.
Result<Value> SupervisorCore::set_user_factor(Job& job, const std::string& text) {
  double factor = 0;
  if (!parse(text, factor) || !(factor >= 0 && factor <= 1))
    return bad_argument("user-factor", "'" + text + "' is no number from 0 to 1");
  std::uint32_t& own = job.spec.policy.user_factor;
  const double before = static_cast<double>(own) / kUserFactorMax;
  own = static_cast<std::uint32_t>(std::lround(factor * kUserFactorMax));
  open_rules(job);
  record_change(job);
  policy_changed();
  return Value{Value::Record{{"job", to_string(job.id)}, {"user_factor", factor}, {"was", before}}};
}

/// `hold JOB`: its running attempts end, and no others begin until `release JOB`.
Result<Value> SupervisorCore::hold_by_request(const AdminRequest& request) {
  if (!policed())
    return Error{ErrorCode::WrongState, "policy", "none is in force, and jobs are held by it",
                 "configure a [[policy.pool]] and `penstock reload`"};
  const std::string whom = operand(request, 0);
  Job* job = jobs_.find(job_selector_of(whom));
  if (job == nullptr) return not_found("job '" + whom + "'", "`queue` lists those that run");
  if (job->shares == nullptr)
    return Error{
        ErrorCode::WrongState, to_string(job->id), "has ended already: " + std::string{to_string(job->state)}, {}};
  const bool hold = request.command == "hold";
  const bool before = std::exchange(job->on_hold, hold);
  if (before != hold) {
    record_change(*job);
    policy_changed();
  }
  return Value{Value::Record{{"job", to_string(job->id)}, {"on_hold", hold}, {"was", before}}};
}

}  // namespace penstock::supervisor
