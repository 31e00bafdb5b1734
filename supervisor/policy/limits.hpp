// Limits of users and queues: requests that are refused at submission, jobs that are accepted but held, and their
// release.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::policy {

inline constexpr std::int64_t kNoLimit = 2147483647;

/// Of one user in one account.
struct UserLimits {
  std::int64_t active_jobs = 7;
  std::int64_t running_jobs = 5;
  std::int64_t hosts = kNoLimit;
  std::int64_t cores = kNoLimit;
  std::int64_t eligible_jobs = kNoLimit;
};

/// Of every user in one queue.
struct LevelLimits {
  std::int64_t running_jobs = 100;
  std::int64_t hosts = kNoLimit;
  std::int64_t eligible_jobs = kNoLimit;
  std::int64_t eligible_hosts = kNoLimit;
  std::int64_t eligible_cores = kNoLimit;
  std::int64_t time_s = kNoLimit;
  // Of one job; the last two are of the queue as a whole, which no job of it may exceed.
  std::int64_t hosts_per_job_min = 0;
  std::int64_t hosts_per_job_max = kNoLimit;
  std::int64_t hosts_in_all = kNoLimit;
  std::int64_t cores_in_all = kNoLimit;
};

/// The hosts and cores to run on.
struct LimitedMachine {
  std::int64_t hosts = 0;
  std::int64_t cores_per_host = 0;  ///< 0: cores are not counted.
};

/// Why a job that was accepted may not start yet; each is lifted on its own. The names are those of the page.
enum class LimitHold : std::uint8_t {
  RunningJobs,
  Resources,
  EligibleJobs,
  LevelRunningJobs,
  LevelResources,
  LevelEligibleJobs,
  LevelEligibleHosts,
  LevelEligibleCores,
};
std::string_view to_string(LimitHold hold);

/// The request of a job, as far as limits go. A job that names only cores counts one host.
struct LimitedRequest {
  std::uint32_t user = 0;   ///< Position of its limits.
  std::uint32_t level = 0;  ///< Position of its queue's.
  std::int64_t hosts = 1;
  std::int64_t cores = 0;
  bool only_cores = false;  ///< The cores may lie on as many hosts as they need.
  std::int64_t time_s = 0;
  bool exempt = false;   ///< Standby: limited by capacity only, not by size or time.
  bool on_wish = false;  ///< Held by its owner until released.
};

enum class LimitedState : std::uint8_t { Held, Eligible, Running, Inactive };

/// All jobs under limits, with counters that always equal a recount. Jobs are numbered in the order of submission.
/// Spec: policy-flux 8.
class LimitBook {
 public:
  LimitBook(std::vector<UserLimits> users, std::vector<LevelLimits> levels, LimitedMachine machine);

  /// Their positions, for requests.
  std::uint32_t add_user(const UserLimits& limits);
  std::uint32_t add_level(const LevelLimits& limits);
  void set_limits(std::uint32_t user, const UserLimits& limits) { users_[user] = limits; }
  void set_level_limits(std::uint32_t level, const LevelLimits& limits) { levels_[level] = limits; }

  /// The number of the job, accepted. Error: LimitExceeded, RequestTooLarge, InvalidArgument.
  Result<std::uint32_t> submit(const LimitedRequest& request);
  /// The job has ended, or is given up.
  void end(std::uint32_t job);
  /// Its owner lets it go.
  void let_go(std::uint32_t job);
  /// Makes a waiting job ask for something else: of another user or account, in another queue, exempt or no longer. A
  /// limit may hold it then. Error: WrongState, LimitExceeded, RequestTooLarge, InvalidArgument; nothing has changed
  /// then.
  Result<void> change(std::uint32_t job, const LimitedRequest& request);

  /// Starts jobs that are eligible and fit, releases jobs that no limit holds any more, until nothing changes.
  struct Settled {
    std::vector<std::uint32_t> started;  ///< Jobs that were eligible before.
    std::vector<std::uint32_t> let_go;
  };
  Settled settle();

  LimitedState state(std::uint32_t job) const { return jobs_[job].state; }
  const LimitedRequest& request(std::uint32_t job) const { return jobs_[job].request; }
  std::vector<LimitHold> holds(std::uint32_t job) const;

 private:
  struct Job {
    LimitedRequest request;
    LimitedState state = LimitedState::Held;
  };
  /// The amounts that count against limits.
  struct Counts {
    std::int64_t active = 0;
    std::int64_t running = 0;
    std::int64_t hosts = 0;
    std::int64_t cores = 0;
    std::int64_t eligible = 0;
    std::int64_t eligible_hosts = 0;
    std::int64_t eligible_cores = 0;
  };

  Counts counts_of_user(std::uint32_t user) const;
  Counts counts_in_level(std::uint32_t user, std::uint32_t level) const;
  std::vector<LimitHold> test(const LimitedRequest& request, bool eligible_already) const;
  bool has_cores(std::int64_t cores, std::int64_t hosts) const;
  Result<void> check_size(const LimitedRequest& request) const;
  Result<void> check_room_at(std::uint32_t user) const;
  bool try_start(std::uint32_t job);

  std::vector<UserLimits> users_;
  std::vector<LevelLimits> levels_;
  LimitedMachine machine_;
  std::vector<Job> jobs_;
};

/// The users and accounts that may use the level `expedite`.
struct ServiceGrants {
  std::vector<std::string> users;
  std::vector<std::string> accounts;
};
/// The level that a submission gets. Error: NotFound, InvalidArgument. Spec: policy-flux 7.
Result<std::string> grant_service(const ServiceGrants& grants, const std::string& user, const std::string& account,
                                  const std::string& wish);

/// The levels and queues that a user may submit to. Spec: policy-flux 8, queue access.
struct UserAccess {
  bool known = false;
  bool enabled = true;
  std::vector<std::string> levels;
};
/// Error: NotFound, WrongState, InvalidArgument.
Result<void> check_access(const UserAccess& access, const std::string& level,
                          const std::vector<std::string>& known_levels, bool deny_unknown);
/// Checks the project that a job names; none is the default one. Error: InvalidArgument, for an unknown one too.
Result<void> check_project(const std::vector<std::string>& allowed, const std::string& project);

}  // namespace penstock::policy
