// Reference cases of the quota policy: clusters of projects, one action or whole rounds.
// tidy: foreign-file pod, pods
#include <algorithm>
#include <map>

#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "supervisor/policy/trial.hpp"
#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/command_policy_quota_defaults.hpp"
#include "tools/policy/command_policy_quota_jobs.hpp"
#include "tools/policy/command_policy_quota_parts.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

constexpr double kMegabyte = 1e6;
constexpr std::int64_t kRoundsMax = 1000;
constexpr Instant kNow{std::chrono::hours{24}};

const char* state_name(MemberState state) {
  switch (state) {
    case MemberState::Pending: return "Pending";
    case MemberState::Gated: return "Gated";
    case MemberState::Starting: return "Binding";
    case MemberState::Running: return "Running";
    case MemberState::Promised: return "Pipelined";
    case MemberState::Leaving: return "Releasing";
    case MemberState::Succeeded: return "Succeeded";
    case MemberState::Failed: return "Failed";
  }
  return "";
}

std::optional<MemberState> state_named(const std::string& name) {
  if (name == "Allocated" || name == "Bound") return MemberState::Starting;
  for (const MemberState state :
       {MemberState::Pending, MemberState::Gated, MemberState::Starting, MemberState::Running, MemberState::Promised,
        MemberState::Leaving, MemberState::Succeeded, MemberState::Failed})
    if (name == state_name(state)) return state;
  return std::nullopt;
}

class QuotaScenario {
 public:
  QuotaScenario(const cli::DocumentValue& file, const cli::DocumentValue& subject, const std::string& id)
      : runner_(field_of(file, "runner")),
        case_(subject),
        defaults_(read_quota_defaults(field_of(file, "harness"))),
        checker_(id, text_of(file, "category")) {}

  CaseVerdict run() {
    parts_ = read_quota_parts(runner_, field_of(case_, "scheduler_config"), checker_);  // tidy: foreign
    read_bands();
    for (const char* list : {"departments", "queues"})
      for (const cli::DocumentValue& project : field_of(case_, list).items) add_project(project);
    find_parents();
    for (const cli::DocumentValue& job : field_of(case_, "jobs").items) add_job(job);
    check_names();
    checker_.only_fields(case_, {"id", "name", "nodes", "departments", "queues", "jobs", "expect", "features",
                                 "unchecked_in_source", "scheduler_config", "rounds_until_match",  // tidy: foreign
                                 "rounds_after_match", "node_filters"});
    if (const Result<void> sound = check_snapshot(snapshot_); !sound) {
      checker_.fail(to_string(sound.error()));
      return checker_.take();  // A pass over such a snapshot is not defined.
    }
    const std::string mode = text_of(runner_, "mode", "single_action");
    if (mode == "rounds")
      run_rounds();
    else if (mode == "single_action")
      run_once();
    else
      checker_.fail("runner.mode: '" + mode + "' is not understood; `single_action` or `rounds`");
    return checker_.take();
  }

 private:
  void read_bands() {
    const bool filters = flag_of(case_, "node_filters", true);
    for (const cli::DocumentValue& node : field_of(case_, "nodes").items) {
      Band& band = snapshot_.bands.emplace_back();
      band.name = text_of(node, "name");
      band.capacity = {integer_of(node, "cpu_milli", defaults_.band_cpu_milli),
                       integer_of(node, "memory_bytes", defaults_.band_memory_bytes), integer_of(node, "gpus") * 1000};
      band.device_memory_mib = integer_of(node, "gpu_memory_mib", defaults_.device_memory_mib);
      band.members_max = filters ? integer_of(node, "max_pods", defaults_.band_members_max) : kUnlimited;
    }
  }

  std::uint32_t project_named(const std::string& name) const {
    for (std::uint32_t i = 0; i < snapshot_.projects.size(); ++i)
      if (snapshot_.projects[i].name == name) return i;
    return kNone;
  }

  void add_project(const cli::DocumentValue& source) {
    Project project;
    project.name = text_of(source, "name");
    parents_.push_back(text_of(source, "parent"));
    project.priority = integer_of(source, "priority", 100);
    project.created = integer_of(source, "order");
    project.shares = {read_quota_share(source, "cpu_milli", 1), read_quota_share(source, "memory_mb", kMegabyte),
                      read_quota_share(source, "gpu", 1000)};
    const auto least = [&source](const char* name) -> std::optional<Duration> {
      if (!has_field(source, name)) return std::nullopt;
      return Duration{scaled(number_of(source, name), 1e9)};
    };
    project.preempt_min_runtime = least("preempt_min_runtime_s");
    project.reclaim_min_runtime = least("reclaim_min_runtime_s");
    for (const char* resource : {"gpu", "cpu_milli", "memory_mb"})
      for (const char* amount : {"quota", "limit"})
        if (const double value = number_of(field_of(source, resource), amount); value < 0 && value != -1)
          checker_.fail(project.name + ": the " + amount + " of " + resource + " is negative");
    snapshot_.projects.push_back(std::move(project));
  }

