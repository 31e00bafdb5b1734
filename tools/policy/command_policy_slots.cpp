// Reference cases of fair share and priority: a pool, and passes over it step by step.
// tidy: foreign-file task, tasks, agent, agents
#include <algorithm>
#include <map>
#include <set>

#include "common/protocol/policy_config.hpp"
#include "supervisor/core/driver/desired_workers.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/command_policy_positions.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

class SlotScenario {
 public:
  SlotScenario(const cli::DocumentValue& file, const std::string& id)
      : file_(file), checker_(id, text_of(file, "kind")) {}

  CaseVerdict run() {
    read_pool();
    const cli::DocumentValue& positions = field_of(file_, "queue_positions");
    by_submission_ = positions.is_text() && positions.text == "submission_time";
    add(file_);
    if (!by_submission_) set_positions(positions);
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) {
      ++step_;
      take(step);
    }
    if (step_ == 0) checker_.fail("the case has no steps");
    return checker_.take();
  }

 private:
  void read_pool() {
    const cli::DocumentValue& setting = field_of(file_, "scheduler");  // tidy: foreign
    checker_.one_of(setting, "variant", {"proportional", "max_min"});
    checker_.one_of(setting, "fitting", {"best", "worst"});
    check_priority_range(setting, "default_priority", checker_);
    checker_.no_twins("agents", texts_of_items(field_of(file_, "agents"), "id"));
    const std::string type = text_of(setting, "type", "fair_share");
    // A case without a named variant has a tag if it is not the page's.
    const bool max_min = has_field(setting, "variant")
                             ? text_of(setting, "variant") == "max_min"
                             : !flag_of(field_of(file_, "tags"), "same_under_proportional", true);
    const Result<Parts> parts = preset(type == "fair_share" && max_min ? "fair_share_max_min" : type);
    if (!parts) return checker_.fail("the policy '" + type + "' is not known");
    parts_ = *parts;
    parts_.preemption = flag_of(setting, "preemption");
    parts_.waits_for_absent_bands = true;  // No submission refuses such jobs there.
    parts_.own_rules = false;
    parts_.gpu_fitting = text_of(setting, "fitting", "best") == "worst" ? Fitting::Worst : Fitting::Best;
    parts_.mixed_sizes = flag_of(setting, "heterogeneous");
    for (const cli::DocumentValue& agent : field_of(file_, "agents").items) {
      Band band;
      band.name = text_of(agent, "id");
      band.slots = integer_of(agent, "slots");
      band.light_places = integer_of(agent, "max_zero_slot", 100);
      if (has_field(agent, "label")) band.labels.push_back(text_of(agent, "label"));
      if (flag_of(agent, "draining")) band.state = BandState::Draining;
      if (has_field(agent, "enabled") && !flag_of(agent, "enabled")) band.state = BandState::Disabled;
      snapshot_.bands.push_back(std::move(band));
    }
  }

  std::uint32_t band_named(const std::string& name) const {
    for (std::uint32_t i = 0; i < snapshot_.bands.size(); ++i)
      if (snapshot_.bands[i].name == name) return i;
    return kNone;
  }
  std::uint32_t member_named(const std::string& name) {
    for (std::uint32_t i = 0; i < snapshot_.members.size(); ++i)
      if (snapshot_.members[i].name == name) return i;
    complain("no member is called '" + name + "'");
    return kNone;
  }
  std::uint32_t workload_named(const std::string& name) {
    for (std::uint32_t i = 0; i < snapshot_.workloads.size(); ++i)
      if (snapshot_.workloads[i].name == name) return i;
    Workload workload;
    workload.name = name;
    workload.priority = -kPriorityDefault;
    workload.submitted = INT64_MAX;
    snapshot_.workloads.push_back(std::move(workload));
    return static_cast<std::uint32_t>(snapshot_.workloads.size() - 1);
  }

  /// Whether a group or a task of the file or of any step has that name for its job.
  bool is_told_of(const std::string& job) const {
    const auto among = [&job](const cli::DocumentValue& from) {
      for (const auto& [list, field] : {std::pair{"groups", "id"}, std::pair{"tasks", "job"}})
        for (const cli::DocumentValue& each : field_of(from, list).items)
          if (text_of(each, field) == job) return true;
      return false;
    };
    const std::vector<cli::DocumentValue>& steps = field_of(file_, "steps").items;
    return among(file_) || std::any_of(steps.begin(), steps.end(), among);
  }

  /// The job of a step; null, and a difference, if there is none.
  Workload* job_of(const cli::DocumentValue& step) {
    const std::string job = text_of(step, "job");
    if (is_told_of(job)) return &snapshot_.workloads[workload_named(job)];
    complain("there is no job '" + job + "'");
    return nullptr;
  }

  /// The groups and tasks of the file, or of a step that adds some.
  void add(const cli::DocumentValue& from) {
    checker_.no_twins("groups", texts_of_items(field_of(from, "groups"), "id"));
    for (const cli::DocumentValue& group : field_of(from, "groups").items) {
      check_weight(group, checker_, true);
      check_amounts(group, {"max_slots"}, checker_);
      check_priority_range(group, "priority", checker_);
      Workload& workload = snapshot_.workloads[workload_named(text_of(group, "id"))];
      // A weight of 0 in the fixtures means the default.
      if (number_of(group, "weight") > 0) workload.weight = scaled(number_of(group, "weight"), 1000);
      workload.slots_max = integer_of(group, "max_slots", kUnlimited);
      workload.priority = -integer_of(group, "priority", kPriorityDefault);
    }
    for (const cli::DocumentValue& task : field_of(from, "tasks").items) add_member(task);
    positions_.give_to(snapshot_);
  }

  void add_member(const cli::DocumentValue& task) {
    Member member;
    member.name = text_of(task, "id");
    for (const Member& each : snapshot_.members)
      if (each.name == member.name && each.state != MemberState::Succeeded)
        complain("two tasks are called '" + member.name + "'");
    member.workload = workload_named(text_of(task, "job"));
    member.slots = integer_of(task, "slots");
    member.preemptible = flag_of(task, "preemptible", true);
    member.submitted = integer_of(task, "submitted");
    member.requested = integer_of(task, "requested");
    member.single_band = flag_of(task, "single_agent");
    member.label = text_of(task, "label");
    for (const std::string& name : texts_of(field_of(task, "blocked_agents"))) {
      // The list may still name an agent that has left.
      if (band_named(name) == kNone) checker_.remark(at("`blocked_agents`: there is no agent '" + name + "'"));
      member.blocked_bands.push_back(band_named(name));
    }
    Workload& workload = snapshot_.workloads[member.workload];
    if (by_submission_ && member.submitted < workload.submitted) positions_.set(member.workload, member.submitted);
    workload.submitted = std::min(workload.submitted, member.submitted);
    if (has_field(task, "running_on")) {
      member.state = MemberState::Running;
      const std::uint32_t band = band_named(text_of(task, "running_on"));
      // A member without real slots holds no places.
      if (flag_of(task, "holds_slots", true)) member.places.push_back({band, member.slots});
    }
    snapshot_.members.push_back(std::move(member));
  }

  void set_positions(const cli::DocumentValue& positions) {
    if (!positions.is_table() && positions.kind != cli::DocumentValue::Kind::Null)
      complain("positions must be a table of jobs or `submission_time`");
    for (const cli::DocumentField& each : positions.fields) {
      if (!is_told_of(each.name)) {
        complain("a position is given to '" + each.name + "', which is no job");
        continue;
      }
      if (!positions_.set(workload_named(each.name), each.value))
        complain("the position '" + each.value.text + "' is no number");
    }
    positions_.give_to(snapshot_);
  }

  void take(const cli::DocumentValue& step) {
    const std::string op = text_of(step, "op");
    if (op == "note") return;
    if (op == "schedule") return schedule(step);
    if (op == "apply_allocations") return apply();
    if (op == "add_tasks") return add(step);
    if (op == "finish_tasks") return each_member(step, MemberState::Succeeded);
    if (op == "unallocate_tasks" || op == "force_pending" || op == "preempted_exit")
      return each_member(step, MemberState::Pending);
    if (op == "force_running") return each_member(step, MemberState::Running);
    if (op == "set_positions") return set_positions(field_of(step, "positions"));
    if (op == "set_weight") {
      check_weight(step, checker_);
      if (Workload* workload = job_of(step)) workload->weight = scaled(number_of(step, "weight", 1), 1000);
      return;
    }
    if (op == "set_priority") {
      check_priority_range(step, "priority", checker_);
      if (!has_field(step, "priority")) return complain("`priority` is missing");
      if (Workload* workload = job_of(step)) {
        workload->priority = -integer_of(step, "priority");
        // Spec: policy-determined 5.6.
        positions_.reset(workload_named(workload->name), workload->submitted);
        positions_.give_to(snapshot_);
      }
      return;
    }
    if (op == "check_empty_slots") return check_empty_slots(field_of(step, "expect"));
    if (op == "job_queue") return check_queue(field_of(step, "expect"));
    if (op == "queue_counts") return check_counts(field_of(step, "expect"));
    if (op == "queue_order") return check_order(field_of(step, "expect"));
    if (op == "desired_agents") return check_desired(step);
    complain("the step '" + op + "' is not understood");
  }

  void each_member(const cli::DocumentValue& step, MemberState state) {
    const cli::DocumentValue& list = field_of(step, "tasks");
    // A text in place of a list means the members that the last pass released.
    std::vector<std::string> names = list.is_list() ? texts_of(list) : released_;
    for (const std::string& name : names) {
      const std::uint32_t member = member_named(name);
      if (member == kNone) continue;
      snapshot_.members[member].state = state;
      snapshot_.members[member].places.clear();
    }
  }

  void schedule(const cli::DocumentValue& step) {
    plan_ = {};
    // A pass over anything else is not defined.
    if (const Result<void> sound = check_snapshot(snapshot_); !sound) return complain(to_string(sound.error()));
    plan_ = PolicyEngine{{parts_}}.pass(snapshot_);
    std::vector<std::string> starts;
    released_.clear();
    for (const Start& each : plan_.starts) starts.push_back(snapshot_.members[each.member].name);
    for (const Preemption& each : plan_.preemptions) released_.push_back(snapshot_.members[each.member].name);
    const cli::DocumentValue& expect = field_of(step, "expect");
    checker_.only_fields(expect, {"to_allocate", "to_release", "to_allocate_count", "to_release_count",
                                  "to_allocate_by_group", "to_release_by_group"});
    check_moves(expect, "to_allocate", starts);
    check_moves(expect, "to_release", released_);
  }

  void check_set(const std::string& name, const std::vector<std::string>& expected,
                 const std::vector<std::string>& got) {
    // If more was offered than fits, the placement may drop members that find no place beside the others.
    const bool may_drop = name == "to_allocate" && !flag_of(field_of(file_, "tags"), "all_allocations_placeable", true);
    const auto among = [](const std::vector<std::string>& names, const std::string& one) {
      return std::find(names.begin(), names.end(), one) != names.end();
    };
    if (may_drop && std::all_of(got.begin(), got.end(), [&](const auto& each) { return among(expected, each); })) {
      for (const std::string& each : expected)
        if (!among(got, each) && finds_place(member_named(each)))
          complain("to_allocate: there would be a place for '" + each + "'");
      return checker_.count_comparison();
    }
    checker_.equal(at(name), set_text(expected), set_text(got));
  }

  /// Whether there is room for it after all starts of the plan: on one band, or on several empty ones.
  bool finds_place(std::uint32_t position) const {
    if (position == kNone) return false;
    const Member& member = snapshot_.members[position];
    std::vector<std::int64_t> free;
    for (const Band& band : snapshot_.bands) free.push_back(band.slots);
    for (const Member& each : snapshot_.members)
      for (const Place& place : each.places) free[place.band] -= place.slots;
    for (const Start& each : plan_.starts)
      for (const Place& place : each.places) free[place.band] -= place.slots;
    std::int64_t empty = 0;
    for (std::uint32_t i = 0; i < free.size(); ++i) {
      const Band& band = snapshot_.bands[i];
      const bool labelled =
          member.label.empty() || std::find(band.labels.begin(), band.labels.end(), member.label) != band.labels.end();
      const bool blocked =
          std::find(member.blocked_bands.begin(), member.blocked_bands.end(), i) != member.blocked_bands.end();
      if (band.state != BandState::Enabled || !labelled || blocked) continue;
      if (free[i] >= member.slots) return true;
      if (free[i] == band.slots) empty += band.slots;
    }
    return !member.single_band && empty >= member.slots;
  }

  void check_moves(const cli::DocumentValue& expect, const std::string& name, const std::vector<std::string>& got) {
    const cli::DocumentValue& set = field_of(expect, name);
    if (set.is_list()) check_set(name, texts_of(set), got);
    if (has_field(expect, name + "_count"))
      checker_.equal(at(name), integer_of(expect, name + "_count"), static_cast<std::int64_t>(got.size()));
    const cli::DocumentValue& groups = field_of(expect, name + "_by_group");
    if (!groups.is_table()) return;
    std::map<std::string, std::int64_t> counts;
    for (const std::string& member : got)
      ++counts[snapshot_.workloads[snapshot_.members[member_named(member)].workload].name];
    std::vector<std::string> expected;
    std::vector<std::string> counted;
    bool says_any = groups.fields.empty();
    for (const cli::DocumentField& each : groups.fields) {
      says_any = says_any || each.value.kind != cli::DocumentValue::Kind::Null;
      const std::int64_t count = whole_of(each.value);
      if (each.value.kind == cli::DocumentValue::Kind::Null)
        counts.erase(each.name);  // The case does not give a number.
      else if (count != 0)
        expected.push_back(each.name + " " + std::to_string(count));
    }
    if (!says_any && counts.empty()) return;  // Without numbers there is nothing to compare.
    for (const auto& [group, count] : counts) counted.push_back(group + " " + std::to_string(count));
    checker_.equal(at(name), set_text(expected), set_text(counted));
  }

  void apply() {
    for (const Start& each : plan_.starts) {
      snapshot_.members[each.member].state = MemberState::Running;
      snapshot_.members[each.member].places = each.places;
      if (each.backfilled) backfilled_.insert(each.member);
    }
    plan_ = {};
  }

  void check_empty_slots(const cli::DocumentValue& expect) {
    for (const cli::DocumentField& each : expect.fields) {
      const std::uint32_t band = band_named(each.name);
      if (band == kNone) return complain("there is no band '" + each.name + "'");
      if (!each.value.is_number()) return complain("empty slots of " + each.name + ": must be a number");
      std::int64_t free = snapshot_.bands[band].slots;
      for (const Member& member : snapshot_.members)
        for (const Place& place : member.places)
          if (place.band == band) free -= place.slots;
      checker_.equal(at("empty slots of " + each.name), whole_of(each.value), free);
    }
  }

  /// `queued`, `backfilled` or `scheduled`: the best of its members.
  std::string state_of(std::uint32_t workload) const {
    int best = 0;
    for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member)
      if (snapshot_.members[member].workload == workload && is_held(snapshot_.members[member].state))
        best = std::max(best, backfilled_.contains(member) ? 1 : 2);
    return best == 2 ? "scheduled" : best == 1 ? "backfilled" : "queued";
  }

  /// Workloads of pool 0 that have members, in the order of their most important one.
  std::vector<std::uint32_t> workloads_in_order() const {
    std::vector<std::uint32_t> members;
    for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member) {
      const MemberState state = snapshot_.members[member].state;
      if (state == MemberState::Succeeded || state == MemberState::Failed) continue;
      if (snapshot_.workloads[snapshot_.members[member].workload].pool == 0) members.push_back(member);
    }
    std::sort(members.begin(), members.end(),
              [this](std::uint32_t a, std::uint32_t b) { return more_important(snapshot_, a, b); });
    std::vector<std::uint32_t> workloads;
    for (const std::uint32_t member : members) {
      const std::uint32_t workload = snapshot_.members[member].workload;
      if (std::find(workloads.begin(), workloads.end(), workload) == workloads.end()) workloads.push_back(workload);
    }
    return workloads;
  }

  void check_queue(const cli::DocumentValue& expect) {
    checker_.only_fields(expect, {"jobs", "count"});
    const std::vector<std::uint32_t> rows = workloads_in_order();
    if (has_field(expect, "count"))
      checker_.equal(at("count"), integer_of(expect, "count"), static_cast<std::int64_t>(rows.size()));
    for (const cli::DocumentField& each : field_of(expect, "jobs").fields) {
      if (!is_told_of(each.name)) {
        complain("expect.jobs: there is no job '" + each.name + "'");
        continue;
      }
      const std::uint32_t workload = workload_named(each.name);
      checker_.only_fields(each.value, {"state", "allocated", "requested", "jobs_ahead"});
      std::int64_t allocated = 0;
      std::int64_t requested = 0;
      for (const Member& member : snapshot_.members) {
        if (member.workload != workload || member.state == MemberState::Succeeded) continue;
        requested += member.slots;
        if (is_held(member.state)) allocated += member.slots;
      }
      const auto row = std::find(rows.begin(), rows.end(), workload);
      const std::int64_t ahead = row == rows.end() || parts_.sharing != Sharing::None ? -1 : row - rows.begin();
      if (has_field(each.value, "state"))
        checker_.equal(at(each.name), text_of(each.value, "state"), state_of(workload));
      if (has_field(each.value, "allocated"))
        checker_.equal(at(each.name + " allocated"), integer_of(each.value, "allocated"), allocated);
      if (has_field(each.value, "requested"))
        checker_.equal(at(each.name + " requested"), integer_of(each.value, "requested"), requested);
      if (has_field(each.value, "jobs_ahead"))
        checker_.equal(at(each.name + " jobs ahead"), integer_of(each.value, "jobs_ahead"), ahead);
    }
  }

  void check_counts(const cli::DocumentValue& expect) {
    checker_.only_fields(expect, {"queued", "scheduled"});
    for (const char* field : {"queued", "scheduled"}) checker_.demand(expect, field);
    std::int64_t queued = 0;
    std::int64_t scheduled = 0;
    for (const std::uint32_t workload : workloads_in_order()) ++(state_of(workload) == "queued" ? queued : scheduled);
    checker_.equal(at("queued"), integer_of(expect, "queued"), queued);
    checker_.equal(at("scheduled"), integer_of(expect, "scheduled"), scheduled);
  }

  /// Compares a list of members or of jobs, in order. With a second list, each has only some of them.
  void check_order(const cli::DocumentValue& expect) {
    if (field_of(expect, "to_allocate").is_list() && field_of(expect, "to_release").is_list()) {
      checker_.only_fields(expect, {"to_allocate", "to_release"});
      compare_order("to_allocate", texts_of(field_of(expect, "to_allocate")), false);
      return compare_order("to_release", texts_of(field_of(expect, "to_release")), false);
    }
    const cli::DocumentValue* list = expect.is_list() ? &expect : nullptr;
    for (const cli::DocumentField& each : expect.fields) {
      if (list != nullptr && each.value.is_list()) return complain("there are several orders to compare with");
      if (each.value.is_list()) list = &each.value;
    }
    if (list == nullptr) return complain("an order to compare with is missing");
    compare_order("order", texts_of(*list), true);
  }

  /// `all`: no further member is in that order.
  void compare_order(const std::string& what, const std::vector<std::string>& expected, bool all) {
    if (expected.empty() && !all) return;
    std::vector<std::uint32_t> members;
    for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member)
      if (is_waiting(snapshot_.members[member].state) || is_held(snapshot_.members[member].state))
        members.push_back(member);
    std::sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) {
      return parts_.sharing == Sharing::None ? more_important(snapshot_, a, b) : older(snapshot_, a, b);
    });
    std::vector<std::string> by_member;
    std::vector<std::string> by_workload;
    for (const std::uint32_t member : members) {
      by_member.push_back(snapshot_.members[member].name);
      const std::string& owner = snapshot_.workloads[snapshot_.members[member].workload].name;
      if (std::find(by_workload.begin(), by_workload.end(), owner) == by_workload.end()) by_workload.push_back(owner);
    }
    const bool names_members =
        !expected.empty() && std::find(by_member.begin(), by_member.end(), expected[0]) != by_member.end();
    std::vector<std::string>& got = names_members ? by_member : by_workload;
    if (!all)
      std::erase_if(got, [&expected](const std::string& name) {
        return std::find(expected.begin(), expected.end(), name) == expected.end();
      });
    checker_.equal(at(what), list_text(expected), list_text(got));
  }

  void check_desired(const cli::DocumentValue& step) {
    std::vector<supervisor::WaitingRequests> jobs(snapshot_.workloads.size());
    for (const Member& member : snapshot_.members)
      if (is_waiting(member.state)) jobs[member.workload].requests.push_back({member.slots, 1});
    if (flag_of(step, "use_group_caps"))
      for (std::size_t i = 0; i < jobs.size(); ++i)
        if (snapshot_.workloads[i].slots_max != kUnlimited) jobs[i].slots_max = snapshot_.workloads[i].slots_max;
    for (const cli::DocumentValue& each : field_of(step, "expect").items) {
      checker_.only_fields(each, {"slots_per_agent", "max_zero_slot_per_agent", "agents"});
      checker_.demand(each, "agents", "expect[]");
      const supervisor::WorkerShape shape{integer_of(each, "slots_per_agent"),
                                          integer_of(each, "max_zero_slot_per_agent")};
      checker_.equal(at("workers of " + std::to_string(shape.slots) + " slots, " + std::to_string(shape.light_places) +
                        " light places"),
                     integer_of(each, "agents"), supervisor::desired_workers(jobs, shape));
    }
  }

  std::string at(const std::string& what) const { return "step " + std::to_string(step_) + ", " + what; }
  void complain(const std::string& what) { checker_.fail(at(what)); }

  const cli::DocumentValue& file_;
  CaseChecker checker_;
  Parts parts_;
  Snapshot snapshot_;
  CasePositions positions_;
  Plan plan_;
  std::vector<std::string> released_;
  std::set<std::uint32_t> backfilled_;
  bool by_submission_ = false;
  std::int64_t step_ = 0;
};

}  // namespace

CaseVerdict check_slot_case(const cli::DocumentValue& file, const std::string& id) {
  return SlotScenario{file, id}.run();
}

}  // namespace penstock::tools
