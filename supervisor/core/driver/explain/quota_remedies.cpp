#include <algorithm>
#include <array>

#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"

namespace penstock::supervisor {
namespace {

/// Whole slots, or bytes, rounded up.
std::int64_t amount_to_set(policy::Resource resource, std::int64_t amount) {
  return resource == policy::Resource::Memory ? amount : (amount + 999) / 1000;
}

/// The amount that a job holds, or is promised: slots in thousandths, or memory in bytes. As a pass shows it.
std::int64_t amount_of(const PolicyView& view, const Job& other, BandKind kind, policy::Resource resource) {
  const KindShare& share = other.shares->kinds[static_cast<std::size_t>(kind)];
  std::uint64_t milli = view.milli_held(other, kind);
  for (const std::vector<PromisedPlace>& each : share.promised)
    for (const PromisedPlace& place : each) milli += place.milli;
  if (resource != policy::Resource::Memory) return static_cast<std::int64_t>(milli);
  const std::uint64_t allocation_unit = std::max<std::uint64_t>(share.allocation_unit.milli, 1);
  return share.allocation_unit.memory.value() *
         static_cast<std::int64_t>((milli + allocation_unit - 1) / allocation_unit);
}

}  // namespace

bool PolicyAnswers::is_inside(const Job& job, std::uint32_t project) const {
  for (std::uint32_t at = job.shares->project; at < policy_.tree.parents.size(); at = policy_.tree.parents[at])
    if (at == project) return true;
  return false;
}

/// By project, the amounts that it and its parts would hold with the next step, slots and memory.
std::vector<PolicyAnswers::Explainer::Sums> PolicyAnswers::Explainer::sums_with(
    const std::array<std::int64_t, 2>& next) const {
  const ProjectTree& tree = core_.policy_.tree;
  std::vector<Sums> sums(tree.parents.size());
  for (const JobId id : core_.indices_.active) {
    const Job& each = core_.jobs_[id];
    if (each.shares == nullptr || each.shares->pool.position != job_.shares->pool.position) continue;
    const std::array<std::int64_t, 2> amounts{amount_of(core_.view_, each, kind_, policy::Resource::Gpu),
                                              amount_of(core_.view_, each, kind_, policy::Resource::Memory)};
    for (std::uint32_t at = each.shares->project; at < sums.size(); at = tree.parents[at])
      for (std::size_t i = 0; i < amounts.size(); ++i) {
        sums[at].held[i] += amounts[i] + (&each == &job_ ? next[i] : 0);
        if (!core_.demand_.may_leave(each, kind_)) sums[at].fixed[i] += amounts[i] + (&each == &job_ ? next[i] : 0);
      }
  }
  return sums;
}

/// All that its next step would pass, from its project up, if that were the configuration.
std::vector<PolicyAnswers::Explainer::Bound> PolicyAnswers::Explainer::bounds_in(const PolicyConfig& config) const {
  std::vector<Bound> bounds;
  const ProjectTree& tree = core_.policy_.tree;
  const std::uint32_t pool = job_.shares->pool.position;
  if (!core_.view_.counts_quotas(pool)) return bounds;
  const std::vector<std::int64_t> slots =
      guarantees_in(config, tree, pool, kind_ == BandKind::Cpu ? Guarantee::Slots : Guarantee::GpuSlots);
  const std::vector<std::int64_t> memory = guarantees_in(config, tree, pool, Guarantee::Memory);
  const bool divides_memory =
      kind_ == BandKind::Cpu && std::any_of(memory.begin(), memory.end(), [](std::int64_t each) { return each > 0; });
  const auto next_slots = static_cast<std::int64_t>(step());
  const auto allocation_unit = static_cast<std::int64_t>(std::max<std::uint64_t>(share_.allocation_unit.milli, 1));
  const std::int64_t next_memory =
      share_.allocation_unit.memory.value() * ((next_slots + allocation_unit - 1) / allocation_unit);
  const std::vector<Sums> sums = sums_with({next_slots, next_memory});
  for (std::uint32_t at = job_.shares->project; at < tree.parents.size(); at = tree.parents[at]) {
    const std::int64_t* const held = sums[at].held;
    const std::int64_t* const fixed = sums[at].fixed;
    const ProjectConfig& project = config.projects[at];
    const std::int64_t slots_max = kind_ == BandKind::Cpu ? project.slots_max : project.gpu_slots_max;
    const auto check = [&](policy::Resource resource, bool guarantee, std::int64_t would, std::int64_t may) {
      if (would > may) bounds.push_back({at, resource, guarantee, would, may});
    };
    if (next_memory > 0 && project.memory_max != kUnboundedBytes && kind_ == BandKind::Cpu)
      check(policy::Resource::Memory, false, held[1], project.memory_max.value());
    if (slots_max != kUnbounded) check(policy::Resource::Gpu, false, held[0], slots_max * 1000);
    if (core_.demand_.may_leave(job_, kind_)) continue;
    if (divides_memory && next_memory > 0) check(policy::Resource::Memory, true, fixed[1], memory[at]);
    check(policy::Resource::Gpu, true, fixed[0], slots[at] * 1000);
  }
  return bounds;
}

/// By holder, whether it would leave for this job if it may: for a more important job of its own project, or for a job
/// of another if its project, and departments above it, would still hold their guarantees.
std::vector<bool> PolicyAnswers::Explainer::reclaimable(const RoomView& room) const {
  const ProjectTree& tree = core_.policy_.tree;
  const std::vector<std::int64_t> guaranteed =
      guarantees_in(core_.policy_.config, tree, job_.shares->pool.position,
                    kind_ == BandKind::Cpu ? Guarantee::Slots : Guarantee::GpuSlots);
  std::vector<std::uint64_t> held(tree.parents.size(), 0);
  for (const JobId id : core_.indices_.active) {
    const Job& each = core_.jobs_[id];
    if (each.shares == nullptr || each.shares->pool.position != job_.shares->pool.position) continue;
    const std::uint64_t own = core_.view_.milli_held(each, kind_);
    for (std::uint32_t at = each.shares->project; at < held.size(); at = tree.parents[at]) held[at] += own;
  }
  std::vector<bool> all;
  for (const RoomView::Holder& holder : room.holders) {
    const Job& other = core_.jobs_[holder.job];
    if (!core_.demand_.may_leave(other, kind_) || other.shares->project == job_.shares->project) {
      all.push_back(core_.demand_.may_leave(other, kind_) &&
                    core_.view_.precedence_of(other) < core_.view_.precedence_of(job_));
      continue;
    }
    const std::uint64_t own = core_.view_.milli_held(other, kind_);
    std::vector<std::uint32_t> losers;
    for (std::uint32_t at = other.shares->project; at < held.size() && !core_.is_inside(job_, at);
         at = tree.parents[at])
      losers.push_back(at);
    const bool leaves = std::all_of(losers.begin(), losers.end(), [&](std::uint32_t at) {
      return held[at] >= own + static_cast<std::uint64_t>(guaranteed[at]) * 1000;
    });
    for (const std::uint32_t at : losers) held[at] -= leaves ? own : 0;
    all.push_back(leaves);
  }
  return all;
}

/// The settings needed for all bounds together; none where one cannot be set, or would still not be enough.
void PolicyAnswers::Explainer::add_settings(const RoomView& room, const std::vector<Bound>& bounds,
                                            Value::List& rows) const {
  PolicyConfig changed = core_.policy_.config;
  std::string names;
  std::string how;
  bool projects = false;
  bool guarantees = false;
  for (const Bound& bound : bounds) {
    ProjectConfig& project = changed.projects[bound.project];
    const std::int64_t amount = amount_to_set(bound.resource, bound.would_hold);
    const bool memory = bound.resource == policy::Resource::Memory;
    // Elsewhere a department guarantees the sum of its parts.
    if (bound.guarantee && core_.policy_.tree.guarantee_pools[bound.project] != job_.shares->pool.position) continue;
    if (bound.guarantee) {
      const ProjectSetting what = memory                   ? ProjectSetting::Memory
                                  : kind_ == BandKind::Gpu ? ProjectSetting::GpuSlots
                                                           : ProjectSetting::Slots;
      set(project, what, amount);
      const char* order = memory ? "set memory-quota " : kind_ == BandKind::Gpu ? "set gpu-quota " : "set quota ";
      how += (how.empty() ? "" : "; ") + (order + project.name) + " " + std::to_string(amount);
    } else {
      if (memory)
        project.memory_max = Bytes{amount};
      else
        (kind_ == BandKind::Gpu ? project.gpu_slots_max : project.slots_max) = amount;
      how += (how.empty() ? "" : "; ") + std::string{bound.key(kind_)} + " = " + std::to_string(amount) +
             (bounds.size() > 1 ? " of " + owner_text(project) : "");
    }
    if (const std::string name = project.name; (", " + names + ",").find(", " + name + ",") == std::string::npos)
      names += (names.empty() ? "" : ", ") + name;
    projects = projects || !project.is_department;
    guarantees = guarantees || bound.guarantee;
  }
  if (how.empty() || !check_policy(changed) || !bounds_in(changed).empty()) return;
  if (!room.fits(step(), may_come_back(room, core_.view_.precedence_of(job_)))) return;
  rows.emplace_back(
      remedy_row(std::string{projects ? "" : "department "} + (guarantees ? "quota" : "limit"), names, how));
}

/// Ends each of which brings all of them below their bounds and leaves room; if there is none, the first together.
void PolicyAnswers::Explainer::add_ends_within(const RoomView& room, const std::vector<Bound>& bounds,
                                               Value::List& rows) const {
  const auto counts = [&](const Job& other, const Bound& bound) {
    const bool held =
        core_.is_inside(other, bound.project) && !(bound.guarantee && core_.demand_.may_leave(other, kind_));
    return held ? amount_of(core_.view_, other, kind_, bound.resource) : 0;
  };
  const std::vector<RoomView::Amounts> leaving = leaving_for(room, core_.view_.precedence_of(job_));
  RoomView::Amounts come_back(room.places.size(), 0);
  for (const RoomView::Amounts& each : leaving) add_to(come_back, each);
  std::vector<std::int64_t> too_much;
  for (const Bound& bound : bounds) too_much.push_back(bound.would_hold - bound.may_hold);
  const auto end = [&](std::size_t holder, RoomView::Amounts& back, std::vector<std::int64_t>& rest) {
    const Job& other = core_.jobs_[room.holders[holder].job];
    for (std::size_t i = 0; i < bounds.size(); ++i) rest[i] -= counts(other, bounds[i]);
    for (std::size_t i = 0; i < back.size(); ++i)
      back[i] += room.holders[holder].places[i] - (leaving[holder].empty() ? 0 : leaving[holder][i]);
    return std::all_of(rest.begin(), rest.end(), [](std::int64_t each) { return each <= 0; }) &&
           room.fits(step(), back);
  };
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < room.holders.size(); ++i) {
    const Job& other = core_.jobs_[room.holders[i].job];
    if (std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) { return counts(other, bound) > 0; }))
      candidates.push_back(i);
  }
  const std::size_t before = rows.size();
  for (const std::size_t each : candidates) {
    if (rows.size() >= before + kRemedyRowsMax) break;
    RoomView::Amounts back = come_back;
    std::vector<std::int64_t> rest = too_much;
    if (end(each, back, rest))
      rows.emplace_back(end_row({core_.jobs_.find(room.holders[each].job)}, kNever, core_.event_.now));
  }
  Ended together;
  for (const std::size_t each : candidates) {
    if (rows.size() > before) return;
    together.push_back(core_.jobs_.find(room.holders[each].job));
    if (end(each, come_back, too_much)) rows.emplace_back(end_row(together, kNever, core_.event_.now));
  }
}

void PolicyAnswers::Explainer::add_project_rows(Value::List& rows) const {
  const std::vector<Bound> bounds = bounds_in(core_.policy_.config);
  if (bounds.empty()) return;
  const RoomView view = room();
  add_settings(view, bounds, rows);
  add_ends_within(view, bounds, rows);
}

}  // namespace penstock::supervisor
