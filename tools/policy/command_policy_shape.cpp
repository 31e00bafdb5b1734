// tidy: foreign-file task, tasks, agent, agents, pod, pods, podsets, node, nodes, scheduler, bank, urgency, nice
#include "tools/policy/command_policy_shape.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace penstock::tools {
namespace {

/// One field of a format: its path, `:`, its kind (t text, w text or whole number, i whole number, n number, c and m
/// the same from 0 on, b true or false, l list, o table, a anything), and `!` if it must be there. `[]` is each item of
/// a list, `*` any name.
using Rules = std::span<const std::string_view>;

// clang-format off
constexpr std::string_view kSlotRules[] = {
    "schema:t!", "id:a", "kind:t!", "agents:l", "groups:l", "tasks:l", "queue_positions:a", "steps:l", "scheduler:o",
    "task:o", "expect:a", "expected:a", "fitting:t", "heterogeneous:b", "tie_break_decides:b", "capacity:i",
    "agents[].id:t!", "agents[].slots:i!", "agents[].max_zero_slot:i", "agents[].used_slots:i",
    "agents[].zero_slot_used:i", "agents[].label:t", "agents[].draining:b", "agents[].enabled:b", "groups[].id:t!",
    "groups[].weight:n", "groups[].max_slots:i", "groups[].priority:i", "groups[].implicit:b", "groups[].demand:i",
    "groups[].slots_per_task:i", "tasks[].id:t!", "tasks[].job:t!", "tasks[].slots:i", "tasks[].preemptible:b",
    "tasks[].submitted:i", "tasks[].requested:i", "tasks[].running_on:t", "tasks[].holds_slots:b", "tasks[].label:t",
    "tasks[].blocked_agents:l", "tasks[].single_agent:b", "task.id:t", "task.slots:i", "task.preemptible:b",
    "task.single_agent:b", "task.blocked_agents:l", "scheduler.type:t", "scheduler.preemption:b",
    "scheduler.fitting:t", "scheduler.heterogeneous:b", "scheduler.variant:t", "scheduler.default_priority:i",
    "steps[].op:t!", "steps[].expect:a", "steps[].positions:o", "steps[].positions.*:a", "steps[].job:t",
    "steps[].anchor:t", "steps[].ahead_of:b", "steps[].state:t", "steps[].state_not:t", "steps[].error:t",
    "steps[].resources_released:b", "steps[].groups:l", "steps[].tasks:a", "steps[].preempt_signal:b",
    "steps[].failure:a", "steps[].weight:n", "steps[].priority:i", "steps[].w:i", "steps[].signalled:b",
    "steps[].use_group_caps:b", "steps[].ready:b", "steps[].seconds:n", "steps[].timeout_s:n", "steps[].timed_out:b",
    "steps[].acknowledged:b", "steps[].seed_step:a", "steps[].container:a", "steps[].part:a", "steps[].c:a",
    "steps[].tasks[]:a", "steps[].tasks[].id:t!", "steps[].tasks[].job:t!", "steps[].tasks[].slots:i",
    "steps[].tasks[].preemptible:b", "steps[].tasks[].submitted:i", "steps[].tasks[].requested:i",
    "steps[].tasks[].running_on:t", "steps[].tasks[].holds_slots:b", "steps[].tasks[].label:t",
    "steps[].tasks[].blocked_agents:l", "steps[].tasks[].single_agent:b", "steps[].groups[].id:t!",
    "steps[].groups[].weight:n", "steps[].groups[].max_slots:i", "steps[].groups[].priority:i",
    "steps[].groups[].implicit:b", "known_pool:t", "reported_pool:t", "known_devices:l", "reported_devices:l",
    "preemptible:b", "new_priority:i", "default_priority:i", "a:o", "b:o", "slots:i", "max_slots_per_pod:i",
    "default_aux_pool:t", "default_compute_pool:t", "requests:l", "slots_per_pod:a", "known_devices[]:a",
    "reported_devices[]:a", "a.*:a", "b.*:a", "requests[].id:t!", "requests[].slots:i", "requests[].pool:t",
    "queue_positions.*:a",
    // The expectations of steps and tables; each case has its own selection.
    "steps[].expect.*:a", "steps[].expect.to_allocate:l", "steps[].expect.to_release:l",
    "steps[].expect.to_allocate_count:i", "steps[].expect.to_release_count:i", "steps[].expect.to_allocate_by_group:o",
    "steps[].expect.to_release_by_group:o", "steps[].expect.to_allocate_by_group.*:i",
    "steps[].expect.to_release_by_group.*:i", "steps[].expect.jobs:o", "steps[].expect.jobs.*:o",
    "steps[].expect.jobs.*.*:a", "steps[].expect.jobs.*.state:t", "steps[].expect.jobs.*.allocated:i",
    "steps[].expect.jobs.*.requested:i", "steps[].expect.jobs.*.jobs_ahead:i", "steps[].expect.count:i",
    "steps[].expect.queued:i", "steps[].expect.scheduled:i", "steps[].expect.priority_changes:b",
    "steps[].expect.second_anchor:t", "steps[].expect.anchor_priority:i", "expect.*:a", "expect.offered:o",
    "expect.offered.*:i", "expect.compare:i", "expect.accepted:b", "expect.error_contains:t", "expect.pool:o",
    "expect.pool.*:t", "expect.score:n", "expect.viable:b", "expect.agents:l", "expect.agent_count:i",
    "expect.first_agent:t",
};
// clang-format on

// clang-format off
constexpr std::string_view kQuotaRules[] = {
    "id:t!", "name:a", "kind:t", "nodes:l", "departments:l", "queues:l", "jobs:l", "expect:o", "node_filters:b",
    "scheduler_config:o", "rounds_until_match:i", "rounds_after_match:i", "scheduler_config.actions:a",
    "scheduler_config.plugins:l", "scheduler_config.plugins[].name:t!", "scheduler_config.plugins[].arguments:o",
    "scheduler_config.plugins[].arguments.*:a", "nodes[].name:t!",
    "nodes[].gpus:i", "nodes[].gpu_memory_mib:i", "nodes[].cpu_milli:i", "nodes[].memory_bytes:i",
    "nodes[].max_pods:i", "nodes[].labels:a", "nodes[].idle_gpus:i", "departments[].name:t!",
    "departments[].order:i", "departments[].implicit:b", "departments[].priority:i", "departments[].parent:t",
    "departments[].gpu:o", "departments[].cpu_milli:o", "departments[].memory_mb:o", "queues[].name:a",
    "queues[].id:a", "queues[].parent:t", "queues[].order:i", "queues[].created:i", "queues[].priority:i",
    "queues[].children:l", "queues[].preempt_min_runtime_s:n", "queues[].reclaim_min_runtime_s:n", "queues[].gpu:o",
    "queues[].cpu:o", "queues[].memory:o", "queues[].cpu_milli:o", "queues[].memory_mb:o", "departments[].gpu.*:n",
    "departments[].cpu_milli.*:n", "departments[].memory_mb.*:n", "queues[].gpu.*:n", "queues[].cpu.*:n",
    "queues[].memory.*:n", "queues[].cpu_milli.*:n", "queues[].memory_mb.*:n", "queues[].children[]:a",
    "jobs[].name:t!", "jobs[].queue:t!", "jobs[].priority:i", "jobs[].preemptible:b", "jobs[].age_minutes:n",
    "jobs[].per_pod:o", "jobs[].min_available:i", "jobs[].pods:l!", "jobs[].subgroups:o", "jobs[].best_effort:b",
    "jobs[].stale_seconds:n", "jobs[].delete_in_test:b", "jobs[].last_start_seconds_ago:n",
    "jobs[].per_pod.cpu_milli:i", "jobs[].per_pod.memory_bytes:i", "jobs[].per_pod.gpus:n",
    "jobs[].per_pod.gpu_memory_mib:i", "jobs[].per_pod.fraction_devices:i", "jobs[].pods[].id:t!",
    "jobs[].pods[].state:t!", "jobs[].pods[].node:t", "jobs[].pods[].gpu_groups:l", "jobs[].pods[].subgroup:t",
    "jobs[].pods[].gpus:n", "jobs[].pods[].node_affinity:l", "jobs[].pods[].order_priority:i",
    "jobs[].subgroups.name:a", "jobs[].subgroups.podsets:l", "jobs[].subgroups.podsets[].name:t!",
    "jobs[].subgroups.podsets[].min_available:i", "expect.jobs:o", "expect.pods:o", "expect.jobs.*:a",
    "expect.pods.*:a", "expect.nodes.*:a", "expect.nodes:o",
    "expect.max_binds:i", "expect.max_evictions:i", "expect.max_pipelines:i", "expect.*:a",
    "expect.order:i", "expect.allowed:b", "expect.over:b", "expect.schedulable:b", "expect.resource:t",
    "expect.remaining:n", "expect.fair_share:o", "expect.fair_share.*:a", "expect.fair_share.*.*:n", "expect.score:o",
    "expect.score.*:n", "expect.error:b", "expect.min_runtime_s:n",
    // Function tables: each names its own.
    "left:o", "right:o", "left_job:o", "right_job:o", "left.*:a", "right.*:a", "left_job.*:n", "right_job.*:n",
    "total:a", "min_node_gpu_memory:a", "strategy:t", "requests:o", "requests.*:n", "reclaimer_queue:o",
    "victim_queue:o", "victim_remaining:o", "victim_remaining.*:n", "reclaimer_queue.*:a", "victim_queue.*:a",
    "queue:o", "queue.*:a", "checks:l", "job_queue:t", "job_preemptible:b", "saturation_multiplier:n", "reclaimer:o",
    "reclaimer.queue:t!", "reclaimer.preemptible:b", "reclaimer.requests:o", "reclaimer.requests.*:n",
    "victims_by_queue:o", "victims_by_queue.*:l", "victims_by_queue.*[]:a", "action:t", "default_preempt_s:n",
    "default_reclaim_s:n", "method:t", "k_value:n", "resource:t", "phase:t",
};
// clang-format on

// clang-format off
constexpr std::string_view kQuotaFileRules[] = {
    "format:t!", "category:t", "runner:o", "runner.mode:t", "runner.actions:l", "runner.actions[]:t",
    "runner.consolidation_victims:w", "runner.consolidating_reclaim:b", "runner.skip_similar_failed_jobs:b",
    "runner.placement:o", "runner.placement.gpu:t", "runner.placement.cpu:t", "runner.placement.gpu_sharing:t",
    "runner.rounds_until_match:i", "runner.rounds_after_match:i", "runner.between_rounds:a",
    "runner.stale_grace_seconds:n", "harness:a", "cases:l",
};
// clang-format on

// clang-format off
constexpr std::string_view kFactorRules[] = {
    "kind:t!", "id:a", "tolerance:m", "tree:o", "published:o", "published.algorithm:t", "published.values:o",
    "published.values.*:n", "expected:o", "expected.*:o", "expected.*.*:n", "expected_order_flux_rank:l",
    "expected_order_flux_rank[]:l", "expected_order_flux_rank[][]:w", "intermediate:l", "intermediate[].node:t!",
    "intermediate[].norm_shares:n", "intermediate[].norm_usage:n", "intermediate[].level_fs:a", "weights:o",
    "cases:l", "factor_cases:o", "defaults:o", "scenarios:l", "semantics:a", "queue_order_cases:l",
    "rejections:l", "slurm_log_example:o", "flux_cases:l", "continuous:o", "billing:o", "usage_total_override:m",
    "required_by_seed:o", "required_by_seed.*:n", "published_norm_shares:o", "published_norm_shares.*:n",
    "published_norm_usage:o", "published_norm_usage.*:n", "published_effective_usage:o",
    "published_effective_usage.*:n", "derived_effective_usage:o", "derived_effective_usage.*:n",
    // An account; those below it have the same fields.
    "tree.name:t!", "tree.type:t", "tree.shares:c", "tree.usage:m", "tree.children:l", "tree.children[]:o",
    // Sums of factors, raw and normalised, and backfill.
    "default_weights:o", "cases[].id:t!", "cases[].factors:o", "cases[].factors.*:n",
    "cases[].inputs:o", "cases[].inputs.fairshare:n", "cases[].inputs.queue_priority:n",
    "cases[].inputs.bank_priority:n", "cases[].inputs.urgency:i", "cases[].weights:o",
    "cases[].expected_priority:i", "cases[].error:t", "cases[].nodes:c", "cases[].now:n", "cases[].resolution_s:m",
    "cases[].running:l", "cases[].queue_in_priority_order:l", "cases[].expected:o", "cases[].expected.*:o",
    "cases[].expected.*.start_now:l", "cases[].expected.*.start_now[]:w", "cases[].expected.*.reservations:o",
    "cases[].expected.*.reservations.*:n", "cases[].asserted_upstream:a", "cases[].running[].id:w",
    "cases[].running[].nodes:c!", "cases[].running[].ends:n!", "cases[].queue_in_priority_order[].id:t!",
    "cases[].queue_in_priority_order[].nodes:c!", "cases[].queue_in_priority_order[].wall:m", "factor_cases.*:l",
    "factor_cases.*[].waited_s:n", "factor_cases.*[].max_s:n", "factor_cases.*[].n:n", "factor_cases.*[].N:n",
    "factor_cases.*[].favor:t", "factor_cases.*[].qos:t", "factor_cases.*[].priority:n",
    "factor_cases.*[].max_priority:n", "factor_cases.*[].request:n", "factor_cases.*[].privileged:b",
    "factor_cases.*[].f:n", "factor_cases.*[].error:t", "queue_order_cases[].id:t!", "queue_order_cases[].submitted:l",
    "queue_order_cases[].submitted[]:w", "queue_order_cases[].expected_queue_order:l",
    "queue_order_cases[].expected_queue_order[]:w", "rejections[].when:t!", "rejections[].message_contains:t",
    "rejections[].outcome:t", "slurm_log_example.weighted:o", "slurm_log_example.weighted.*:l",
    "slurm_log_example.weighted.*[]:n", "slurm_log_example.nice:n", "slurm_log_example.expected:n",
    "slurm_log_example.tolerance:m", "slurm_log_example.*:a",
    // Past usage.
    "flux_cases[].id:t!", "flux_cases[].mode:t", "flux_cases[].decay:n", "flux_cases[].bins_newest_first:l",
    "flux_cases[].bins_newest_first[]:n", "flux_cases[].current:n", "flux_cases[].decayed_bins:l",
    "flux_cases[].decayed_bins[]:n", "flux_cases[].jobs:l", "flux_cases[].jobs[]:l", "flux_cases[].jobs[][]:n",
    "flux_cases[].new_jobs:l", "flux_cases[].new_jobs[]:l", "flux_cases[].new_jobs[][]:n", "flux_cases[].jobs_fields:a",
    "flux_cases[].rotate:b", "flux_cases[].expected_usage:n", "flux_cases[].expected_bins:l",
    "flux_cases[].expected_bins[]:n", "flux_cases[].expected_bins_correct:l", "flux_cases[].expected_bins_correct[]:n",
    "flux_cases[].correct_if_previous_step_correct:o", "flux_cases[].correct_if_previous_step_correct.bins:l",
    "flux_cases[].correct_if_previous_step_correct.bins[]:n", "flux_cases[].correct_if_previous_step_correct.usage:n",
    "flux_cases[].table:l", "flux_cases[].table[].reset_s:n!", "flux_cases[].table[].half_life_s:n!",
    "flux_cases[].table[].bins:i!", "flux_cases[].example:o", "flux_cases[].example.*:a", "flux_cases[].expected:o",
    "flux_cases[].expected.*:n", "flux_cases[].elapsed_s:n", "flux_cases[].amounts:o", "flux_cases[].amounts.*:n",
    "flux_cases[].weights:o", "flux_cases[].weights.*:n", "flux_cases[].conflict:a", "flux_cases[].bug_upstream:a",
    "continuous.*:a", "billing.weights:o", "billing.weights.*:n", "billing.sum_mode:l", "billing.sum_mode[].*:n",
    "billing.max_mode:l", "billing.max_mode[].*:n",
    // Limits, step by step.
    "defaults.assoc:o", "defaults.queue:o", "scenarios[].id:t!", "scenarios[].assoc:o", "scenarios[].assocs:o",
    "scenarios[].assocs.*:o", "scenarios[].queues:o", "scenarios[].queues.*:o", "scenarios[].queue_limits:o",
    "scenarios[].machine_nodes:c", "scenarios[].cores_per_node:c", "scenarios[].deny_unknown_queues:b",
    "scenarios[].grants:o", "scenarios[].grants.users:l", "scenarios[].grants.users[]:w",
    "scenarios[].grants.accounts:l", "scenarios[].grants.accounts[]:w", "scenarios[].steps:l!",
    "scenarios[].steps[].op:t!", "scenarios[].steps[].job:w", "scenarios[].steps[].expect:t",
    "scenarios[].steps[].holds:l", "scenarios[].steps[].holds[]:t", "scenarios[].steps[].holds_now:o",
    "scenarios[].steps[].holds_now.*:l", "scenarios[].steps[].holds_now.*[]:t", "scenarios[].steps[].released:l",
    "scenarios[].steps[].released[]:w", "scenarios[].steps[].starts:l", "scenarios[].steps[].starts[]:w",
    "scenarios[].steps[].still_held:l", "scenarios[].steps[].still_held[]:w", "scenarios[].steps[].message:t",
    "scenarios[].steps[].nodes:i", "scenarios[].steps[].cores:i", "scenarios[].steps[].queue:t",
    "scenarios[].steps[].bank:w", "scenarios[].steps[].user:w", "scenarios[].steps[].account:w",
    "scenarios[].steps[].qos:t", "scenarios[].steps[].qos_assigned:t", "scenarios[].steps[].wall_s:n",
    "scenarios[].steps[].hold:b", "scenarios[].steps[].project:w",
};
constexpr std::string_view kWeightTables[] = {"weights", "default_weights", "cases[].weights"};
constexpr std::string_view kWeightNames[] = {"wait:n", "fair_share:n", "qos:n", "queue:n", "job_size:n", "user:n",
    "fairshare:n", "bank:n", "urgency:n"};
/// A case of limits states them in four tables, and changes them in its steps.
constexpr std::string_view kLimitTables[] = {"defaults.assoc", "defaults.queue", "scenarios[].assoc",
    "scenarios[].assocs.*", "scenarios[].queue_limits", "scenarios[].queues.*", "scenarios[].steps[]"};
constexpr std::string_view kLimitNames[] = {
    "max_active_jobs:i", "max_running_jobs:i", "max_nodes:i", "max_cores:i", "max_sched_jobs:i",
    "max_nodes_per_assoc:i", "max_sched_nodes_per_assoc:i", "max_sched_cores_per_assoc:i", "max_time_s:n",
    "min_nodes_per_job:i", "max_nodes_per_job:i", "active:a", "queues:a", "projects:a", "default_project:w",
};
// clang-format on

bool is_remark(std::string_view name) {
  static constexpr std::string_view kRemarks[] = {"note",     "notes",      "how",  "source",      "comment", "about",
                                                  "features", "provenance", "tags", "description", "formula"};
  static constexpr std::string_view kBeginnings[] = {"model", "upstream", "derived", "published", "unchecked"};
  static constexpr std::string_view kEnds[] = {"_note", "_source", "_upstream", "_arises", "_order"};
  return std::find(std::begin(kRemarks), std::end(kRemarks), name) != std::end(kRemarks) ||
         std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [name](std::string_view part) { return name.starts_with(part); }) ||
         std::any_of(std::begin(kEnds), std::end(kEnds),
                     [name](std::string_view part) { return name.ends_with(part); });
}

