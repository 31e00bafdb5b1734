// tidy: foreign-file nodes, node, pod, pods
#include "tools/policy/quota_site.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "tools/policy/command_policy_quota_defaults.hpp"

namespace penstock::tools {
namespace {

constexpr std::int64_t kUnlimitedSlots = 1'000'000;

bool is_whole(double number) { return number == std::floor(number); }

/// No cluster starts a part of a gang.
bool is_broken_gang(const cli::DocumentValue& job) {
  const auto running = static_cast<std::int64_t>(running_members(job));
  return running > 0 && running < integer_of(job, "min_available", 1);
}

bool are_plain_pods(const cli::DocumentValue& job) {
  const std::vector<std::string> allowed = texts_of(field_of(field_of(job, "pods").items.front(), "node_affinity"));
  for (const cli::DocumentValue& pod : field_of(job, "pods").items) {
    const std::string state = text_of(pod, "state");
    if (state != "Pending" && (state != "Running" || !has_field(pod, "node"))) return false;
    for (const char* each : {"gpus", "subgroup", "order_priority"})
      if (has_field(pod, each)) return false;
    if (texts_of(field_of(pod, "node_affinity")) != allowed) return false;
  }
  return true;
}

bool is_plain_project(const cli::DocumentValue& project) {
  for (const char* resource : {"cpu_milli", "memory_mb"})
    for (const char* amount : {"quota", "limit"})
      if (number_of(field_of(project, resource), amount, -1) != -1) return false;
  const auto is_amount = [](double number) { return number == -1 || (number >= 0 && is_whole(number)); };
  const cli::DocumentValue& devices = field_of(project, "gpu");
  return is_amount(number_of(devices, "quota")) && is_amount(number_of(devices, "limit", -1)) &&
         !has_field(project, "preempt_min_runtime_s") && !has_field(project, "reclaim_min_runtime_s");
}

bool is_plain_runner(const cli::DocumentValue& runner) {
  for (const cli::DocumentField& each : field_of(runner, "placement").fields)
    if (each.value.text != (each.name == "gpu_sharing" ? "pack" : "binpack")) return false;
  const cli::DocumentValue& victims = field_of(runner, "consolidation_victims");
  const bool any_number = victims.is_number() ? victims.number < 0 : !victims.is_text() || victims.text == "unlimited";
  const std::string mode = text_of(runner, "mode", "single_action");
  return any_number && flag_of(runner, "consolidating_reclaim", true) && (mode == "rounds" || mode == "single_action");
}

/// Whether states and places are expected, and nothing else that a cluster does not show.
bool is_plain_expectation(const cli::DocumentValue& expect) {
  static const std::set<std::string_view> kBounds{"max_binds", "max_evictions", "max_pipelines"};
  static const std::set<std::string_view> kFields{"state", "node", "gpus_requested", "gpu_groups", "gpu_group_checked"};
  for (const cli::DocumentField& list : expect.fields) {
    if (kBounds.contains(list.name)) continue;
    if (list.name != "jobs" && list.name != "pods") return false;
    for (const cli::DocumentField& each : list.value.fields) {
      if (!has_field(each.value, "state")) return false;
      for (const cli::DocumentField& field : each.value.fields)
        if (!kFields.contains(field.name)) return false;
    }
  }
  return true;
}

ProjectConfig project_of(const cli::DocumentValue& source) {
  ProjectConfig project;
  project.name = text_of(source, "name");
  project.priority = integer_of(source, "priority", 100);
  const cli::DocumentValue& devices = field_of(source, "gpu");
  project.weight = scaled(std::max(0.0, number_of(devices, "weight")), 1000);
  const std::int64_t quota = integer_of(devices, "quota");
  const std::int64_t limit = integer_of(devices, "limit", -1);
  std::int64_t guaranteed = quota < 0 ? kUnlimitedSlots : quota;
  if (limit >= 0) guaranteed = std::min(guaranteed, limit);
  project.guaranteed_slots = project.guaranteed_gpu_slots = guaranteed;
  project.slots_max = project.gpu_slots_max = limit < 0 ? kUnbounded : limit;
  return project;
}

}  // namespace

std::size_t running_members(const cli::DocumentValue& job) {
  const std::vector<cli::DocumentValue>& pods = field_of(job, "pods").items;
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [](const auto& pod) { return text_of(pod, "state") == "Running"; }));
}

QuotaSite::QuotaSite(const cli::DocumentValue& file, const cli::DocumentValue& subject)
    : runner_(field_of(file, "runner")), case_(subject) {
  for (const cli::DocumentValue& job : list("jobs"))
    if (integer_of(field_of(job, "per_pod"), "gpu_memory_mib") > 0 || !is_whole(devices_of(job))) has_parts_ = true;
}

