// Reference cases of fair share and priority that ask one function: placement, shares, order, shapes, preemption.
// tidy: foreign-file task, agent, agents, master
#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/ordering/queue_moves.hpp"
#include "supervisor/policy/pool_rules.hpp"
#include "supervisor/policy/preemption.hpp"
#include "supervisor/policy/sharing/fair_targets.hpp"
#include "supervisor/policy/slot_trial.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/command_policy_positions.hpp"

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
  for (const std::string& name : texts_of(field_of(task, "blocked_agents"))) {
    const std::size_t before = member.blocked_bands.size();
    for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band)
      if (snapshot.bands[band].name == name) member.blocked_bands.push_back(band);
    if (member.blocked_bands.size() == before) checker.remark("`blocked_agents`: there is no agent '" + name + "'");
  }
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
  const SlotTrial trial{snapshot, 0, parts};
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
      max_min ? max_min_targets(groups, capacity, AfterGang::GoOn) : fair_targets(groups, capacity);
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

/// The end of the queue as one word for all of its names.
std::string end_of_queue(const std::string& name) {
  if (name == "INTERNAL-head" || name == "head") return "HEAD";
  if (name == "INTERNAL-tail" || name == "tail") return "TAIL";
  return name;
}

void check_anchors(const cli::DocumentValue& file, CaseChecker& checker) {
  Snapshot snapshot;
  const auto named = [&](const std::string& name) {
    for (std::uint32_t i = 0; i < snapshot.workloads.size(); ++i)
      if (snapshot.workloads[i].name == name) return i;
    return kNone;
  };
  const cli::DocumentValue& positions = field_of(file, "queue_positions");
  checker.no_twins("groups", texts_of_items(field_of(file, "groups"), "id"));
  for (const cli::DocumentValue& group : field_of(file, "groups").items) {
    Workload& workload = snapshot.workloads.emplace_back();
    check_priority_range(group, "priority", checker);
    workload.name = text_of(group, "id");
    workload.priority = -integer_of(group, "priority", 42);
  }
  CasePositions exact;
  for (const cli::DocumentField& each : positions.fields)
    if (named(each.name) == kNone)
      checker.fail("a position is given to '" + each.name + "', which is no job");
    else if (!exact.set(named(each.name), each.value))
      checker.fail("the position '" + each.value.text + "' is no number");
  exact.give_to(snapshot);
  for (const cli::DocumentValue& task : field_of(file, "tasks").items) {
    Member& member = snapshot.members.emplace_back();
    member.name = text_of(task, "id");
    member.workload = named(text_of(task, "job"));
    member.submitted = integer_of(task, "submitted", static_cast<std::int64_t>(snapshot.members.size()));
  }
  std::vector<std::uint32_t> order;
  for (const QueueRow& row : workloads_in_order(snapshot, 0)) order.push_back(row.workload);
  for (const cli::DocumentValue& step : field_of(file, "steps").items) {
    const Side side = flag_of(step, "ahead_of") ? Side::AheadOf : Side::BehindOf;
    const Result<Anchors> found =
        find_anchors(snapshot, order, named(text_of(step, "job")), {named(text_of(step, "anchor")), side});
    if (!found) {
      checker.fail(to_string(found.error()));
      continue;
    }
    const cli::DocumentValue& expect = field_of(step, "expect");
    checker.only_fields(expect, {"priority_changes", "second_anchor", "anchor_priority"});
    for (const char* field : {"priority_changes", "second_anchor", "anchor_priority"}) checker.demand(expect, field);
    const std::string second = found->second == Anchors::Second::Head   ? "HEAD"
                               : found->second == Anchors::Second::Tail ? "TAIL"
                                                                        : snapshot.workloads[found->neighbour].name;
    const std::string expected = text_of(expect, "second_anchor");
    checker.equal("second anchor", named(expected) == kNone ? end_of_queue(expected) : expected, second);
    checker.equal("priority changes", flag_of(expect, "priority_changes") ? 1 : 0, found->priority_changes ? 1 : 0);
    checker.equal("priority of the anchor", integer_of(expect, "anchor_priority"), -found->priority);
  }
}

void check_acceptance(const cli::DocumentValue& file, const Result<void>& result, CaseChecker& checker) {
  const cli::DocumentValue& expect = field_of(file, "expect");
  checker.only_fields(expect, {"accepted", "error_contains"});
  // `"error_contains": null` means no error.
  if (expect.find("error_contains") == nullptr && !checker.demand(expect, "accepted")) return;
  checker.count_comparison();
  const std::string part = text_of(expect, "error_contains");
  const bool accepted = has_field(expect, "accepted") ? flag_of(expect, "accepted") : part.empty();
  const std::string got = result ? "accepted" : result.error().message;
  if (accepted != result.has_value())
    return checker.fail("expected " + std::string{accepted ? "" : "not "} + "accepted, got " + got);
  if (!part.empty() && got.find(part) == std::string::npos) checker.fail("expected '" + part + "', got '" + got + "'");
}

std::vector<DeviceRecord> devices_of(const cli::DocumentValue& list) {
  std::vector<DeviceRecord> devices;
  for (const cli::DocumentValue& each : list.items)
    devices.push_back({integer_of(each, "id"), text_of(each, "brand"), text_of(each, "uuid"), text_of(each, "type")});
  return devices;
}

Result<void> reconnect(const cli::DocumentValue& file) {
  if (has_field(file, "known_pool"))
    return check_pool_unchanged(text_of(file, "known_pool"), text_of(file, "reported_pool"));
  return check_devices_unchanged(devices_of(field_of(file, "known_devices")),
                                 devices_of(field_of(file, "reported_devices")));
}

