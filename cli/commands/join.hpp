// The use of a token.
#pragma once

#include <string>

#include "cli/commands/command.hpp"
#include "common/protocol/identity.hpp"

namespace penstock::cli {

/// Whether this user has a certificate already, as a worker that starts again.
enum class JoinAgain : std::uint8_t { Always, UnlessValid };

/// Reads a token from the file (`-`: standard input), gets a certificate for it from the first supervisor that answers,
/// and keeps it among the credentials of this user. Errors: InvalidArgument: there is no token; those of `Joining`.
Result<PeerIdentity> join_with_file(const Invocation& invocation, const std::string& file, JoinAgain again);

/// Gets another certificate in the place of the one that this user shows as a client, whether it is due or not. Errors:
/// those of `Joining`.
Result<PeerIdentity> renew_login(const Invocation& invocation);

}  // namespace penstock::cli
