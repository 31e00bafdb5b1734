// The identity in a certificate: a role in a cluster, and the user that has it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock {

/// The part that a process plays in a cluster, as its certificate says. A certificate has one role.
enum class Role : std::uint8_t {
  Supervisor,  ///< Coordinates; the only role that a worker or client takes orders from.
  Worker,      ///< Runs subtasks and serves data.
  Client,      ///< Submits jobs, and asks about them.
  Operator,    ///< A client that also steers the cluster: workers, priorities, settings.
  Admin,       ///< An operator that also makes tokens.
  Metrics,     ///< Reads metrics, nothing else.
  Run,         ///< A program that a worker has started under the account of its user: submits nested work, reads data.
};
inline constexpr std::array kRoles{Role::Supervisor, Role::Worker,  Role::Client, Role::Operator,
                                   Role::Admin,      Role::Metrics, Role::Run};

/// As it stands in certificates and on command lines, e.g. `worker`.
std::string_view to_string(Role role);
/// Error: InvalidArgument, which lists the roles.
Result<Role> parse_role(std::string_view text);

/// The owner of a certificate.
struct PeerIdentity {
  Role role = Role::Client;
  std::string user;     ///< Name of the user that the process belongs to.
  std::string cluster;  ///< Identifies the authority that has issued the certificate: 40 hexadecimal digits.
  std::vector<std::string> groups{};  ///< The user sees jobs that are shared with one of these.
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

/// Length limit of a user's name.
inline constexpr std::size_t kUserBytesMax = 64;

/// A name of letters, digits and `._-@`, so that it is the same in certificates, logs and on command lines. Error:
/// InvalidArgument.
Result<void> check_user(std::string_view user);

/// Length limit of `PeerIdentity::groups`.
inline constexpr std::size_t kGroupsMax = 16;
/// Checks the names, as `check_user`, and their number. Errors: InvalidArgument, LimitExceeded.
Result<void> check_groups(const std::vector<std::string>& groups);

/// `penstock://CLUSTER/ROLE/USER`, and `?groups=A+B` behind it if there are any: the subject's alternative name in a
/// certificate.
std::string to_uri(const PeerIdentity& identity);
/// Error: InvalidArgument.
Result<PeerIdentity> parse_peer_identity(std::string_view uri);

/// Whether a process of this role may introduce itself to the supervisor as that kind of peer. The runs of a worker are
/// clients with its certificate, see `check_right`.
bool may_introduce_itself(Role role, PeerRole as);

}  // namespace penstock
