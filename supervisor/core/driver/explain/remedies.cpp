#include <algorithm>
#include <limits>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"
#include "supervisor/policy/sharing/owner_limit.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

/// A row of `freed_by`.
Value::Record remedy_row(std::string what, std::string of, std::string how) {
  return {{"what", std::move(what)}, {"of", std::move(of)}, {"how", std::move(how)}};
}

Value within(Duration left) { return Value{std::max(std::chrono::duration<double>(left).count(), 0.0)}; }

void add_name(std::string& names, const std::string& name) {
  if ((", " + names + ",").find(", " + name + ",") == std::string::npos) names += (names.empty() ? "" : ", ") + name;
}

/// Whole slots, rounded up.
std::int64_t whole_slots(std::int64_t milli) { return (milli + 999) / 1000; }

/// The least number above `too_small` that a search by halves finds enough. REQUIRES: `enough` is.
template <class Number, class IsEnough>
Number least(Number too_small, Number enough, IsEnough is_enough) {
  while (too_small + 1 < enough) {
    const Number middle = too_small + (enough - too_small) / 2;
    (is_enough(middle) ? enough : too_small) = middle;
  }
  return enough;
}

/// Ranges of candidates: each of the first that is enough alone; if there is none, the fewest of the first that are
/// enough together. `helps(first, count)`.
template <class Helps>
std::vector<std::pair<std::size_t, std::size_t>> alone_or_together(std::size_t candidates, Helps helps) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < std::min(candidates, kTriedAloneMax) && found.size() < kRemedyRowsMax; ++i)
    if (helps(i, std::size_t{1})) found.emplace_back(i, 1);
  if (!found.empty() || candidates < 2 || !helps(std::size_t{0}, candidates)) return found;
  const std::size_t enough =
      least(std::size_t{1}, candidates, [&](std::size_t count) { return helps(std::size_t{0}, count); });
  // Without the last one it is not enough: that one may be, without the others.
  const std::size_t first = enough > kTriedAloneMax && helps(enough - 1, std::size_t{1}) ? enough - 1 : 0;
  found.emplace_back(first, enough - first);
  return found;
}

}  // namespace

/// Jobs that hold slots, but for this one: by their ends where time limits tell, by what they hold where shares count.
PolicyAnswers::Explainer::Workloads PolicyAnswers::Explainer::holders() {
  const policy::Snapshot& next = what_if_->next();
  std::vector<std::int64_t> held(next.workloads.size(), 0);
  for (const policy::Member& member : next.members)
    if (member.state == policy::MemberState::Running) held[member.workload] += std::max<std::int64_t>(member.slots, 1);
  Workloads all;
  for (std::uint32_t i = 0; i < held.size(); ++i)
    if (held[i] > 0 && i != what_if_->subject()) all.push_back(i);
  const bool by_ends = policy::has_action(parts(), policy::Action::Backfill);
  const bool by_share = policy::has_action(parts(), policy::Action::StartByShare);
  std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (by_ends) return next.workloads[a].ends_by.value_or(kNever) < next.workloads[b].ends_by.value_or(kNever);
    return by_share && held[a] > held[b];
  });
  return all;
}

void PolicyAnswers::Explainer::add_ends(Workloads candidates, Value::List& rows) {
  const auto range = [&](std::size_t first, std::size_t count) {
    const auto begin = candidates.begin() + static_cast<std::ptrdiff_t>(first);
    return Workloads{begin, begin + static_cast<std::ptrdiff_t>(count)};
  };
  const auto helps = [&](std::size_t first, std::size_t count) {
    return what_if_->helps(without(range(first, count)));
  };
  for (const auto& [first, count] : alone_or_together(candidates.size(), helps)) {
    std::string names;
    Instant by{};
    for (const std::uint32_t each : range(first, count)) {
      add_name(names, to_string(job_at(each).id));
      by = std::max(by, what_if_->next().workloads[each].ends_by.value_or(kNever));
    }
    Value::Record row = remedy_row("end", names, count > 1 ? "together" : "");
    // As backfill takes it.
    if (by <= core_.event_.now) by = later(core_.event_.now, parts().overrun);
    if (by != kNever && policy::has_action(parts(), policy::Action::Backfill))
      row.emplace_back("within_s", within(by - core_.event_.now));
    rows.emplace_back(std::move(row));
  }
}

