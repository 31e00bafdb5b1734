#include <algorithm>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/driver/gang_barriers.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {
namespace {

const JobLimits* limits_named(const Job& job, const std::string& whom) {
  for (const LimitedBy& by : job.shares->rules.limits)
    if (by.whom == whom) return &by.limits;
  return nullptr;
}

/// The hold by drained workers: the job has slots on workers that take nothing new, and more waiting work than its
/// other slots can run. Empty: it is not held so.
template <class RunnableOn>
std::string hold_of_drained(const WorkerTable& workers, const Job& job, BandKind kind, RunnableOn runnable_on) {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  std::uint64_t there = 0;
  std::uint64_t open = 0;
  std::uint64_t runnable = job.place.unschedulable.size();
  std::string names;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const BandEntry& band = workers[BandSlot{i}];
    if (!band.alive || band.kind != kind) continue;
    const std::uint64_t held = job.shares->of(BandSlot{i}).planned;
    if (!band.draining) {
      open += held;
      runnable += runnable_on(BandSlot{i});
    } else if (held > 0) {
      there += held;
      names += (names.empty() ? "'" : ", '") + workers.worker_of(BandSlot{i}).description.name + "'";
    }
  }
  if (there == 0 || runnable * share.allocation_unit.run_milli <= open) return {};
  return "drained: " + decimal_text(there) + " of its slots are on " + names + ", where nothing new begins";
}

}  // namespace

bool PolicyAnswers::is_at_cap(const Job& job, BandKind kind) const {
  const std::uint32_t cap = job.spec.policy.slots_max;
  if (cap == 0) return false;
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  const std::uint64_t held = view_.milli_held(job, kind);
  if (held + share.allocation_unit.milli <= std::uint64_t{cap} * 1000) return false;
  std::uint64_t runnable = job.place.unschedulable.size();
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (workers_[BandSlot{i}].alive && workers_[BandSlot{i}].kind == kind)
      runnable += demand_.runnable_for(job, BandSlot{i});
  return runnable * share.allocation_unit.run_milli > held;
}

std::string PolicyAnswers::hold_of(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (policy_.agenda.is_hidden(job.id))
    return "policy.queue_depth: of jobs like it the policy looks at " + std::to_string(policy_.config.queue_depth) +
           " that wait; it is one of " + std::to_string(policy_.agenda.hidden_like(job.id)) + " behind them";
  if (share.gang.barrier->waits()) return barriers_.barrier_hold(job, kind);
  if (share.why.hold.empty() && !share.gang.gave_back.empty() && view_.milli_held(job, kind) == 0)
    return share.gang.gave_back;
  if (!share.why.hold.empty()) return share.why.hold;
  if (!is_at_cap(job, kind)) {
    if (view_.milli_held(job, kind) == 0) {
      if (job.place.unschedulable.empty() || job.graph.shape == nullptr) return {};
      const std::uint32_t first = job.place.unschedulable.front();
      const bool on_devices = wants_gpu(job.graph.shape->template_of(first));
      return on_devices == (kind == BandKind::Gpu) ? feasibility_.explain_unschedulable(job, first) : std::string{};
    }
    return hold_of_drained(workers_, job, kind, [&](BandSlot band) { return demand_.runnable_for(job, band); });
  }
  return "slots_max: it holds " + decimal_text(view_.milli_held(job, kind)) + " of the " +
         std::to_string(job.spec.policy.slots_max) + " that it may hold";
}

/// Jobs under the limit that holds this one, in the order in which they are admitted.
std::vector<const Job*> PolicyAnswers::Explainer::jobs_under(const std::string& whom) const {
  std::vector<const Job*> jobs;
  for (const JobId id : core_.indices_.active)
    if (const Job& job = core_.jobs_[id]; job.shares != nullptr && limits_named(job, whom) != nullptr)
      jobs.push_back(&job);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [this](const Job* a, const Job* b) { return core_.view_.goes_before(*a, *b); });
  return jobs;
}