struct Wanted {
  char kind = 'a';
  bool required = false;
};
using RuleTable = std::map<std::string, Wanted>;

void add_rule(RuleTable& table, const std::string& prefix, std::string_view rule) {
  const std::size_t colon = rule.rfind(':');
  table.emplace(prefix + std::string{rule.substr(0, colon)}, Wanted{rule[colon + 1], rule.ends_with('!')});
}

RuleTable make_rules(Rules rules) {
  RuleTable table;
  for (const std::string_view rule : rules) add_rule(table, "", rule);
  return table;
}

RuleTable make_factor_rules() {
  RuleTable table = make_rules(kFactorRules);
  for (const std::string_view weights : kWeightTables)
    for (const std::string_view rule : kWeightNames) add_rule(table, std::string{weights} + ".", rule);
  for (const std::string_view limits : kLimitTables)
    for (const std::string_view rule : kLimitNames) add_rule(table, std::string{limits} + ".", rule);
  return table;
}

const RuleTable& rules_of(CaseFormat format) {
  static const RuleTable slots = make_rules(kSlotRules);
  static const RuleTable quotas = make_rules(kQuotaRules);
  static const RuleTable quota_files = make_rules(kQuotaFileRules);
  static const RuleTable factors = make_factor_rules();
  if (format == CaseFormat::Slots) return slots;
  if (format == CaseFormat::Quotas) return quotas;
  return format == CaseFormat::QuotaFile ? quota_files : factors;
}