/// Workers of its pool that take nothing new, or are gone.
std::vector<PolicyAnswers::Explainer::Closed> PolicyAnswers::Explainer::closed_workers() {
  std::vector<Closed> all;
  std::map<WorkerSlot, std::size_t> of_worker;
  const std::vector<BandSlot>& bands = core_.policy_.last->pass.bands;
  for (std::uint32_t i = 0; i < bands.size(); ++i) {
    const policy::Band& band = what_if_->next().bands[i];
    if (band.pool != domain_ || band.state == policy::BandState::Enabled || !core_.view_.may_use(job_, bands[i]))
      continue;
    const WorkerEntry& worker = core_.workers_[core_.workers_[bands[i]].worker];
    const std::string& name = worker.description.name;
    const auto [at, is_new] = of_worker.try_emplace(core_.workers_[bands[i]].worker, all.size());
    if (is_new)
      all.push_back({name,
                     worker.draining    ? "undrain " + name
                     : worker.suspected ? "it is heard of again"
                                        : "it has reported its data",
                     worker.description,
                     {},
                     {}});
    all[at->second].bands.push_back(i);
  }
  for (std::uint32_t i = 0; i < core_.workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = core_.workers_[WorkerSlot{i}];
    const std::string& name = worker.description.name;
    if (worker.alive || core_.workers_.find(name).valid()) continue;
    if (pool_of_worker(core_.policy_.config, name) != std::int64_t{job_.shares->pool.position}) continue;
    if (!job_.place.label_limits.empty() && !allow(job_.place.label_limits, worker.description)) continue;
    Closed absent{name, "it comes back", worker.description, {}, {}};
    for (const BandDescription& band : worker.description.bands)
      if (band.kind == kind_ && band.capacity.slots >= kOneSlot) absent.absent.push_back(band);
    if (!absent.absent.empty()) all.push_back(std::move(absent));
  }
  return all;
}

/// A job that would not fit its pool if it were empty has more by workers with which it would.
void PolicyAnswers::Explainer::add_workers(Value::List& rows) {
  const std::vector<Closed> all = closed_workers();
  const bool never = share_.why.waits.has_value() && share_.why.waits->hold == policy::Hold::NeverFits;
  // A pass shows no work that no present band may have: such work goes first, for all that is known.
  std::uint64_t unplaced = 0;
  for (const JobId id : core_.policy_.agenda.in_sight()) {
    const Job& other = core_.jobs_[id];
    if (&other == &job_ || other.shares == nullptr || other.shares->pool.position != job_.shares->pool.position)
      continue;
    const KindShare& share = other.shares->kinds[static_cast<std::size_t>(kind_)];
    if (share.bound && share.unit_milli > 0)
      unplaced += other.place.unschedulable.size() * share.allocation_unit.run_milli;
  }
  const auto slots_of = [&](const Closed& each) {
    std::uint64_t milli = 0;
    for (const std::uint32_t band : each.bands)
      milli += static_cast<std::uint64_t>(what_if_->next().bands[band].slots) * granularity();
    for (const BandDescription& band : each.absent) milli += static_cast<std::uint64_t>(band.capacity.slots.value());
    return milli;
  };
  const auto then = [&](std::size_t first, std::size_t count) -> std::optional<std::string> {
    std::uint64_t slots = 0;
    for (std::size_t i = first; i < first + count; ++i) slots += slots_of(all[i]);
    if (slots <= unplaced) return std::nullopt;
    const policy::Snapshot changed = with_workers(all, first, count);
    const std::optional<policy::Plan> plan = what_if_->pass(changed);
    if (!plan.has_value()) return std::nullopt;
    if (what_if_->is_more(changed, *plan)) return "";
    const policy::Explanation* why = what_if_->why(*plan);
    if (never && why != nullptr && why->hold != policy::Hold::NeverFits) return "; then others have to leave";
    return std::nullopt;
  };
  const auto helps = [&](std::size_t first, std::size_t count) { return then(first, count).has_value(); };
  for (const auto& [first, count] : alone_or_together(all.size(), helps)) {
    std::string names;
    std::string how = count > 1 ? "together" : "";
    for (std::size_t i = first; i < first + count; ++i) {
      add_name(names, all[i].name);
      if (count == 1 || all[i].how != "it comes back") how += (how.empty() ? "" : "; ") + all[i].how;
    }
    rows.emplace_back(remedy_row("worker", names, how + then(first, count).value_or("")));
  }
}

