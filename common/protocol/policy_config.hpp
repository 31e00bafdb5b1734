// The configuration of policy: pools, departments, projects and accounts.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/base/units.hpp"
#include "common/protocol/policy_rules.hpp"

namespace penstock {

/// As a weight: not set.
inline constexpr std::int64_t kNoWeight = -1;

inline constexpr Bytes kUnboundedBytes{kUnbounded};

/// Priorities of jobs in pools where smaller ones go first. Spec: policy-determined 5.1.
inline constexpr std::int32_t kPriorityFirst = 1;
inline constexpr std::int32_t kPriorityLast = 99;
inline constexpr std::int32_t kPriorityDefault = 42;

/// Hosts under one policy.
struct PoolConfig {
  std::string name;
  std::string preset = "fair_share";   ///< Named combination of parts; see docs/policy.md.
  std::vector<std::string> workers;    ///< Names, or patterns with `*`; empty: all that no other pool names.
  /// Whether running subtasks are preempted, or only free slots are given; not set: as its parts have it.
  std::optional<bool> preemption;
  std::int64_t reserve_depth = 1;  ///< Backfill: blocked jobs with a reserved start before others may pass.
  Duration time_limit = std::chrono::hours{24};  ///< Backfill: the assumed run time of a job; > 0.
  Duration overrun = std::chrono::seconds{60};   ///< Backfill: the assumed rest of a job beyond that; > 0.
  FactorConfig factors{};
  // The parts of the pool by name; empty or not set: as the preset has it. Valid combinations: `policy::choose_parts`.
  std::string ordering;
  std::string sharing;
  std::string backfill;
  std::string fitting;
  std::optional<bool> reclaim;
  std::optional<bool> consolidation;
  /// How priorities of jobs are written: "any" (or empty), any whole number, larger first; "1-99", smaller first, and a
  /// job without one has `default_priority`. Spec: policy-determined 5.1.
  std::string priorities;
  std::int64_t default_priority = kPriorityDefault;
  /// Jobs of which no subtask takes a whole slot, and that name no pool nor have one by their project, go here. At most
  /// one pool has it; none: the default pool. Spec: policy-determined 9.1.
  bool light = false;
  friend bool operator==(const PoolConfig&, const PoolConfig&) = default;
};
/// Whether priorities in the pool are written from 1 to 99, smaller first.
inline bool ranks_priorities(const PoolConfig& pool) { return pool.priorities == "1-99"; }

/// An owner of jobs, or a department: a group of owners.
struct ProjectConfig {
  std::string name;
  std::string department;              ///< Empty: none.
  bool is_department = false;
  std::vector<std::string> pools;      ///< Of jobs that name none, by preference; empty: the default pool.
  std::int64_t weight = kNoWeight;     ///< Thousandths; 0: nothing beyond its guarantee. See `weights_beyond`.
  std::int64_t priority = 100;         ///< In dividing idle slots beyond all guarantees; larger first.
  std::int64_t guaranteed_slots = 0;   ///< Of CPU bands.
  std::int64_t slots_max = kUnbounded;
  std::int64_t guaranteed_gpu_slots = 0;  ///< Of device bands.
  std::int64_t gpu_slots_max = kUnbounded;
  Bytes guaranteed_memory;  ///< Of CPU bands. None set while other projects have one: nothing is guaranteed.
  Bytes memory_max = kUnboundedBytes;
  /// Where quotas count: the least time for which its jobs hold slots before more important jobs of their project, or
  /// of others, take them back. Not set: as its department has it; else at once. Spec: policy-runai 12.
  std::optional<Duration> preempt_min_runtime;
  std::optional<Duration> reclaim_min_runtime;
  // Its jobs run on workers with one of these; empty: on any. Inference counts as interactive.
  std::vector<std::string> training_labels;
  std::vector<std::string> interactive_labels;
  std::vector<std::string> users;     ///< With `accounts`: may submit to it; both empty: everybody may.
  std::vector<std::string> accounts;  ///< And those below them.
  friend bool operator==(const ProjectConfig&, const ProjectConfig&) = default;
};

/// A node of the account tree, charged with the use of its jobs.
struct AccountConfig {
  std::string name;
  std::string parent;  ///< Empty: at the top.
  std::int64_t shares = 1;
  bool enabled = true;  ///< False: no new job is charged to it or below; those that are there go on.
  JobLimits limits{};  ///< Of all jobs charged to it or below.
  friend bool operator==(const AccountConfig&, const AccountConfig&) = default;
};

/// `[policy]`. Without a pool nothing is limited.
struct PolicyConfig {
  Duration period = std::chrono::milliseconds{200};
  Duration settle = std::chrono::milliseconds{5};
  Duration pass_max = std::chrono::seconds{10};
  Duration grace = std::chrono::seconds{10};
  Duration gang_wait = std::chrono::seconds{60};
  Duration starvation_after = std::chrono::minutes{5};
  Duration gang_barrier = std::chrono::seconds{15};
  Duration grace_max = std::chrono::minutes{5};
  Duration usage_half_life = std::chrono::hours{24 * 7};
  UsageConfig usage;
  std::uint32_t members_max = 20000;
  std::uint32_t queue_depth = 1000;
  std::vector<PoolConfig> pools;
  std::vector<ProjectConfig> projects;  ///< Departments, too.
  std::vector<AccountConfig> accounts;
  std::vector<QosConfig> qos;
  std::vector<QueueConfig> queues;
  std::vector<UserConfig> users;

