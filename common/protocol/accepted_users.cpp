#include "common/protocol/accepted_users.hpp"

#include <algorithm>

#include "common/protocol/handshake.hpp"
#include "common/protocol/identity.hpp"

namespace penstock {
namespace {

bool lists(const UserRules& rules, const std::string& user) {
  return std::any_of(rules.accepted.begin(), rules.accepted.end(),
                     [&](const std::string& each) { return each == user || each == kEveryUser; });
}

Error refused(const std::string& user, std::string why) {
  return {ErrorCode::PermissionDenied, "user '" + user + "'", std::move(why),
          "list the user in `accept_users` of [worker] on that host"};
}

}  // namespace

Result<void> check_accepted_users(const std::vector<std::string>& users) {
  if (users.size() > kAcceptedUsersMax)
    return Error{ErrorCode::LimitExceeded, kAcceptUsers,
                 "names more than " + std::to_string(kAcceptedUsersMax) + " users", "\"*\" means every user"};
  for (const std::string& user : users)
    if (user != kEveryUser) PENSTOCK_TRY(check_user(user));
  return {};
}

std::vector<std::string> users_to_tell(const UserRules& rules) {
  if (!rules.known || rules.switches || lists(rules, std::string{kEveryUser})) return {};
  std::vector<std::string> users{rules.own};
  for (const std::string& user : rules.accepted)
    if (std::find(users.begin(), users.end(), user) == users.end()) users.push_back(user);
  return users;
}

Result<RunAs> account_for(const UserRules& rules, const std::string& user, const std::string& supervisor_user,
                          std::optional<std::uint32_t> uid) {
  if (!rules.known) return RunAs::Worker;
  if (user.empty())
    return Error{ErrorCode::PermissionDenied, "the job", "comes from a supervisor that does not say whose job it is",
                 "update the supervisor"};
  if (!rules.switches) {
    if (user == rules.own || lists(rules, user)) return RunAs::Worker;
    return refused(user, "has no jobs on this worker, which runs those of '" + rules.own + "'");
  }
  // The administrator of the cluster could name any user, and must not become root on each of its hosts by that.
  if (user == rules.own && (user == supervisor_user || lists(rules, user))) return RunAs::Worker;
  if (!uid)
    return Error{ErrorCode::PermissionDenied, "user '" + user + "'", "has no account on this host", "create it there"};
  if (*uid < rules.uid_min && !lists(rules, user))
    return refused(user, "is a user of the system (number " + std::to_string(*uid) + ", and users_uid_min is " +
                             std::to_string(rules.uid_min) + "), and this worker runs as root");
  return *uid == 0 ? RunAs::Worker : RunAs::Submitter;
}

}  // namespace penstock
