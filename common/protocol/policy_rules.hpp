// Rules of the site for the order of jobs and the limits of users: levels of service, queues, limits.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace penstock {

/// As an amount: unlimited.
inline constexpr std::int64_t kUnbounded = -1;

/// Limits of the jobs of one user, or of an account with all below it, together; each can be lifted on its own.
/// Spec: policy-flux 8.
struct JobLimits {
  std::int64_t active_jobs_max = kUnbounded;   ///< Jobs that have not ended; one more is refused.
  std::int64_t running_jobs_max = kUnbounded;  ///< Jobs that have begun; one more waits.
  /// Jobs that wait for slots to begin; policy does not consider one more yet.
  std::int64_t waiting_jobs_max = kUnbounded;
  std::int64_t slots_max = kUnbounded;         ///< Of CPU bands; requests beyond it wait.
  std::int64_t gpu_slots_max = kUnbounded;     ///< Of device bands.
  /// Slots of the jobs that wait to begin, together; policy does not consider one more yet.
  std::int64_t waiting_slots_max = kUnbounded;
  std::int64_t waiting_gpu_slots_max = kUnbounded;
  // Of each job by itself: its gang, or its largest subtask. A job beyond these is refused.
  std::int64_t job_slots_min = kUnbounded;
  std::int64_t job_slots_max = kUnbounded;
  std::int64_t job_gpu_slots_max = kUnbounded;
  /// The longest time limit: of the job, or else of each subtask, which must have one; 0: any.
  Duration time_max{0};
  friend bool operator==(const JobLimits&, const JobLimits&) = default;

  bool any() const { return *this != JobLimits{}; }
};

/// An amount of `JobLimits` by its name in the configuration. `time_max`, a duration, is none of these.
struct LimitField {
  const char* name;
  std::int64_t JobLimits::*amount;
  bool of_jobs = false;  ///< A number of jobs: with 0 nothing could ever run.
};
inline constexpr std::array<LimitField, 10> kLimitFields{{{"active_jobs_max", &JobLimits::active_jobs_max, true},
                                                          {"running_jobs_max", &JobLimits::running_jobs_max, true},
                                                          {"waiting_jobs_max", &JobLimits::waiting_jobs_max, true},
                                                          {"slots_max", &JobLimits::slots_max},
                                                          {"gpu_slots_max", &JobLimits::gpu_slots_max},
                                                          {"waiting_slots_max", &JobLimits::waiting_slots_max},
                                                          {"waiting_gpu_slots_max", &JobLimits::waiting_gpu_slots_max},
                                                          {"job_slots_min", &JobLimits::job_slots_min},
                                                          {"job_slots_max", &JobLimits::job_slots_max},
                                                          {"job_gpu_slots_max", &JobLimits::job_gpu_slots_max}}};

/// A level of service. `expedite`, `normal` and `standby` exist unless the configuration redefines them.
struct QosConfig {
  std::string name;
  std::int64_t factor = 500;  ///< Thousandths, up to 1000.
  bool open = true;           ///< Anyone may use it; otherwise these may:
  std::vector<std::string> users{};
  std::vector<std::string> accounts{};  ///< And those below them.
  bool exempt = false;                  ///< Limits of slots do not apply, like those of `standby`.
  std::int64_t usage_factor = 1000;     ///< Thousandths: this part of the use of its jobs is charged.
  JobLimits limits{};                   ///< Of each user at this level.
  /// Levels of which its jobs take slots in pools with preemption. Its jobs go before all jobs of less rank,
  /// whatever the priorities: see `level_ranks`.
  std::vector<std::string> preempts{};
  friend bool operator==(const QosConfig&, const QosConfig&) = default;
};

/// A named queue, to which jobs are submitted.
struct QueueConfig {
  std::string name;
  std::int64_t priority = 0;            ///< Its factor is this divided by the largest one.
  std::vector<std::string> users{};     ///< With `accounts`: the allowed users; both empty: everybody.
  std::vector<std::string> accounts{};  ///< And those below them.
  JobLimits limits{};                   ///< Of each user in this queue.
  /// Backfill: the assumed run time of its jobs; 0: as their pool says.
  Duration time_limit{0};
  friend bool operator==(const QueueConfig&, const QueueConfig&) = default;
};

/// A user by the name that jobs give as their owner.
struct UserConfig {
  std::string name;
  JobLimits limits{};
  friend bool operator==(const UserConfig&, const UserConfig&) = default;
};