/// Where priorities count: the least priority with which it gets more, which may be that of a younger job.
void PolicyAnswers::Explainer::add_priority(Value::List& rows) {
  const bool by_quota = policy::has_action(parts(), policy::Action::Preempt);
  if (!by_quota && !policy::has_action(parts(), policy::Action::StartByPriority)) return;
  if (parts().ordering != policy::Ordering::Priority) return;
  const std::int64_t own = core_.view_.precedence_of(job_);
  const std::int64_t most = std::int64_t{std::numeric_limits<std::int32_t>::max()} - job_.spec.priority;
  std::vector<std::int64_t> raises;  // Levels and kinds come before priorities: no raise is above those of others.
  for (std::uint32_t i = 0; i < what_if_->subjects().size(); ++i) {
    const std::int64_t equal = core_.view_.precedence_of(job_at(i)) - own;
    for (const std::int64_t raise : {equal, equal + 1})
      if (raise > 0 && raise <= most) raises.push_back(raise);
  }
  std::sort(raises.begin(), raises.end());
  raises.erase(std::unique(raises.begin(), raises.end()), raises.end());
  const auto helps = [&](std::size_t count) {
    policy::Snapshot changed = what_if_->next();
    policy::Workload& subject = changed.workloads[what_if_->subject()];
    subject.priority = own + raises[count - 1];
    subject.position = core_.view_.first_position(job_);  // The order gives it the place of its age.
    return what_if_->helps(changed);
  };
  if (raises.empty() || !helps(raises.size())) return;
  const std::int64_t raise = raises[least(std::size_t{0}, raises.size(), helps) - 1];
  const std::int32_t written = job_.scale.written(static_cast<std::int32_t>(job_.spec.priority + raise));
  if (!job_.scale.inside(written)) return;  // Nothing is above the first.
  const std::string name = to_string(job_.id);
  rows.emplace_back(remedy_row("priority", name, "set priority " + name + " " + std::to_string(written)));
}

void PolicyAnswers::Explainer::add_weight(Value::List& rows) {
  const auto helps = [this](std::int64_t weight) {
    policy::Snapshot changed = what_if_->next();
    weigh(weight, changed);
    return what_if_->helps(changed);
  };
  std::int64_t too_small = core_.view_.own_weight(job_);
  if (too_small >= kWeightMax || !helps(kWeightMax)) return;
  std::int64_t enough = std::min(kWeightMax, too_small * 2);
  while (enough < kWeightMax && !helps(enough)) too_small = enough, enough = std::min(kWeightMax, enough * 2);
  const std::string name = to_string(job_.id);
  rows.emplace_back(
      remedy_row("weight", name, "set weight " + name + " " + decimal_text(least(too_small, enough, helps))));
}

void PolicyAnswers::Explainer::add_cap(Value::List& rows) {
  const auto held = static_cast<std::int64_t>(core_.view_.milli_held(job_, kind_));
  const std::int64_t cap = whole_slots(held + static_cast<std::int64_t>(step()));
  policy::Snapshot changed = with_step();
  changed.workloads[what_if_->subject()].slots_max = cap * 1000 / static_cast<std::int64_t>(granularity());
  if (!what_if_->helps(changed)) return;
  const std::string name = to_string(job_.id);
  rows.emplace_back(remedy_row("cap", name, "set cap " + name + " " + std::to_string(cap)));
}

/// A limit or a guarantee of a project, or of a department above it, and the amount to set: slots, or bytes.
struct PolicyAnswers::Explainer::Setting {
  std::uint32_t project;
  policy::Explanation why;
  std::int64_t amount;