  /// A parent may come after its children.
  void find_parents() {
    for (std::size_t i = 0; i < parents_.size(); ++i)
      if (!parents_[i].empty()) snapshot_.projects[i].parent = project_named(parents_[i]);
  }

  /// Jobs of a project with an unknown parent, there or further up, have no place in any queue and wait. Spec:
  /// policy-runai 3.
  bool is_lost(std::uint32_t project) const {
    for (std::size_t steps = 0; project != kNone && steps <= parents_.size(); ++steps) {
      if (!parents_[project].empty() && snapshot_.projects[project].parent == kNone) return true;
      project = snapshot_.projects[project].parent;
    }
    return false;
  }

  void check_names() {
    std::vector<std::string> names;
    const auto refuse_twins = [&](const char* what) {
      std::sort(names.begin(), names.end());
      const auto twin = std::adjacent_find(names.begin(), names.end());
      if (twin != names.end()) checker_.fail(std::string{"two "} + what + " are called '" + *twin + "'");
      names.clear();
    };
    for (const Band& each : snapshot_.bands) names.push_back(each.name);
    refuse_twins("bands");
    for (const Project& each : snapshot_.projects) names.push_back(each.name);
    refuse_twins("queues");
    for (const Workload& each : snapshot_.workloads) names.push_back(each.name);
    refuse_twins("jobs");
    for (const Member& each : snapshot_.members) names.push_back(each.name);
    refuse_twins("members");
  }

  void add_job(const cli::DocumentValue& job) {
    const auto workload_position = static_cast<std::uint32_t>(snapshot_.workloads.size());
    Workload workload;
    workload.name = text_of(job, "name");
    workload.project = project_named(text_of(job, "queue"));
    if (is_lost(workload.project)) workload.project = kNone;
    workload.priority = integer_of(job, "priority");
    workload.preemptible = flag_of(job, "preemptible", workload.priority < 100);
    workload.submitted = -scaled(number_of(job, "age_minutes"), 1000) * 1000 + workload_position;
    if (has_field(job, "stale_seconds"))
      workload.stale_since = kNow - Duration{scaled(std::max(0.0, number_of(job, "stale_seconds")), 1e9)};
    if (has_field(job, "last_start_seconds_ago"))
      workload.last_start = kNow - Duration{scaled(std::max(0.0, number_of(job, "last_start_seconds_ago")), 1e9)};
    keeps_leaving_.push_back(flag_of(job, "delete_in_test"));
    const cli::DocumentValue& podsets = field_of(field_of(job, "subgroups"), "podsets");
    if (podsets.is_list()) workload.sets.clear();
    for (const cli::DocumentValue& set : podsets.items)
      workload.sets.push_back({text_of(set, "name"), integer_of(set, "min_available", 1)});
    if (!podsets.is_list()) workload.sets[0].min = integer_of(job, "min_available", 1);
    for (const cli::DocumentValue& pod : field_of(job, "pods").items)
      add_member(pod, field_of(job, "per_pod"), workload, workload_position);
    snapshot_.workloads.push_back(std::move(workload));
  }

  void add_member(const cli::DocumentValue& pod, const cli::DocumentValue& each, const Workload& workload,
                  std::uint32_t position) {
    Member member;
    member.name = text_of(pod, "id");
    member.workload = position;
    member.requested = static_cast<std::int64_t>(snapshot_.members.size());
    bool known = !has_field(pod, "subgroup");
    for (std::uint32_t set = 0; set < workload.sets.size(); ++set)
      if (workload.sets[set].name == text_of(pod, "subgroup")) member.set = set, known = true;
    if (!known) checker_.fail(member.name + ": the job has no subgroup '" + text_of(pod, "subgroup") + "'");
    member.request.cpu = integer_of(each, "cpu_milli", defaults_.member_cpu_milli);
    member.request.memory = integer_of(each, "memory_bytes", defaults_.member_memory_bytes);
    const std::int64_t gpu = scaled(number_of(pod, "gpus", number_of(each, "gpus")), 1000);
    member.device_memory_mib = integer_of(each, "gpu_memory_mib");
    if (member.device_memory_mib > 0 || gpu % 1000 != 0) {
      member.devices = integer_of(each, "fraction_devices", 1);
      if (member.device_memory_mib == 0) member.device_share = gpu;
    } else {
      member.request.gpu = gpu;
    }
    if (has_field(pod, "order_priority")) member.order_priority = integer_of(pod, "order_priority");
    std::vector<std::uint32_t> allowed;
    if (flag_of(case_, "node_filters", true))
      for (const std::string& name : texts_of(field_of(pod, "node_affinity"))) allowed.push_back(band_named(name));
    member.band_list = band_lists_.name(std::move(allowed), snapshot_);
    const std::optional<MemberState> state = state_named(text_of(pod, "state"));
    if (!state) checker_.fail("the state '" + text_of(pod, "state") + "' is not understood");
    member.state = state.value_or(MemberState::Pending);
    if (has_field(pod, "node")) {
      member.places.push_back({band_named(text_of(pod, "node")), 0});
      if (member.devices > 0)
        for (const std::string& label : texts_of(field_of(pod, "gpu_groups")))
          member.device_groups.push_back(group_number(label));
    }
    snapshot_.members.push_back(std::move(member));
  }