std::string_view kind_wanted(char kind) {
  switch (kind) {
    case 't': return "a text";
    case 'i': return "a whole number";
    case 'c': return "a whole number from 0 on";
    case 'm': return "a number from 0 on";
    case 'n': return "a number";
    case 'w': return "a text or a whole number";
    case 'b': return "true or false";
    case 'l': return "a list";
    case 'o': return "a table";
    default: return "anything";
  }
}

/// Larger numbers in a file are not exact, and their sums would not fit.
constexpr double kWholeMax = 9007199254740992;  // 2^53
constexpr double kNumberMax = 1e18;

bool is_of(const cli::DocumentValue& value, char kind) {
  using Kind = cli::DocumentValue::Kind;
  if (value.kind == Kind::Null) return true;  // Null counts as absent.
  switch (kind) {
    case 't': return value.is_text();
    // Case files may write whole numbers with a fraction of 0.
    case 'i':
      return value.is_number() && std::abs(value.number) <= kWholeMax && value.number == std::nearbyint(value.number);
    case 'n': return value.is_number() && std::abs(value.number) <= kNumberMax;
    case 'c': return is_of(value, 'i') && value.number >= 0;
    case 'm': return is_of(value, 'n') && value.number >= 0;
    case 'w': return value.is_text() || is_of(value, 'i');
    case 'b': return value.kind == Kind::Boolean;
    case 'l': return value.is_list();
    case 'o': return value.is_table();
    default: return true;
  }
}