  bool guarantees() const { return why.hold == policy::Hold::ProjectGuarantee; }
  void set_in(PolicyConfig& config, BandKind kind) const {
    ProjectConfig& owner = config.projects[project];
    const bool memory = why.resource == policy::Resource::Memory;
    if (guarantees())
      set(owner,
          memory                  ? ProjectSetting::Memory
          : kind == BandKind::Gpu ? ProjectSetting::GpuSlots
                                  : ProjectSetting::Slots,
          amount);
    else if (memory)
      owner.memory_max = Bytes{amount};
    else
      (kind == BandKind::Gpu ? owner.gpu_slots_max : owner.slots_max) = amount;
  }
  std::string text(const ProjectConfig& owner, BandKind kind, bool with_owner) const {
    const std::string number = " " + std::to_string(amount);
    if (!guarantees())
      return std::string{project_key(kind, why)} + " =" + number + (with_owner ? " of " + owner_text(owner) : "");
    const bool memory = why.resource == policy::Resource::Memory;
    return (memory                  ? "set memory-quota "
            : kind == BandKind::Gpu ? "set gpu-quota "
                                    : "set quota ") +
           owner.name + number;
  }
};

/// All that has to be set together: what still holds the job then is set as well, until it gets more.
void PolicyAnswers::Explainer::add_settings(Value::List& rows) {
  PolicyConfig config = core_.policy_.config;
  std::vector<Setting> settings;
  for (;;) {
    const policy::Snapshot changed = with_projects(config);
    const std::optional<policy::Plan> plan = what_if_->pass(changed);
    if (!plan.has_value()) return;
    if (what_if_->is_more(changed, *plan)) break;
    const policy::Explanation* why = what_if_->why(*plan);
    const bool of_project =
        why != nullptr && (why->hold == policy::Hold::ProjectLimit || why->hold == policy::Hold::ProjectGuarantee);
    if (!of_project || why->subject == policy::kNone) return;
    const std::size_t project = why->subject % (config.projects.size() + 1);
    if (project >= config.projects.size()) return;
    // A department guarantees the sum of its parts elsewhere.
    if (why->hold == policy::Hold::ProjectGuarantee &&
        core_.policy_.tree.guarantee_pools[project] != job_.shares->pool.position)
      return;
    const std::int64_t amount = why->resource == policy::Resource::Memory ? why->need : whole_slots(why->need);
    const bool again = std::any_of(settings.begin(), settings.end(), [&](const Setting& each) {
      return each.project == project && each.why.hold == why->hold && each.why.resource == why->resource;
    });
    if (again) return;
    settings.push_back({static_cast<std::uint32_t>(project), *why, amount});
    settings.back().set_in(config, kind_);
  }
  if (!settings.empty()) add_setting_rows(settings, config, rows);
}

/// In pools that share slots: the least limits of all the owners that leave the job no larger share.
void PolicyAnswers::Explainer::add_share_limits(Value::List& rows) {
  const std::vector<std::uint32_t>& owners = core_.policy_.last->pass.owners.projects();
  const auto unit = static_cast<std::int64_t>(granularity());
  std::vector<Setting> least_of_all;
  for (policy::Snapshot changed = what_if_->next();;) {
    const std::optional<policy::Plan> plan = what_if_->pass(changed);
    if (!plan.has_value()) return;
    if (what_if_->is_more(changed, *plan)) break;
    const policy::Explanation* why = what_if_->why(*plan);
    const std::optional<policy::OwnerLimit> limit =
        why == nullptr ? std::nullopt : policy::OwnerLimits{changed, *plan}.of(*why);
    if (!limit) return;
    policy::Explanation of_limit;
    of_limit.hold = policy::Hold::ProjectLimit;
    least_of_all.push_back({owners[limit->node], of_limit, whole_slots(limit->need * unit)});
    changed.share_nodes[limit->node].slots_max = policy::kUnlimited;
  }
  const auto raised_by = [&](std::int64_t more) {
    std::vector<Setting> settings = least_of_all;
    for (Setting& each : settings) each.amount += more;
    return settings;
  };
  const auto config_with = [&](const std::vector<Setting>& settings) {
    PolicyConfig config = core_.policy_.config;
    for (const Setting& each : settings) each.set_in(config, kind_);
    return config;
  };
  const auto helps = [&](std::int64_t more) { return what_if_->helps(with_projects(config_with(raised_by(more)))); };
  // Jobs beside this one have their part of what a limit leaves, so one slot more may not be enough.
  std::int64_t more = 0;
  const auto all = whole_slots(static_cast<std::int64_t>(core_.policy_.last->pass.domains[domain_].capacity));
  if (!least_of_all.empty() && !helps(0)) {
    if (!helps(all)) return;
    more = least(std::int64_t{0}, all, helps);
  }
  if (!least_of_all.empty()) add_setting_rows(raised_by(more), config_with(raised_by(more)), rows);
}