  friend bool operator==(const PolicyConfig&, const PolicyConfig&) = default;
};

/// Whether there is a pool.
inline bool is_in_force(const PolicyConfig& config) { return !config.pools.empty(); }

/// Largest weight, share or amount that is accepted.
inline constexpr std::int64_t kPolicyAmountMax = 1'000'000'000;
inline constexpr Duration kMinRuntimeMax = std::chrono::hours{24 * 3650};
inline constexpr Bytes kPolicyMemoryMax{std::int64_t{1} << 48U};
/// The most pools, projects and accounts, each; more are refused.
inline constexpr std::size_t kPolicyEntriesMax = 10'000;
/// The most pools that one job or project lists; more are refused.
inline constexpr std::size_t kPoolsListedMax = 64;

/// Checks that names exist and are unique, that there are no circles, no negative amounts and no guarantees above a
/// limit. Presets are checked elsewhere. Error: InvalidArgument, with the entry as subject.
Result<void> check_policy(const PolicyConfig& config);

/// Checks that a list of pools is not too long and names none twice. Error: about `subject`.
Result<void> check_pool_names(const std::string& subject, const std::vector<std::string>& pools);

/// Checks that a priority means the same in all of these pools that exist. Error: about `subject`.
Result<void> check_one_scale(const PolicyConfig& config, const std::string& subject,
                             const std::vector<std::string>& pools);

/// A resource that a project may be guaranteed: slots of CPU bands, slots of device bands, memory of CPU bands.
enum class Guarantee : std::uint8_t { Slots, GpuSlots, Memory };

/// The guaranteed amount; of memory, bytes.
std::int64_t guaranteed(const ProjectConfig& project, Guarantee of);

/// A setting of a project that operators may change: a guarantee, or its weight. Written to disk as a number: only add.
enum class ProjectSetting : std::uint8_t { Slots, GpuSlots, Memory, Weight };
inline constexpr std::uint8_t kProjectSettings = 4;

/// Sets the amount in the units of `ProjectConfig`. The caller checks the result.
void set(ProjectConfig& project, ProjectSetting what, std::int64_t amount);
std::int64_t setting_of(const ProjectConfig& project, ProjectSetting what);

/// Valid settings that are probably mistakes: each text names the entry and the numbers. REQUIRES: `check_policy`
/// accepts it.
std::vector<std::string> policy_warnings(const PolicyConfig& config);

/// Position in `config.projects` or `accounts`; -1 if there is none.
std::int64_t find_project(const PolicyConfig& config, const std::string& name);
std::int64_t find_account(const PolicyConfig& config, const std::string& name);
std::int64_t find_pool(const PolicyConfig& config, const std::string& name);
/// The pool of a worker with that name: the first with a matching pattern, else the one without patterns; -1 if there
/// is none.
std::int64_t pool_of_worker(const PolicyConfig& config, const std::string& worker);

}  // namespace penstock
