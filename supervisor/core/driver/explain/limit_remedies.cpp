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
#include "supervisor/policy/snapshot.hpp"

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

/// A limit leaves more once jobs under it have ended, and those before this one; of waiting jobs, once others start.
void PolicyAnswers::Explainer::add_limit_rows(Value::List& rows) {
  const JobRules& rules = job_.shares->rules;
  const auto add_start = [&](JobId job) {
    rows.emplace_back(Value::Record{{"what", "start"}, {"of", to_string(job)}, {"how", ""}});
  };
  if (rules.kept_for.valid()) return add_start(rules.kept_for);
  Workloads begun;
  Workloads before;
  for (std::uint32_t i = 0; i < what_if_->subjects().size(); ++i) {
    const Job& other = job_at(i);
    const bool same = limits_named(other, rules.blocked_by_whom) != nullptr && i != what_if_->subject();
    if (same && (other.shares->rules.has_run || core_.view_.is_waiting(other)))
      begun.push_back(i);
    else if (same && core_.view_.goes_before(other, job_))
      before.push_back(i);
  }
  const auto in_order = [this](std::uint32_t a, std::uint32_t b) {
    return core_.view_.goes_before(job_at(a), job_at(b));
  };
  std::stable_sort(begun.begin(), begun.end(), in_order);
  std::stable_sort(before.begin(), before.end(), in_order);
  if (rules.blocked_by == LimitRule::WaitingJobs || rules.blocked_by == LimitRule::WaitingSlots ||
      rules.blocked_by == LimitRule::WaitingGpuSlots) {
    if (!before.empty()) return add_start(job_at(before.back()).id);
    for (const std::uint32_t each : begun)
      if (rows.size() < kRemedyRowsMax && core_.view_.is_waiting(job_at(each))) add_start(job_at(each).id);
    return;
  }
  begun.insert(begun.end(), before.begin(), before.end());
  for (const std::uint32_t each : holders())
    if (std::find(begun.begin(), begun.end(), each) == begun.end()) begun.push_back(each);
  add_ends(std::move(begun), rows);
}

}  // namespace penstock::supervisor
