// tidy: foreign-file bank
#include "supervisor/policy/limits.hpp"

#include <algorithm>

namespace penstock::policy {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

}  // namespace

std::string_view to_string(LimitHold hold) {
  switch (hold) {
    case LimitHold::RunningJobs: return "max-running-jobs-user-limit";
    case LimitHold::Resources: return "max-resources-user-limit";
    case LimitHold::EligibleJobs: return "max-sched-jobs-user-limit";
    case LimitHold::LevelRunningJobs: return "max-run-jobs-queue";
    case LimitHold::LevelResources: return "max-resources-queue";
    case LimitHold::LevelEligibleJobs: return "max-sched-jobs-queue-limit";
    case LimitHold::LevelEligibleHosts: return "max-sched-nodes-queue-limit";
    case LimitHold::LevelEligibleCores: return "max-sched-cores-queue-limit";
  }
  return "";
}

LimitBook::LimitBook(std::vector<UserLimits> users, std::vector<LevelLimits> levels, LimitedMachine machine)
    : users_(std::move(users)), levels_(std::move(levels)), machine_(machine) {}

std::uint32_t LimitBook::add_user(const UserLimits& limits) {
  users_.push_back(limits);
  return static_cast<std::uint32_t>(users_.size() - 1);
}

std::uint32_t LimitBook::add_level(const LevelLimits& limits) {
  levels_.push_back(limits);
  return static_cast<std::uint32_t>(levels_.size() - 1);
}

LimitBook::Counts LimitBook::counts_in_level(std::uint32_t user, std::uint32_t level) const {
  Counts counts;
  for (const Job& job : jobs_) {
    if (job.request.user != user || (level != ~std::uint32_t{0} && job.request.level != level)) continue;
    if (job.state == LimitedState::Inactive) continue;
    ++counts.active;
    if (job.state == LimitedState::Running) {
      ++counts.running;
      counts.hosts += job.request.hosts;
      counts.cores += job.request.cores;
    } else if (job.state == LimitedState::Eligible) {
      ++counts.eligible;
      counts.eligible_hosts += job.request.hosts;
      counts.eligible_cores += job.request.cores;
    }
  }
  return counts;
}

LimitBook::Counts LimitBook::counts_of_user(std::uint32_t user) const {
  return counts_in_level(user, ~std::uint32_t{0});
}

/// The limits that would be broken if the job went on; one that is eligible is not counted twice.
std::vector<LimitHold> LimitBook::test(const LimitedRequest& request, bool eligible_already) const {
  const UserLimits& user = users_[request.user];
  const LevelLimits& level = levels_[request.level];
  const Counts mine = counts_of_user(request.user);
  const Counts here = counts_in_level(request.user, request.level);
  std::vector<LimitHold> holds;
  const auto hold_if = [&](bool broken, LimitHold hold) {
    if (broken) holds.push_back(hold);
  };
  hold_if(mine.running >= user.running_jobs, LimitHold::RunningJobs);
  hold_if(here.running >= level.running_jobs, LimitHold::LevelRunningJobs);
  if (!request.exempt) {
    hold_if(mine.hosts + request.hosts > user.hosts || mine.cores + request.cores > user.cores, LimitHold::Resources);
    const std::int64_t counted = eligible_already ? 0 : request.hosts;
    hold_if(here.hosts + here.eligible_hosts + counted > level.hosts, LimitHold::LevelResources);
  }
  if (eligible_already) return holds;
  hold_if(mine.eligible >= user.eligible_jobs, LimitHold::EligibleJobs);
  hold_if(here.eligible >= level.eligible_jobs, LimitHold::LevelEligibleJobs);
  if (request.exempt) return holds;
  hold_if(here.eligible_hosts + request.hosts > level.eligible_hosts, LimitHold::LevelEligibleHosts);
  hold_if(here.eligible_cores + request.cores > level.eligible_cores, LimitHold::LevelEligibleCores);
  return holds;
}

bool LimitBook::has_cores(std::int64_t cores, std::int64_t hosts) const {
  const std::int64_t each = machine_.cores_per_host;
  return each == 0 || cores / each + (cores % each == 0 ? 0 : 1) <= hosts;
}

Result<void> LimitBook::check_size(const LimitedRequest& request) const {
  const UserLimits& user = users_[request.user];
  const LevelLimits& level = levels_[request.level];
  if (request.hosts < 0 || request.cores < 0 || request.time_s < 0)
    return Error{ErrorCode::InvalidArgument, {}, "the request is negative", "ask for 0 or more"};
  if (request.hosts > machine_.hosts || !has_cores(request.cores, request.only_cores ? machine_.hosts : request.hosts))
    return Error{ErrorCode::RequestTooLarge, {}, "the request is larger than the machine", "ask for less"};
  if (request.exempt) return {};
  if (request.hosts > user.hosts || request.cores > user.cores || request.hosts > level.hosts ||
      request.hosts > level.hosts_per_job_max || request.hosts > level.hosts_in_all ||
      request.cores > level.cores_in_all)
    return Error{ErrorCode::LimitExceeded, {}, "the request is greater than max resources limit", "ask for less"};
  if (request.hosts < level.hosts_per_job_min)
    return Error{ErrorCode::LimitExceeded,
                 {},
                 "the request is less than the min nodes per job of its queue",
                 "ask for more, or name another queue"};
  if (request.time_s > level.time_s)
    return Error{ErrorCode::LimitExceeded, {}, "the time limit is longer than its queue allows", "ask for less time"};
  return {};
}