  std::uint32_t group_number(const std::string& label) {
    return groups_.try_emplace(label, static_cast<std::uint32_t>(groups_.size())).first->second;
  }
  std::uint32_t band_named(const std::string& name) const {
    for (std::uint32_t i = 0; i < snapshot_.bands.size(); ++i)
      if (snapshot_.bands[i].name == name) return i;
    return kNone;
  }

  /// Runs one pass and carries it out on the snapshot.
  void pass() {
    checker_.runs_by(CaseWay::Pass);
    snapshot_.now = kNow;
    const Plan plan = PolicyEngine{{parts_}}.pass(snapshot_);
    const cli::DocumentValue& expect = field_of(case_, "expect");
    const auto at_most_calls = [&](const char* name, std::size_t calls) {
      if (has_field(expect, name)) checker_.at_most(name, integer_of(expect, name), std::int64_t(calls));
    };
    at_most_calls("max_binds", plan.starts.size());
    at_most_calls("max_evictions", plan.preemptions.size());  // tidy: foreign
    at_most_calls("max_pipelines", plan.reservations.size());
    for (const Preemption& each : plan.preemptions) snapshot_.members[each.member].state = MemberState::Leaving;
    for (const Start& each : plan.starts) hold(each.member, MemberState::Starting, each.places, each.device_groups);
    for (const Reservation& each : plan.reservations)
      hold(each.member, MemberState::Promised, each.places, each.device_groups);
  }

  void hold(std::uint32_t member, MemberState state, const std::vector<Place>& places,
            const std::vector<std::uint32_t>& groups) {
    snapshot_.members[member].state = state;
    snapshot_.members[member].places = places;
    snapshot_.members[member].device_groups = groups;
  }

  void run_once() {
    pass();
    for (const std::string& difference : differences()) checker_.fail(difference);
  }

  /// Starting members run, leaving members are gone, promises are dropped.
  void let_time_pass() {
    for (Member& member : snapshot_.members) {
      if (member.state == MemberState::Starting) member.state = MemberState::Running;
      const bool leaves = member.state == MemberState::Leaving && !keeps_leaving_[member.workload];
      if (!leaves && member.state != MemberState::Promised) continue;
      member.state = MemberState::Pending;
      member.places.clear();
      member.device_groups.clear();
    }
  }

  void run_rounds() {
    const std::int64_t until = integer_of(case_, "rounds_until_match", integer_of(runner_, "rounds_until_match", 1));
    const std::int64_t after = integer_of(case_, "rounds_after_match", integer_of(runner_, "rounds_after_match"));
    if (until > kRoundsMax || after > kRoundsMax)
      return checker_.fail("more than " + std::to_string(kRoundsMax) + " rounds are not played");
    std::vector<std::string> found;
    for (std::int64_t round = 0; round < until; ++round) {
      pass();
      let_time_pass();
      found = differences();
      if (found.empty()) break;
    }
    for (const std::string& difference : found) checker_.fail(difference);
    if (!found.empty()) return;
    for (std::int64_t round = 1; round <= after; ++round) {
      pass();
      let_time_pass();
      for (const std::string& difference : differences())
        checker_.fail("round " + std::to_string(round) + " after the match: " + difference);
    }
  }