/// Of the number of jobs: the end of any admitted job helps the next one in order, whether the admitted job runs or
/// waits for room; a later one is helped by the end of the one right before it. For the number of waiting jobs the
/// same, with starts.
void PolicyAnswers::Explainer::add_admission_rows(Value::List& rows) const {
  const JobRules& rules = job_.shares->rules;
  const bool running = rules.blocked_by == LimitRule::RunningJobs;
  const char* what = running ? "end" : "start";
  const std::vector<const Job*> jobs = jobs_under(rules.blocked_by_whom);
  const Job* before = nullptr;
  for (const Job* each : jobs) {
    if (each == &job_) break;
    const JobRules& other = each->shares->rules;
    if (other.blocked_by == rules.blocked_by && other.blocked_by_whom == rules.blocked_by_whom) before = each;
  }
  if (before != nullptr) {
    rows.emplace_back(remedy_row(what, to_string(before->id), ""));
    return;
  }
  for (const Job* each : jobs) {
    if (each == &job_ || rows.size() >= kRemedyRowsMax) continue;
    if (core_.view_.is_waiting(*each) || (running && each->shares->rules.has_run))
      rows.emplace_back(remedy_row(what, to_string(each->id), ""));
  }
}

/// Of the number of slots: ends each of which leaves enough for one more allocation unit, or for all of a gang; if
/// there is none, the first that do so together.
void PolicyAnswers::Explainer::add_ends_under_limit(std::uint64_t most, Value::List& rows) const {
  const std::uint64_t need = is_gang() ? std::uint64_t{job_.spec.policy.gang} * 1000 : share_.allocation_unit.milli;
  std::uint64_t taken = core_.view_.milli_held(job_, kind_);
  std::vector<const Job*> others;
  for (const Job* each : jobs_under(job_.shares->rules.blocked_by_whom)) {
    const std::uint64_t held = each == &job_ || each->shares->rules.exempt ? 0 : core_.view_.milli_held(*each, kind_);
    if (held > 0) others.push_back(each), taken += held;
  }
  if (taken + need <= most) {  // The rest is kept for one before it, which may wait for another limit.
    if (const JobId large = job_.shares->rules.kept_for; large.valid())
      rows.emplace_back(remedy_row("start", to_string(large), ""));
    return;
  }
  for (const Job* each : others)
    if (rows.size() < kRemedyRowsMax && taken - core_.view_.milli_held(*each, kind_) + need <= most)
      rows.emplace_back(remedy_row("end", to_string(each->id), ""));
  std::string names;
  for (std::size_t i = 0; i < others.size() && rows.empty(); ++i) {
    taken -= core_.view_.milli_held(*others[i], kind_);
    names += (names.empty() ? "" : ", ") + to_string(others[i]->id);
    if (taken + need <= most) rows.emplace_back(remedy_row("end", names, "together"));
  }
}

Value::List PolicyAnswers::Explainer::remedies_of_limit() const {
  Value::List rows;
  const JobRules& rules = job_.shares->rules;
  const JobLimits* limits = limits_named(job_, rules.blocked_by_whom);
  if (limits == nullptr) return rows;
  if (rules.blocked_by == LimitRule::RunningJobs || rules.blocked_by == LimitRule::WaitingJobs ||
      rules.blocked_by == LimitRule::WaitingSlots || rules.blocked_by == LimitRule::WaitingGpuSlots) {
    add_admission_rows(rows);
  } else if (rules.blocked_by == (kind_ == BandKind::Cpu ? LimitRule::Slots : LimitRule::GpuSlots)) {
    const std::int64_t most = kind_ == BandKind::Cpu ? limits->slots_max : limits->gpu_slots_max;
    add_ends_under_limit(static_cast<std::uint64_t>(most) * 1000, rows);
  }
  return rows;
}

}  // namespace penstock::supervisor