Result<std::uint32_t> LimitBook::submit(const LimitedRequest& request) {
  const std::int64_t active_max = users_[request.user].active_jobs;
  if (active_max > 0 && counts_of_user(request.user).active >= active_max)
    return Error{ErrorCode::LimitExceeded, {}, "user has max active jobs", "wait until one of them has ended"};
  PENSTOCK_TRY(check_size(request));
  jobs_.push_back({request, LimitedState::Held});
  const auto number = static_cast<std::uint32_t>(jobs_.size() - 1);
  if (request.on_wish || !test(request, false).empty()) return number;
  jobs_[number].state = LimitedState::Eligible;
  try_start(number);
  return number;
}

void LimitBook::end(std::uint32_t job) { jobs_[job].state = LimitedState::Inactive; }

void LimitBook::let_go(std::uint32_t job) { jobs_[job].request.on_wish = false; }

/// For one more, which moves there from elsewhere.
Result<void> LimitBook::check_room_at(std::uint32_t user) const {
  const Counts there = counts_of_user(user);
  const UserLimits& limits = users_[user];
  if (limits.active_jobs > 0 && there.active >= limits.active_jobs)
    return Error{ErrorCode::LimitExceeded, {}, "there the user is at max-active-jobs", "wait until one has ended"};
  if (there.running >= limits.running_jobs)
    return Error{ErrorCode::LimitExceeded, {}, "there the user is at max-run-jobs", "wait until one has ended"};
  return {};
}

Result<void> LimitBook::change(std::uint32_t job, const LimitedRequest& request) {
  const LimitedState before = jobs_[job].state;
  if (before == LimitedState::Running || before == LimitedState::Inactive)
    return Error{ErrorCode::WrongState, {}, "only a job that waits can be changed", "submit another one"};
  if (request.user != jobs_[job].request.user) PENSTOCK_TRY(check_room_at(request.user));
  PENSTOCK_TRY(check_size(request));
  // Not counted against itself.
  jobs_[job] = {request, LimitedState::Held};
  if (before == LimitedState::Eligible && test(request, false).empty()) jobs_[job].state = before;
  return {};
}

/// Tests once more, because several that were let go may want the last place.
bool LimitBook::try_start(std::uint32_t job) {
  std::int64_t hosts = 0;
  std::int64_t cores = 0;
  for (const Job& each : jobs_) {
    if (each.state != LimitedState::Running) continue;
    hosts += each.request.hosts;
    cores += each.request.cores;
  }
  const LimitedRequest& request = jobs_[job].request;
  if (hosts + request.hosts > machine_.hosts || !has_cores(cores + request.cores, machine_.hosts)) return false;
  if (!test(request, true).empty()) return false;
  jobs_[job].state = LimitedState::Running;
  return true;
}

LimitBook::Settled LimitBook::settle() {
  Settled settled;
  for (std::uint32_t job = 0; job < jobs_.size(); ++job)
    if (jobs_[job].state == LimitedState::Eligible && try_start(job)) settled.started.push_back(job);
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    if (jobs_[job].state != LimitedState::Held || jobs_[job].request.on_wish) continue;
    if (!test(jobs_[job].request, false).empty()) continue;
    jobs_[job].state = LimitedState::Eligible;
    settled.let_go.push_back(job);
    try_start(job);
  }
  return settled;
}

std::vector<LimitHold> LimitBook::holds(std::uint32_t job) const {
  return jobs_[job].state == LimitedState::Held ? test(jobs_[job].request, false) : std::vector<LimitHold>{};
}

Result<std::string> grant_service(const ServiceGrants& grants, const std::string& user, const std::string& account,
                                  const std::string& wish) {
  if (wish.empty()) return std::string{"normal"};
  if (wish == "normal" || wish == "standby") return wish;
  if (wish != "expedite")
    return Error{ErrorCode::NotFound, wish, "there is no such level of service", "use expedite, normal or standby"};
  const auto granted = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (granted(grants.users, user) || granted(grants.accounts, account)) return wish;
  return Error{ErrorCode::InvalidArgument, user, "neither the user nor the account may expedite",
               "use normal or standby"};
}

Result<void> check_access(const UserAccess& access, const std::string& level,
                          const std::vector<std::string>& known_levels, bool deny_unknown) {
  if (!access.known)
    return Error{ErrorCode::NotFound, {}, "cannot find user/bank or user/default bank entry", "name another account"};
  if (!access.enabled)
    return Error{ErrorCode::WrongState, {}, "the user/bank entry has been disabled", "name another account"};
  if (level.empty()) return {};
  const auto contains = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), level) != list.end();
  };
  if (!contains(known_levels)) {
    if (!deny_unknown) return {};
    return Error{ErrorCode::NotFound, level, "the queue is unknown to flux-accounting", "name another queue"};
  }
  if (contains(access.levels)) return {};
  return Error{ErrorCode::InvalidArgument, level, "the queue is not valid for user",
               "use one of: " + listed(access.levels)};
}

Result<void> check_project(const std::vector<std::string>& allowed, const std::string& project) {
  if (project.empty() || std::find(allowed.begin(), allowed.end(), project) != allowed.end()) return {};
  return Error{ErrorCode::InvalidArgument, project, "project not valid for user", "use one of: " + listed(allowed)};
}

}  // namespace penstock::policy
