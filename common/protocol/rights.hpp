// The messages that each role may send to a supervisor.
#pragma once

#include <string_view>

#include "common/protocol/client.hpp"
#include "common/protocol/identity.hpp"

namespace penstock {

/// The power that a message of a client needs.
enum class Power : std::uint8_t {
  Use,    ///< Submits work, follows it and asks about it.
  Steer,  ///< Changes what others get: workers, priorities, settings of the cluster.
};

/// A command without a row needs the power to steer, so that a new order is never open to everybody by oversight.
Power power_for(std::string_view command);
/// One case for each message: one that is left out does not compile.
Power power_for(const FromClient& message);

/// Whether a peer of that role may send the message. Error: PermissionDenied, which names the message and the role that
/// it needs.
Result<void> check_right(Role role, const FromClient& message);
/// Whether the job that the message submits, if it does, is shared with a group of the sender: another one would be
/// named by mistake. Error: PermissionDenied, which lists the groups.
Result<void> check_share(const PeerIdentity& sender, const FromClient& message);

/// The job that the message submits; null: it submits none.
const JobSpec* submitted_by(const FromClient& message);
JobSpec* submitted_by(FromClient& message);

}  // namespace penstock
