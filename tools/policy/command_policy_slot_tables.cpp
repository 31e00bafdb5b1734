// Reference cases of fair share and priority that ask one function: placement, shares, order, shapes, preemption.
// tidy: foreign-file task, agent, agents, master
#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/sharing/fair_targets.hpp"
#include "supervisor/policy/slot_trial.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/command_policy_cluster.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

/// Light places in use that are considered; more make no difference to any case.
constexpr std::int64_t kLightUsedMax = 100'000;
/// Spec: policy-determined 5.1.
constexpr std::int64_t kSlotPriorityMin = 1;
constexpr std::int64_t kSlotPriorityMax = 99;

/// The bands of a placement case with their use, and the member to place.
Snapshot placement_snapshot(const cli::DocumentValue& file, Member& member, CaseChecker& checker) {
  Snapshot snapshot;
  snapshot.workloads.emplace_back();
  checker.no_twins("agents", texts_of_items(field_of(file, "agents"), "id"));
  for (const cli::DocumentValue& agent : field_of(file, "agents").items) {
    check_amounts(agent, {"slots", "max_zero_slot", "used_slots", "zero_slot_used"}, checker);
    const auto band = static_cast<std::uint32_t>(snapshot.bands.size());
    Band& added = snapshot.bands.emplace_back();
    added.name = text_of(agent, "id");
    added.slots = integer_of(agent, "slots");
    added.light_places = integer_of(agent, "max_zero_slot");
    Member user;
    user.state = MemberState::Running;
    if (integer_of(agent, "used_slots") > 0) user.places.push_back({band, integer_of(agent, "used_slots")});
    const std::int64_t light_used = std::min(integer_of(agent, "zero_slot_used"), kLightUsedMax);
    for (std::int64_t i = 0; i < light_used; ++i) user.places.push_back({band, 0});
    snapshot.members.push_back(std::move(user));
  }
  const cli::DocumentValue& task = field_of(file, "task");
  member.name = text_of(task, "id");
  member.slots = integer_of(task, "slots");
  member.single_band = flag_of(task, "single_agent");
  const std::vector<std::string> blocked = texts_of(field_of(task, "blocked_agents"));
  if (blocked.empty()) return snapshot;
  std::vector<std::uint32_t> allowed;
  for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band)
    if (std::find(blocked.begin(), blocked.end(), snapshot.bands[band].name) == blocked.end()) allowed.push_back(band);
  if (allowed.empty()) allowed.push_back(static_cast<std::uint32_t>(snapshot.bands.size()));  // No such band.
  member.band_list = BandLists{}.name(std::move(allowed), snapshot);
  const std::vector<std::string> known = texts_of_items(field_of(file, "agents"), "id");
  for (const std::string& name : blocked)
    if (std::find(known.begin(), known.end(), name) == known.end())
      checker.remark("`blocked_agents`: there is no agent '" + name + "'");
  return snapshot;
}

double to_double(const Fraction& fraction) {
  return static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator);
}

void check_placement(const cli::DocumentValue& file, const std::string& kind, CaseChecker& checker) {
  Parts parts;
  checker.one_of(file, "fitting", {"best", "worst"});
  parts.gpu_fitting = text_of(file, "fitting") == "worst" ? Fitting::Worst : Fitting::Best;
  parts.mixed_sizes = flag_of(file, "heterogeneous");
  Member member;
  const Snapshot snapshot = placement_snapshot(file, member, checker);
  SlotTrial trial{snapshot, 0, parts};
  const cli::DocumentValue& expect = field_of(file, "expect");
  checker.only_fields(expect, {"score", "viable", "agents", "agent_count", "first_agent"});
  if (has_field(expect, "score"))
    checker.near("score", number_of(expect, "score"),
                 to_double(slot_score(member.slots, trial.room(0), parts.gpu_fitting)), 1e-9);
  if (has_field(expect, "viable"))
    checker.equal("viable", flag_of(expect, "viable") ? 1 : 0, trial.fits_on(member, 0) ? 1 : 0);
  const std::vector<Place> places = kind == "find_dedicated_fits" ? trial.find_dedicated(member) : trial.find(member);
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(snapshot.bands[place.band].name);
  if (has_field(expect, "agents"))
    checker.equal("bands", set_text(texts_of(field_of(expect, "agents"))), set_text(names));
  if (has_field(expect, "agent_count"))
    checker.equal("number of bands", integer_of(expect, "agent_count"), static_cast<std::int64_t>(names.size()));
  if (has_field(expect, "first_agent"))
    checker.equal("first band", text_of(expect, "first_agent"), names.empty() ? "none" : names[0]);
}

