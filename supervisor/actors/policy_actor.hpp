// The actor that runs the policy, on a thread of its own.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <memory>

#include "supervisor/core/actions.hpp"
#include "supervisor/core/events.hpp"

namespace penstock::supervisor {

struct PassMail {
  std::shared_ptr<supervisor_event::PassEnded> ended;
};

}  // namespace penstock::supervisor

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::supervisor_action::RunPass)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::PassMail)

namespace penstock::supervisor {

/// Runs passes one after the other, on a thread of its own. Of the orders that wait only the newest is run: the core
/// has given up the others, and their answers say so. Ends with an exit message, after the pass that is under way.
using PolicyActor = caf::typed_actor<caf::replies_to<supervisor_action::RunPass>::with<PassMail>>;

using Pass = supervisor_event::PassEnded (*)(supervisor_action::RunPass);

/// `owner` monitors the actor. A pass may throw: a standard exception is its failure, another one the actor's end.
PolicyActor spawn_policy(caf::scheduled_actor& owner, Pass pass);

}  // namespace penstock::supervisor
