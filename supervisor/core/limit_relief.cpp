// SupervisorCore: what would free a job that a limit or its own cap holds, for `explain`.
#include <algorithm>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// So many jobs are named as alternatives, as in policy_relief.cpp.
constexpr std::size_t kReliefRowsMax = 3;

Value::Record row(const char* what, std::string of, std::string how) {
  return {{"what", what}, {"of", std::move(of)}, {"how", std::move(how)}};
}

const JobLimits* limits_named(const Job& job, const std::string& whom) {
  for (const LimitedBy& by : job.shares->rules.limits)
    if (by.whom == whom) return &by.limits;
  return nullptr;
}

}  // namespace

/// It holds all that its own cap allows, and has more to run. A pass is not shown what is beyond a cap, and so does not
/// say that it holds anybody.
bool SupervisorCore::is_at_cap(const Job& job, BandKind kind) const {
  const std::uint32_t cap = job.spec.policy.slots_max;
  if (cap == 0) return false;
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  const std::uint64_t held = milli_held(job, kind);
  if (held + share.portion.milli <= std::uint64_t{cap} * 1000) return false;
  std::uint64_t runnable = job.homeless.size();
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind) runnable += runnable_for(job, BandSlot{i});
  return runnable * share.portion.run_milli > held;
}

/// What keeps a job from more: a rule of the plan, a limit, or its own cap. Empty: nothing does.
std::string SupervisorCore::hold_of(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.barrier.waits()) return barrier_hold(job, kind);
  if (share.hold.empty() && !share.gave_back.empty() && milli_held(job, kind) == 0) return share.gave_back;
  if (!share.hold.empty() || !is_at_cap(job, kind)) return share.hold;
  return "slots_max: it holds " + decimal_text(milli_held(job, kind)) + " of the " +
         std::to_string(job.spec.policy.slots_max) + " that it may hold";
}

/// Jobs that count for the limit that holds this one, in the order in which they have their turns.
std::vector<const Job*> SupervisorCore::jobs_under(const std::string& whom) const {
  std::vector<const Job*> jobs;
  for (const JobId id : active_)
    if (const Job& job = *jobs_[id.value()]; job.shares != nullptr && limits_named(job, whom) != nullptr)
      jobs.push_back(&job);
  std::stable_sort(jobs.begin(), jobs.end(), [this](const Job* a, const Job* b) { return goes_before(*a, *b); });
  return jobs;
}

/// Of how many jobs there are: who comes next is helped by the end of any that has its turn, whether it runs or waits
/// for room; who does not, by that of the one right before it, which has had its own turn then. Of jobs that wait the
/// same, with starts.
void SupervisorCore::add_turns(const Job& job, Value::List& rows) const {
  const JobRules& rules = job.shares->rules;
  const bool running = rules.held_by == LimitRule::RunningJobs;
  const char* what = running ? "end" : "start";
  const std::vector<const Job*> jobs = jobs_under(rules.held_by_whom);
  const Job* before = nullptr;
  for (const Job* each : jobs) {
    if (each == &job) break;
    const JobRules& other = each->shares->rules;
    if (other.held_by == rules.held_by && other.held_by_whom == rules.held_by_whom) before = each;
  }
  if (before != nullptr) {
    rows.emplace_back(row(what, to_string(before->id), ""));
    return;
  }
  for (const Job* each : jobs) {
    if (each == &job || rows.size() >= kReliefRowsMax) continue;
    if (is_waiting(*each) || (running && each->shares->rules.has_run))
      rows.emplace_back(row(what, to_string(each->id), ""));
  }
}

/// Of how many slots: ends each of which leaves enough for one more portion, or for all of a gang; if there is none,
/// the first that do so together.
void SupervisorCore::add_ends_under_limit(const Job& job, BandKind kind, std::uint64_t most, Value::List& rows) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  const std::uint32_t gang = share.bound ? 0 : job.spec.policy.gang;
  const std::uint64_t need = gang > 0 ? std::uint64_t{gang} * 1000 : share.portion.milli;
  std::uint64_t taken = milli_held(job, kind);
  std::vector<const Job*> others;
  for (const Job* each : jobs_under(job.shares->rules.held_by_whom)) {
    const std::uint64_t held = each == &job || each->shares->rules.exempt ? 0 : milli_held(*each, kind);
    if (held > 0) others.push_back(each), taken += held;
  }
  for (const Job* each : others)
    if (rows.size() < kReliefRowsMax && taken - milli_held(*each, kind) + need <= most)
      rows.emplace_back(row("end", to_string(each->id), ""));
  std::string names;
  for (std::size_t i = 0; i < others.size() && rows.empty(); ++i) {
    taken -= milli_held(*others[i], kind);
    names += (names.empty() ? "" : ", ") + to_string(others[i]->id);
    if (taken + need <= most) rows.emplace_back(row("end", names, "together"));
  }
}

Value::List SupervisorCore::relief_of_limit(const Job& job, BandKind kind) const {
  Value::List rows;
  const JobRules& rules = job.shares->rules;
  const JobLimits* limits = limits_named(job, rules.held_by_whom);
  if (limits == nullptr) return rows;
  if (rules.held_by == LimitRule::RunningJobs || rules.held_by == LimitRule::WaitingJobs) {
    add_turns(job, rows);
  } else if (rules.held_by == (kind == BandKind::Cpu ? LimitRule::Slots : LimitRule::GpuSlots)) {
    const std::int64_t most = kind == BandKind::Cpu ? limits->slots_max : limits->gpu_slots_max;
    add_ends_under_limit(job, kind, static_cast<std::uint64_t>(most) * 1000, rows);
  }
  return rows;
}

}  // namespace penstock::supervisor