/// Compares a document with the rules of its format.
class ShapeCheck {
 public:
  ShapeCheck(const ShapeSubject& subject, const RuleTable& rules) : subject_(subject), rules_(rules) {}

  ShapeFindings run() {
    if (!subject_.value.is_table())
      findings_.mistakes.push_back(said_at(subject_.value, subject_.path) + "must be a table, is " +
                                   std::string{cli::kind_name(subject_.value)});
    open_.push_back({&subject_.value, subject_.path, subject_.pattern});
    while (!open_.empty()) {
      const Place at = std::move(open_.back());
      open_.pop_back();
      if (at.value->is_table()) look_at_table(at);
      for (std::size_t i = 0; i < at.value->items.size(); ++i)
        visit(at.value->items[i], at.path + "[" + std::to_string(i) + "]", at.pattern + "[]");
    }
    return std::move(findings_);
  }

 private:
  struct Place {
    const cli::DocumentValue* value = nullptr;
    std::string path;
    std::string pattern;
  };

  void look_at_table(const Place& at) {
    const std::string prefix = at.pattern.empty() ? "" : at.pattern + ".";
    for (const cli::DocumentField& field : at.value->fields) {
      const std::string path = at.path.empty() ? field.name : at.path + "." + field.name;
      const bool known = rules_.contains(prefix + field.name);
      if (!known && is_remark(field.name)) continue;
      if (!known && !rules_.contains(prefix + "*")) {
        findings_.unknown.push_back(said_at(field.value, path) + "is no field of this format and is ignored");
        continue;
      }
      visit(field.value, path, prefix + (known ? field.name : "*"));
    }
    for (auto rule = rules_.lower_bound(prefix); rule != rules_.end() && rule->first.starts_with(prefix); ++rule) {
      const std::string name = rule->first.substr(prefix.size());
      if (!rule->second.required || name.find_first_of(".[*") != std::string::npos) continue;
      if (at.value->find(name) == nullptr)
        findings_.mistakes.push_back(said_at(*at.value, at.path) + "`" + name + "` is missing");
    }
  }