bool QuotaSite::is_expressible() const {
  for (const char* each : {"departments", "queues"})
    if (!std::all_of(list(each).begin(), list(each).end(), is_plain_project)) return false;
  return !has_field(case_, "scheduler_config") && is_plain_expectation(field_of(case_, "expect")) &&
         is_plain_runner(runner_) && !list("jobs").empty() && is_small() &&
         std::all_of(list("jobs").begin(), list("jobs").end(), [&](const auto& job) { return is_plain_job(job); }) &&
         are_names_known() && has_room_beside_devices() && (!has_parts_ || fit_one_device()) && !forbids_a_start() &&
         check_policy(policy());
}

/// Memory of each device; 0: devices differ.
std::int64_t QuotaSite::device_mib() const {
  std::set<std::int64_t> sizes;
  for (const cli::DocumentValue& node : list("nodes"))
    sizes.insert(integer_of(node, "gpu_memory_mib", QuotaDefaults{}.device_memory_mib));
  return sizes.size() == 1 ? *sizes.begin() : 0;
}

/// The devices of each member of a job; memory of one is a part of one. 0: none, or it cannot be said.
double QuotaSite::devices_of(const cli::DocumentValue& job) const {
  const cli::DocumentValue& pod = field_of(job, "per_pod");
  const std::int64_t memory = integer_of(pod, "gpu_memory_mib");
  if (memory == 0) return number_of(pod, "gpus");
  const std::int64_t of = device_mib();
  return of == 0 || memory > of ? 0 : static_cast<double>(memory) / static_cast<double>(of);
}

bool QuotaSite::is_plain_job(const cli::DocumentValue& job) const {
  if (field_of(job, "pods").items.empty()) return false;
  for (const char* each : {"subgroups", "stale_seconds", "last_start_seconds_ago", "delete_in_test"})
    if (has_field(job, each)) return false;
  if (!flag_of(case_, "node_filters", true) && has_field(field_of(job, "pods").items.front(), "node_affinity"))
    return false;
  const double devices = devices_of(job);
  const double min = number_of(job, "min_available", 1);
  // Gangs are counted in whole slots.
  const bool is_request = devices > 0 && (devices < 1 || is_whole(devices)) && (min <= 1 || is_whole(devices * min));
  return is_request && integer_of(field_of(job, "per_pod"), "fraction_devices", 1) == 1 && are_plain_pods(job) &&
         !is_broken_gang(job);
}

/// Each slot is filled when the case begins.
bool QuotaSite::is_small() const {
  constexpr double kSlotsMax = 1000;
  double slots = 0;
  for (const cli::DocumentValue& node : list("nodes")) slots += std::max(0.0, number_of(node, "gpus"));
  return slots <= kSlotsMax;
}

bool QuotaSite::fit_one_device() const {
  return std::all_of(list("jobs").begin(), list("jobs").end(), [&](const cli::DocumentValue& job) {
    const double devices = devices_of(job);
    return devices == 1 || (devices < 1 && running_members(job) <= 1);
  });
}

/// Whether each name is known, and known once. The departments of queues are the only parents.
bool QuotaSite::are_names_known() const {
  std::set<std::string> departments;
  std::set<std::string> queues;
  std::set<std::string> nodes;
  std::set<std::string> jobs;
  for (const cli::DocumentValue& each : list("departments"))
    if (has_field(each, "parent") || !departments.insert(text_of(each, "name")).second) return false;
  for (const cli::DocumentValue& each : list("queues")) {
    const std::string name = text_of(each, "name");
    if (departments.contains(name) || !queues.insert(name).second) return false;
    if (has_field(each, "parent") && !departments.contains(text_of(each, "parent"))) return false;
  }
  for (const cli::DocumentValue& each : list("nodes"))
    if (!nodes.insert(text_of(each, "name")).second) return false;
  for (const cli::DocumentValue& each : list("jobs")) {
    if (!jobs.insert(text_of(each, "name")).second || !queues.contains(text_of(each, "queue"))) return false;
    for (const cli::DocumentValue& pod : field_of(each, "pods").items)
      if (has_field(pod, "node") && !nodes.contains(text_of(pod, "node"))) return false;
  }
  return true;
}

/// Whether CPU, memory and the number of pods decide nothing: each node could hold those of all jobs.
bool QuotaSite::has_room_beside_devices() const {
  const QuotaDefaults defaults;
  double cpu = 0;
  double memory = 0;
  double count = 0;
  for (const cli::DocumentValue& job : list("jobs")) {
    const cli::DocumentValue& pod = field_of(job, "per_pod");
    const auto pods = static_cast<double>(field_of(job, "pods").items.size());
    cpu += pods * number_of(pod, "cpu_milli", static_cast<double>(defaults.member_cpu_milli));
    memory += pods * number_of(pod, "memory_bytes", static_cast<double>(defaults.member_memory_bytes));
    count += pods;
  }
  const auto holds = [&](const cli::DocumentValue& node) {
    return number_of(node, "cpu_milli", static_cast<double>(defaults.band_cpu_milli)) >= cpu &&
           number_of(node, "memory_bytes", static_cast<double>(defaults.band_memory_bytes)) >= memory &&
           number_of(node, "max_pods", static_cast<double>(defaults.band_members_max)) >= count;
  };
  return std::all_of(list("nodes").begin(), list("nodes").end(), holds);
}

