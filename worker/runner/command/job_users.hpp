// The accounts under which a worker starts programs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/host/account.hpp"
#include "common/host/life_directory.hpp"
#include "common/host/process.hpp"
#include "common/protocol/accepted_users.hpp"

namespace penstock::worker {

/// Null: the worker's own.
using AccountPtr = std::shared_ptr<const Account>;

/// Decides by `account_for`, and remembers what the host knows of a user for a minute. Any thread may use it.
class JobUsers {
 public:
  /// `supervisor_user`: the user that runs the supervisor; empty while that is unknown.
  JobUsers(UserRules rules, std::function<std::string()> supervisor_user)
      : rules_(std::move(rules)), supervisor_user_(std::move(supervisor_user)) {}

  /// Errors: PermissionDenied; Unreachable: the directory of users does not answer.
  Result<AccountPtr> account_of(const std::string& user, Instant now);
  /// Writes a credential of the user's runs to `place` in the directory that `credentials_of` tells, where the user
  /// reads it and nobody else. Errors: as of `account_of`; StorageFull.
  Result<void> keep(const std::string& user, const std::string& place, const std::string& content, Instant now);
  /// The directory for PENSTOCK_RUN_CREDENTIALS in the environment of a program that runs under the account; empty:
  /// none was kept.
  std::string credentials_of(const Account& account) const;
  /// Whether native operators run for the user: in the worker's process, under its account.
  bool runs_operators_for(const std::string& user) const {
    return !rules_.known || rules_.switches || user == rules_.own || account_for(rules_, user, {}, {}).has_value();
  }

 private:
  struct Known {
    AccountPtr account;  ///< Null: the host has no such user.
    Instant until{};
  };
  Result<AccountPtr> look_up(const std::string& user, Instant now);
  Result<std::string> directory_for(const Account& account);

  const UserRules rules_;
  const std::function<std::string()> supervisor_user_;
  mutable std::mutex mutex_;  // Of all that follows.
  std::map<std::string, Known> known_;
  std::map<uid_t, std::string> credentials_;  ///< Directories.
  LifeDirectory directory_{{}, "penstock-runs-"};
};

/// The environment of programs that run under an account: its own words, the locale and time zone of the worker, and
/// nothing else of the worker. `users` knows the credentials of its runs; null: there are none.
std::vector<std::string> environment_of(const Account& account, const JobUsers* users = nullptr);

/// Turns the start of a program into one under the account. The program and `start.directory` are reached with the
/// rights of the account alone, and variables of the job reach no process that still has those of the worker. Where
/// that fails the program ends with 126 or 127, and says why on its standard error. Errors: InvalidArgument: a variable
/// has a name that a shell does not allow; ResourceExhausted.
Result<void> start_as(ProcessStart& start, const Account& account);

}  // namespace penstock::worker
