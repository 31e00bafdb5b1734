#include "common/protocol/identity.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr std::string_view kScheme = "penstock://";
constexpr std::string_view kGroups = "?groups=";
constexpr char kBetweenGroups = '+';  // A comma would end a name in OpenSSL's words.
constexpr std::size_t kClusterDigits = 40;

bool is_user_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         std::string_view{"._-@"}.find(letter) != std::string_view::npos;
}

bool is_cluster(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kClusterDigits && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::Supervisor: return "supervisor";
    case Role::Worker: return "worker";
    case Role::Client: return "client";
    case Role::Operator: return "operator";
    case Role::Admin: return "admin";
    case Role::Metrics: return "metrics";
    case Role::Run: return "run";
  }
  return "";
}

Result<Role> parse_role(std::string_view text) {
  for (const Role role : kRoles)
    if (to_string(role) == text) return role;
  return Error{ErrorCode::InvalidArgument, std::string{text}, "is no role",
               "the roles are worker, client, operator, admin and metrics"};
}

Result<void> check_user(std::string_view user) {
  const bool sound = !user.empty() && user.size() <= kUserBytesMax && user.front() != '-' &&
                     std::all_of(user.begin(), user.end(), is_user_letter);
  if (sound) return {};
  return Error{ErrorCode::InvalidArgument, std::string{user.substr(0, kUserBytesMax)}, "is no name of a user",
               "use 1 to " + std::to_string(kUserBytesMax) + " letters, digits and ._-@"};
}

Result<void> check_groups(const std::vector<std::string>& groups) {
  if (groups.size() > kGroupsMax)
    return Error{ErrorCode::LimitExceeded, "the groups", "are more than " + std::to_string(kGroupsMax), {}};
  for (const std::string& group : groups)
    if (!check_user(group))
      return Error{ErrorCode::InvalidArgument, "group '" + group.substr(0, kUserBytesMax) + "'",
                   "is no name of a group", "use letters, digits and ._-@"};
  return {};
}

std::string to_uri(const PeerIdentity& identity) {
  std::string uri =
      std::string{kScheme} + identity.cluster + "/" + std::string{to_string(identity.role)} + "/" + identity.user;
  for (std::size_t i = 0; i < identity.groups.size(); ++i)
    uri += (i == 0 ? std::string{kGroups} : std::string(1, kBetweenGroups)) + identity.groups[i];
  return uri;
}

Result<PeerIdentity> parse_peer_identity(std::string_view uri) {
  const auto wrong = [&] {
    return Error{ErrorCode::InvalidArgument, std::string{uri.substr(0, 256)}, "is no identity of Penstock", {}};
  };
  if (!uri.starts_with(kScheme)) return wrong();
  const std::string_view text = uri.substr(kScheme.size());
  const std::size_t first = text.find('/');
  const std::size_t second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos) return wrong();
  PeerIdentity identity;
  identity.cluster = text.substr(0, first);
  const std::size_t groups = text.find(kGroups, second);
  identity.user = text.substr(second + 1, groups == std::string_view::npos ? groups : groups - second - 1);
  for (std::size_t at = groups == std::string_view::npos ? text.size() : groups + kGroups.size(); at < text.size();) {
    const std::size_t end = std::min(text.find(kBetweenGroups, at), text.size());
    identity.groups.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  const Result<Role> role = parse_role(text.substr(first + 1, second - first - 1));
  if (!role || !is_cluster(identity.cluster) || !check_user(identity.user) || !check_groups(identity.groups))
    return wrong();
  identity.role = *role;
  if (to_uri(identity) != uri) return wrong();
  return identity;
}

bool may_introduce_itself(Role role, PeerRole as) {
  switch (role) {
    case Role::Worker: return true;
    case Role::Client:
    case Role::Operator:
    case Role::Admin:
    case Role::Run: return as == PeerRole::Client;
    case Role::Supervisor:
    case Role::Metrics: return false;
  }
  return false;
}

}  // namespace penstock