void check_routing(const cli::DocumentValue& file, CaseChecker& checker) {
  const PoolDefaults defaults{text_of(file, "default_aux_pool"), text_of(file, "default_compute_pool")};
  checker.only_fields(field_of(file, "expect"), {"pool"});
  for (const cli::DocumentField& each : field_of(field_of(file, "expect"), "pool").fields) {
    bool known = false;
    for (const cli::DocumentValue& request : field_of(file, "requests").items) {
      if (text_of(request, "id") != each.name) continue;
      known = true;
      checker.equal("pool of " + each.name, each.value.text,
                    route(defaults, text_of(request, "pool"), integer_of(request, "slots")));
    }
    if (!known) checker.fail("expect.pool: there is no request '" + each.name + "'");
  }
}

constexpr double kNanoseconds = 1e9;

/// One gang's life, driven step by step; virtual time passes only where a step waits.
class LifecycleRun {
 public:
  LifecycleRun(const cli::DocumentValue& file, CaseChecker& checker)
      : file_(file), checker_(checker), holding_(flag_of(field_of(file, "task"), "preemptible", true)) {}

  void run() {
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) take(step);
  }

 private:
  void take(const cli::DocumentValue& step) {
    const std::string op = text_of(step, "op");
    const auto watcher = static_cast<std::uint32_t>(integer_of(step, "w"));
    if (op == "watch") return flag().watch(watcher);
    if (op == "unwatch") return flag().unwatch(watcher);
    if (op == "close") return flag().close();
    if (op == "preempt") return flag().raise(now_, Duration{scaled(number_of(step, "timeout_s", 3600), kNanoseconds)});
    if (op == "acknowledge") return holding_.acknowledge();
    if (op == "assign") return holding_.assign();
    if (op == "container") return part(step);
    if (op == "rendezvous" || op == "set_ready") return holding_.set_ready();
    if (op == "release_resources" || op == "signal_terminate")
      return holding_.ask_to_leave(now_, PreemptionFlag::kGraceDefault);
    if (op == "signal_kill") return holding_.kill();
    // All that a supervisor reads again after a restart is durable, so the copied values stay in use.
    if (op == "master_crash" || op == "restore") return;
    if (op == "expect_signal" && checker_.demand(step, "signalled", ""))
      return checker_.equal("signal to " + std::to_string(watcher), flag_of(step, "signalled") ? 1 : 0,
                            flag().is_signalled(watcher) ? 1 : 0);
    if (op == "expect_signal") return;
    if (op == "expect" || op == "expect_within" || op == "expect_for") return expect(step);
    checker_.fail("the step '" + op + "' is not understood");
  }

  void part(const cli::DocumentValue& step) {
    const std::string state = text_of(step, "state");
    if (state == "terminated") return holding_.exited(has_field(step, "failure"));
    if (state == "assigned") return holding_.part_reached(HoldingState::Assigned);
    if (state == "pulling") return holding_.part_reached(HoldingState::Pulling);
    if (state == "starting") return holding_.part_reached(HoldingState::Starting);
    if (state == "running") return holding_.part_reached(HoldingState::Running);
    checker_.fail("the state '" + state + "' is not understood");
  }

  static std::string name(HoldingState state) {
    static constexpr const char* kNames[] = {"pending", "assigned",    "pulling",   "starting",
                                             "running", "terminating", "terminated"};
    return kNames[static_cast<std::size_t>(state)];
  }

  void expect(const cli::DocumentValue& step) {
    checker_.only_fields(step, {"op", "seconds", "state", "state_not", "ready", "error", "resources_released",
                                "preempt_signal", "acknowledged", "timed_out"});
    now_ = later(now_, Duration{scaled(number_of(step, "seconds"), kNanoseconds)});
    const bool timed_out = flag().timed_out(now_);
    holding_.tick(now_);
    const auto flag_field = [&](const char* what, bool got) {
      if (has_field(step, what)) checker_.equal(what, flag_of(step, what) ? 1 : 0, got ? 1 : 0);
    };
    if (has_field(step, "state")) checker_.equal("state", text_of(step, "state"), name(holding_.state()));
    if (has_field(step, "state_not")) checker_.count_comparison();
    if (has_field(step, "state_not") && text_of(step, "state_not") == name(holding_.state()))
      checker_.fail("state: expected anything but " + name(holding_.state()));
    if (step.find("error") != nullptr)
      checker_.equal("error", has_field(step, "error") ? "failed" : "none",
                     holding_.end() == HoldingEnd::Failed ? "failed" : "none");
    flag_field("ready", holding_.ready());
    flag_field("resources_released", holding_.resources_released());
    flag_field("preempt_signal", flag().raised());
    flag_field("acknowledged", flag().acknowledged());
    flag_field("timed_out", timed_out);
  }

  PreemptionFlag& flag() { return holding_.flag(); }

  const cli::DocumentValue& file_;
  CaseChecker& checker_;
  Holding holding_;
  Instant now_{};
};

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
  else if (kind == "queue_anchor")
    check_anchors(file, checker);
  else if (kind == "gang_shape")
    check_acceptance(file, check_gang_shape(integer_of(file, "slots"), integer_of(file, "max_slots_per_pod")), checker);
  else if (kind == "k8s_priority_change")
    check_acceptance(file, check_priority_change(flag_of(file, "preemptible", true)), checker);
  else if (kind == "reconnect_check")
    check_acceptance(file, reconnect(file), checker);
  else if (kind == "pool_routing")
    check_routing(file, checker);
  else if (kind == "preemption_flag" || kind == "allocation_lifecycle")
    LifecycleRun{file, checker}.run();
  else
    checker.fail("the kind '" + kind + "' is not understood");
  return checker.take();
}

}  // namespace penstock::tools