void check_targets(const cli::DocumentValue& file, CaseChecker& checker) {
  std::vector<ShareGroup> groups;
  checker.one_of(field_of(file, "scheduler"), "variant", {"proportional", "max_min"});  // tidy: foreign
  check_amounts(file, {"capacity"}, checker);
  checker.no_twins("groups", texts_of_items(field_of(file, "groups"), "id"));
  for (const cli::DocumentValue& group : field_of(file, "groups").items) {
    check_weight(group, checker);
    check_amounts(group, {"demand", "max_slots", "slots_per_task"}, checker);
    ShareGroup& added = groups.emplace_back();
    added.demand = integer_of(group, "demand");
    if (has_field(group, "max_slots")) added.demand = std::min(added.demand, integer_of(group, "max_slots"));
    added.weight = scaled(number_of(group, "weight", 1), 1000);
    added.smallest_pending = added.demand > 0 ? integer_of(group, "slots_per_task", 1) : 0;
  }
  const bool max_min = text_of(field_of(file, "scheduler"), "variant") == "max_min";  // tidy: foreign
  if (!checker.passed()) return;  // For such groups no target is right.
  const std::int64_t capacity = integer_of(file, "capacity");
  const std::vector<std::int64_t> targets =
      max_min ? max_min_targets(groups, capacity) : fair_targets(groups, capacity);
  const cli::DocumentValue& expect = field_of(file, "expect");
  checker.only_fields(expect, {"offered"});
  const cli::DocumentValue& offered = field_of(expect, "offered");
  std::vector<std::string_view> names;
  for (const cli::DocumentValue& group : field_of(file, "groups").items) names.push_back(field_of(group, "id").text);
  checker.only_fields(offered, names);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string id = text_of(field_of(file, "groups").items[i], "id");
    if (checker.demand(offered, id, "expect.offered"))
      checker.equal("target of " + id, integer_of(offered, id), targets[i]);
  }
}

Age age_of(const cli::DocumentValue& task) { return {integer_of(task, "submitted"), integer_of(task, "requested")}; }

void check_age_order(const cli::DocumentValue& file, CaseChecker& checker) {
  const cli::DocumentValue& a = field_of(file, "a");
  const cli::DocumentValue& b = field_of(file, "b");
  const auto name = [](const cli::DocumentValue& task) {
    return has_field(task, "id") && !text_of(task, "id").empty() ? text_of(task, "id") : text_of(task, "task");
  };
  const cli::DocumentValue& expect = field_of(file, "expect");
  checker.only_fields(expect, {"compare"});
  if (checker.demand(expect, "compare"))
    checker.equal("order", integer_of(expect, "compare"), compare_age(age_of(a), name(a), age_of(b), name(b)));
}

}  // namespace

void check_weight(const cli::DocumentValue& table, CaseChecker& checker, bool zero_is_unset) {
  if (!has_field(table, "weight") || scaled(number_of(table, "weight"), 1000) > 0) return;
  if (zero_is_unset && number_of(table, "weight") == 0) return;
  checker.fail("a weight must be at least 0.001");
}

void check_priority_range(const cli::DocumentValue& table, const std::string& name, CaseChecker& checker) {
  const std::int64_t priority = integer_of(table, name, kSlotPriorityMin);
  if (priority < kSlotPriorityMin || priority > kSlotPriorityMax)
    checker.fail(name + " " + std::to_string(priority) + " is out of range: " + std::to_string(kSlotPriorityMin) +
                 " to " + std::to_string(kSlotPriorityMax));
}

void check_amounts(const cli::DocumentValue& table, const std::vector<std::string>& names, CaseChecker& checker) {
  for (const std::string& name : names)
    if (integer_of(table, name) < 0) checker.fail("`" + name + "` must not be negative");
}

CaseVerdict check_slot_table(const cli::DocumentValue& file, const std::string& id) {
  const std::string kind = text_of(file, "kind");
  CaseChecker checker{id, kind};
  if (kind == "fit_score" || kind == "find_fits" || kind == "find_dedicated_fits" || kind == "slots_satisfied")
    check_placement(file, kind, checker);
  else if (kind == "share_targets")
    check_targets(file, checker);
  else if (kind == "task_age_order")
    check_age_order(file, checker);
  else if (!check_on_cluster(file, kind, checker))
    checker.fail("the kind '" + kind + "' is not understood");
  return checker.take();
}

}  // namespace penstock::tools