  void visit(const cli::DocumentValue& value, const std::string& path, const std::string& pattern) {
    const auto rule = rules_.find(pattern);
    // Without a rule for items, the rules of their fields apply to each.
    if (rule != rules_.end()) {
      if (!is_of(value, rule->second.kind)) {
        findings_.mistakes.push_back(said_at(value, path) + "must be " + std::string{kind_wanted(rule->second.kind)} +
                                     ", is " +
                                     (value.is_number() ? "out of range" : std::string{cli::kind_name(value)}));
        return;
      }
      if (rule->second.kind == 'a' && !has_rules_below(pattern)) return;
    } else if (pattern.ends_with("[]") && !value.is_table() && has_rules_below(pattern)) {
      findings_.mistakes.push_back(said_at(value, path) + "must be a table, is " + std::string{cli::kind_name(value)});
      return;
    } else if (!has_rules_below(pattern)) {
      return;
    }
    // An account below another has the fields of the root.
    open_.push_back({&value, path, pattern == "tree.children[]" ? "tree" : pattern});
  }

  bool has_rules_below(const std::string& pattern) const {
    for (const char* next : {".", "["})
      if (const auto rule = rules_.lower_bound(pattern + next);
          rule != rules_.end() && rule->first.starts_with(pattern + next))
        return true;
    return false;
  }

  std::string said_at(const cli::DocumentValue& value, const std::string& path) const {
    return cli::at_place(subject_.file, value.place) + ": " + (path.empty() ? "" : "`" + path + "` ");
  }

  const ShapeSubject& subject_;
  const RuleTable& rules_;
  std::vector<Place> open_;
  ShapeFindings findings_;
};

}  // namespace

ShapeFindings check_shape(const ShapeSubject& subject, CaseFormat format) {
  return ShapeCheck{subject, rules_of(format)}.run();
}

}  // namespace penstock::tools