/// One row of all that has to be set together.
void PolicyAnswers::Explainer::add_setting_rows(const std::vector<Setting>& settings, const PolicyConfig& config,
                                                Value::List& rows) {
  if (!check_policy(config)) return;
  std::string names;
  std::string how;
  bool projects = false;
  bool guarantees = false;
  for (const Setting& each : settings) {
    const ProjectConfig& owner = config.projects[each.project];
    add_name(names, owner.name);
    how += (how.empty() ? "" : "; ") + each.text(owner, kind_, settings.size() > 1);
    projects = projects || !owner.is_department;
    guarantees = guarantees || each.guarantees();
  }
  rows.emplace_back(
      remedy_row(std::string{projects ? "" : "department "} + (guarantees ? "quota" : "limit"), names, how));
}

/// Adds the event that the job waits for: another job starts, or has left.
void PolicyAnswers::Explainer::add_other(const WaitsFor& waits, Value::List& rows) {
  const std::string name = waits.other.valid() ? to_string(waits.other) : "";
  const Job* other = waits.other.valid() && core_.jobs_.knows(waits.other) ? core_.jobs_.find(waits.other) : nullptr;
  const bool leaves = waits.hold == policy::Hold::PredecessorsLeave;
  Value::Record row = remedy_row(leaves ? "leave" : "start", name, "");
  if (leaves && parts().preemption)
    row.emplace_back("within_s", within(other == nullptr ? core_.view_.longest_grace_in(job_.shares->pool.position)
                                                         : core_.view_.grace_of(*other)));
  if (!leaves && other != nullptr && other->shares != nullptr)
    if (const Instant at = other->shares->kinds[static_cast<std::size_t>(kind_)].why.starts_by; at != kNever)
      row.emplace_back("within_s", within(at - core_.event_.now));
  rows.emplace_back(std::move(row));
}

Value::List PolicyAnswers::Explainer::remedies() {
  PENSTOCK_COVERAGE_MARK("remedies for a blocked job are searched");
  Value::List rows;
  const std::string name = to_string(job_.id);
  if (job_.status.on_hold) {
    rows.emplace_back(remedy_row("release", name, "release " + name));
    return rows;
  }
  if (!what_if_.has_value()) return rows;
  const std::optional<WaitsFor>& waits = share_.why.waits;
  if (!waits.has_value()) {
    if (core_.is_at_cap(job_, kind_))
      add_cap(rows);
    else if (job_.shares->rules.blocked_by != LimitRule::None)
      add_limit_rows(rows);
    return rows;
  }
  switch (waits->hold) {
    case policy::Hold::NoRoom:
      add_ends(holders(), rows);
      add_priority(rows);
      add_workers(rows);
      break;
    case policy::Hold::NeverFits: add_workers(rows); break;
    case policy::Hold::AtFairShare:
      add_ends(holders(), rows);
      add_weight(rows);
      add_workers(rows);
      break;
    case policy::Hold::AtSlotsMax: add_cap(rows); break;
    case policy::Hold::ProjectLimit:
    case policy::Hold::ProjectGuarantee:
      shares_slots(parts()) ? add_share_limits(rows) : add_settings(rows);
      add_ends(holders(), rows);
      shares_slots(parts()) ? add_weight(rows) : add_priority(rows);
      break;
    case policy::Hold::HigherPriority:
      add_other(*waits, rows);
      add_priority(rows);
      break;
    case policy::Hold::PredecessorsLeave:
    case policy::Hold::BehindReservation:
    case policy::Hold::FirstServed: add_other(*waits, rows); break;
    case policy::Hold::Gated:
    case policy::Hold::Held: break;
  }
  return rows;
}

Value::List PolicyAnswers::Explainer::freed_by() {
  if (what_if_.has_value()) what_if_->begin();
  Value::List rows = remedies();
  if (what_if_.has_value() && what_if_->gave_up())
    rows.emplace_back(remedy_row("not computed", std::to_string(what_if_->subjects().size()) + " jobs",
                                 "its pool is too large to try more changes"));
  return rows;
}

}  // namespace penstock::supervisor
