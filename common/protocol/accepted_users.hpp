// The users that a worker runs jobs of, and the accounts that it uses for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/config.hpp"

namespace penstock {

/// The key in `[worker]`.
inline constexpr const char* kAcceptUsers = "accept_users";
/// In the list: every user.
inline constexpr std::string_view kEveryUser = "*";

/// Checks the names in the list, and that there are at most `kAcceptedUsersMax`. Error: InvalidArgument, LimitExceeded.
Result<void> check_accepted_users(const std::vector<std::string>& users);

/// The rules of a worker about users.
struct UserRules {
  /// False: jobs have no proven user, and all programs run under the worker's own account. So it is in the process of
  /// the client, and where connections are plain.
  bool known = false;
  bool switches = false;  ///< Programs start under other accounts: as root, unless `worker.run_as` says no.
  std::string own;        ///< The user that runs the worker.
  std::vector<std::string> accepted;  ///< `worker.accept_users`
  std::uint32_t uid_min = 1000;       ///< `worker.users_uid_min`
};

/// The worker runs jobs of these users, as it tells the supervisor; empty: of any user.
std::vector<std::string> users_to_tell(const UserRules& rules);

/// Decides the account of programs for the jobs of `user`. `supervisor_user` runs the supervisor, and `uid` is the
/// number of that user on this host; none: there is no such user. Error: PermissionDenied, with what would allow it.
Result<RunAs> account_for(const UserRules& rules, const std::string& user, const std::string& supervisor_user,
                          std::optional<std::uint32_t> uid);

}  // namespace penstock