double QuotaSite::free_slots(const cli::DocumentValue& node) const {
  double slots = number_of(node, "gpus");
  for (const cli::DocumentValue& job : list("jobs"))
    for (const cli::DocumentValue& pod : field_of(job, "pods").items)
      if (text_of(pod, "node") == text_of(node, "name")) slots -= devices_of(job);
  return slots;
}

bool QuotaSite::forbids_a_start() const {
  const cli::DocumentValue& expect = field_of(case_, "expect");
  if (!has_field(expect, "max_binds") || integer_of(expect, "max_binds") > 0) return false;
  if (text_of(runner_, "mode", "single_action") != "single_action") return false;
  double most = 0;
  for (const cli::DocumentValue& node : list("nodes")) most = std::max(most, free_slots(node));
  return std::any_of(list("jobs").begin(), list("jobs").end(), [&](const cli::DocumentValue& job) {
    return running_members(job) == 0 && devices_of(job) <= most;
  });
}

PolicyConfig QuotaSite::policy() const {
  PolicyConfig policy;
  // `is_plain_runner` lets no other fitting through.
  policy.pools.push_back({.name = "all", .preset = "quota", .fitting = "binpack"});
  policy.grace = policy.grace_max = std::chrono::hours{1};
  std::set<std::string> departments;
  for (const cli::DocumentValue& department : list("departments"))
    if (!flag_of(department, "implicit")) {
      departments.insert(text_of(department, "name"));
      policy.projects.push_back(project_of(department));
      policy.projects.back().is_department = true;
    }
  for (const cli::DocumentValue& queue : list("queues")) {
    policy.projects.push_back(project_of(queue));
    if (departments.contains(text_of(queue, "parent"))) policy.projects.back().department = text_of(queue, "parent");
  }
  return policy;
}

PolicyConfig QuotaSite::open_policy() const {
  PolicyConfig open = policy();
  PoolConfig& pool = open.pools.front();
  pool.preemption = pool.reclaim = pool.consolidation = false;
  open.projects.push_back({.name = std::string{kFiller}});
  for (ProjectConfig& project : open.projects) {
    project.guaranteed_slots = project.guaranteed_gpu_slots = kUnlimitedSlots;
    project.slots_max = project.gpu_slots_max = kUnbounded;
  }
  return open;
}

Register QuotaSite::worker(const cli::DocumentValue& node) const {
  Register description;
  description.name = description.host = text_of(node, "name");
  description.labels = {description.name};
  const std::int64_t devices = integer_of(node, "gpus");
  for (std::int64_t i = 0; i < (has_parts_ ? devices : std::min<std::int64_t>(devices, 1)); ++i) {
    BandDescription& band = description.bands.emplace_back();
    band.kind = has_parts_ ? BandKind::Gpu : BandKind::Cpu;
    band.name = (has_parts_ ? "gpu-" : "numa-") + std::to_string(i);
    band.capacity.slots = kOneSlot * (has_parts_ ? 1 : devices);
    if (!has_parts_) continue;
    band.capacity.gpu = MilliGpu{1000};
    band.capacity.device_memory = Bytes{device_mib() << 20U};
  }
  return description;
}

MilliSlots QuotaSite::slots_of(const cli::DocumentValue& job) const {
  return MilliSlots{scaled(devices_of(job), 1000)};
}

JobSpec QuotaSite::spec_of(const cli::DocumentValue& job) const {
  JobSpec spec;
  spec.keep = Keep::Nothing;
  spec.wait_for_resources = true;
  spec.priority = static_cast<std::int32_t>(integer_of(job, "priority"));
  spec.policy.project = text_of(job, "queue");
  spec.policy.preemptible =
      flag_of(job, "preemptible", integer_of(job, "priority") < 100) ? Preemptible::Yes : Preemptible::No;
  if (const std::int64_t min = integer_of(job, "min_available", 1); min > 1)
    spec.policy.gang = static_cast<std::uint32_t>((slots_of(job) * min).value() / kOneSlot.value());
  spec.policy.labels = texts_of(field_of(field_of(job, "pods").items.front(), "node_affinity"));
  return spec;
}

Graph QuotaSite::graph_of(const cli::DocumentValue& job) const {
  Graph graph = graph_of(field_of(job, "pods").items.size(), slots_of(job));
  const std::int64_t memory = integer_of(field_of(job, "per_pod"), "gpu_memory_mib");
  if (memory == 0) return graph;
  graph.templates[0].request.gpu = {};
  graph.templates[0].request.device_memory = Bytes{memory << 20U};
  return graph;
}

Graph QuotaSite::graph_of(std::size_t subtasks, MilliSlots slots) const {
  Graph graph;
  Template& wanted = graph.templates.emplace_back();
  wanted.program = "hold";
  wanted.output_count = 0;
  wanted.request.slots = slots;
  if (has_parts_) wanted.request.gpu = MilliGpu{slots.value()};
  graph.template_of.assign(subtasks, 0);
  graph.input_offsets.assign(subtasks + 1, 0);
  return graph;
}

}  // namespace penstock::tools