/// Weights of resources in the use of accounts, in thousandths, up to 1,000,000. Spec: policy-flux 6.
struct UsageConfig {
  std::int64_t cpu = 1000;      ///< Of a slot of a CPU band, for a second;
  std::int64_t gpu = 1000;      ///< of a device band;
  std::int64_t memory = 0;      ///< of a GiB of requested memory.
  std::string billing = "sum";  ///< `sum`, or `max`: of each run only the largest term counts.
  friend bool operator==(const UsageConfig&, const UsageConfig&) = default;
};
inline constexpr std::array<const char*, 2> kBillingWords{"sum", "max"};
inline constexpr std::int64_t kUsageWeightMax = 1'000'000;

/// The weights of a pool's multi-factor sum. Weights are in priority points for a factor of 1.
struct FactorConfig {
  std::int64_t wait = 10'000;
  std::int64_t fair_share = 100'000;
  std::int64_t qos = 250'000;
  std::int64_t queue = 10'000;
  std::int64_t size = 1'000;
  std::int64_t user = 1'000;
  Duration wait_max = std::chrono::hours{24 * 7};  ///< The wait factor is 1 from then on; > 0.
  std::string size_favor = "large";                ///< `large` or `small`.
  std::string fair_share_factor = "balanced";      ///< One of `fair_share_factor_words`.
  std::int64_t lambda = 500;  ///< `balanced`: thousandths of the own use against that of its account.
  friend bool operator==(const FactorConfig&, const FactorConfig&) = default;
};
inline constexpr std::array<const char*, 2> kSizeFavorWords{"large", "small"};
inline constexpr std::array<const char*, 5> kFairShareFactorWords{"balanced", "classic", "depth_oblivious", "fair_tree",
                                                                  "flux_rank"};

struct JobPolicy;
struct PolicyConfig;

/// Checks levels, queues, users, limits and factors. Error: InvalidArgument, with the entry as subject.
Result<void> check_rules(const PolicyConfig& config);

/// As configured, else the built-in one; empty is `normal`. Null: there is none of that name.
const QosConfig* find_qos(const PolicyConfig& config, const std::string& name);
/// Null: there is none.
const QueueConfig* find_queue(const PolicyConfig& config, const std::string& name);

/// The position of the account that is charged with the jobs of this user; -1: none.
std::int64_t charged_account(const PolicyConfig& config, const std::string& user, const std::string& account);
/// Whether the account is one of `accounts` or below one. `account` may be -1.
bool is_below(const PolicyConfig& config, std::int64_t account, const std::vector<std::string>& accounts);

/// Whether a job may have the level of service and the queue that it names. Errors: NotFound, InvalidArgument, which
/// list the allowed ones.
/// Whether the account that the job is charged to accepts jobs, and so does the project that it names. Errors:
/// WrongState, InvalidArgument with
/// the projects that are open to the user.
Result<void> check_owner(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes);
Result<void> check_qos(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes);
Result<void> check_queue(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes);

/// The present level of a job: `normal` if it is no longer allowed to have the one that it names. Spec: policy-flux 7.
const QosConfig& qos_of(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes);
/// The position of a level among those of the configuration, the built-in ones behind them. REQUIRES: it is one.
std::uint32_t level_position(const PolicyConfig& config, const std::string& name);
/// By such a position: how many levels follow below, each named by the one above. Jobs of a larger rank go first.
std::vector<std::uint32_t> level_ranks(const PolicyConfig& config);
/// By two such positions: whether jobs of the first level take slots from jobs of the second. Empty: no level does.
std::vector<std::vector<bool>> preempting_levels(const PolicyConfig& config);
/// A limit that applies to a job, and its owner: `user 'ada'`, `account 'lab'`, `user 'ada' at qos 'normal'`. Limits
/// with the same owner text are counted together.
struct LimitedBy {
  std::string whom;
  JobLimits limits{};
  friend bool operator==(const LimitedBy&, const LimitedBy&) = default;
};
std::vector<LimitedBy> limits_of(const PolicyConfig& config, const std::string& user, const JobPolicy& wishes);

/// The factor of a queue, from 0 to 1; 0: no queue, or no queue has a priority.
double queue_factor(const PolicyConfig& config, const std::string& queue);

}  // namespace penstock