  std::vector<std::string> differences() {
    CaseChecker found{"", ""};
    const cli::DocumentValue& expect = field_of(case_, "expect");
    found.only_fields(expect,
                      {"jobs", "pods", "nodes", "max_binds", "max_evictions", "max_pipelines"});  // tidy: foreign
    std::map<std::string, std::vector<std::uint32_t>> devices;
    for (const cli::DocumentField& each : field_of(expect, "jobs").fields) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t i = 0; i < snapshot_.members.size(); ++i)
        if (snapshot_.workloads[snapshot_.members[i].workload].name == each.name) members.push_back(i);
      compare(each, members, found, devices);
    }
    for (const cli::DocumentField& each : field_of(expect, "pods").fields) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t i = 0; i < snapshot_.members.size(); ++i)
        if (snapshot_.members[i].name == each.name) members.push_back(i);
      compare(each, members, found, devices);
    }
    compare_devices(devices, found);
    for (const cli::DocumentField& each : field_of(expect, "nodes").fields) compare_band(each, found);
    checker_.count_comparisons_of(found);
    return found.differences();
  }

  void compare(const cli::DocumentField& expected, const std::vector<std::uint32_t>& members, CaseChecker& found,
               std::map<std::string, std::vector<std::uint32_t>>& devices) const {
    const cli::DocumentValue& expect = expected.value;
    if (members.empty()) return found.fail(expected.name + ": there is no such job or member");
    if (expect.fields.empty()) return found.fail(expected.name + ": nothing to compare with");
    found.only_fields(expect, {"state", "node", "gpus_requested", "gpus_accepted", "gpu_groups", "gpu_group_checked",
                               "cpu_milli", "memory_bytes", "started_at_least_s_ago"});
    Resources sum;
    for (const std::uint32_t position : members) {
      const Member& member = snapshot_.members[position];
      sum += member.request;
      sum.gpu += member.device_share * member.devices;
      if (has_field(expect, "state")) {
        const std::string state = text_of(expect, "state");
        const std::optional<MemberState> known = state_named(state);
        found.equal(member.name + " state", known ? state_name(*known) : state, state_name(member.state));
      }
      if (has_field(expect, "node"))
        found.equal(member.name + " place", text_of(expect, "node"),
                    member.places.empty() ? "none" : snapshot_.bands[member.places[0].band].name);
      if (!flag_of(expect, "gpu_group_checked", true) || member.device_groups.empty()) continue;
      for (const std::string& label : texts_of(field_of(expect, "gpu_groups"))) devices[label].push_back(position);
    }
    if (has_field(expect, "gpus_requested"))
      found.near(expected.name + " devices asked for", number_of(expect, "gpus_requested"),
                 static_cast<double>(sum.gpu) / 1000, 1e-3);
    if (has_field(expect, "cpu_milli")) found.equal(expected.name + " CPU", integer_of(expect, "cpu_milli"), sum.cpu);
    if (has_field(expect, "memory_bytes"))
      found.equal(expected.name + " memory", integer_of(expect, "memory_bytes"), sum.memory);
  }

  /// Equal labels mean the same device.
  void compare_devices(const std::map<std::string, std::vector<std::uint32_t>>& devices, CaseChecker& found) const {
    for (const auto& [label, members] : devices) {
      const Member& first = snapshot_.members[members[0]];
      for (const std::uint32_t position : members) {
        const Member& other = snapshot_.members[position];
        if (other.device_groups.size() != 1 || first.device_groups.size() != 1 || other.places != first.places)
          continue;
        found.equal(other.name + " device, as " + first.name, std::int64_t{first.device_groups[0]},
                    std::int64_t{other.device_groups[0]});
      }
    }
  }

  void compare_band(const cli::DocumentField& expected, CaseChecker& found) const {
    found.only_fields(expected.value, {"idle_gpus", "releasing_gpus"});
    const Trial trial{snapshot_, 0, parts_};
    const std::uint32_t band = band_named(expected.name);
    if (band == kNone) return found.fail("there is no band '" + expected.name + "'");
    if (expected.value.fields.empty()) return found.fail(expected.name + ": nothing to compare with");
    if (has_field(expected.value, "idle_gpus"))
      found.near(expected.name + " idle", number_of(expected.value, "idle_gpus"),
                 static_cast<double>(trial.room(band).idle.gpu) / 1000, 1e-6);
    if (has_field(expected.value, "releasing_gpus"))
      found.near(expected.name + " leaving", number_of(expected.value, "releasing_gpus"),
                 static_cast<double>(trial.room(band).leaving.gpu) / 1000, 1e-6);
  }

  const cli::DocumentValue& runner_;
  const cli::DocumentValue& case_;
  const QuotaDefaults defaults_;
  CaseChecker checker_;
  Parts parts_;
  Snapshot snapshot_;
  BandLists band_lists_;
  std::vector<bool> keeps_leaving_;   ///< By workload.
  std::vector<std::string> parents_;  ///< By project, as the case names them.
  std::map<std::string, std::uint32_t> groups_;
};

}  // namespace

CaseVerdict check_quota_scenario(const cli::DocumentValue& file, const cli::DocumentValue& subject,
                                 const std::string& id) {
  if (runs_as_quota_jobs(file, subject)) return check_quota_jobs(file, subject, id);
  return QuotaScenario{file, subject, id}.run();
}

}  // namespace penstock::tools
