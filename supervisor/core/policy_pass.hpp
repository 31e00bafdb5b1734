// A pass of the policy: the engine over a snapshot.
#pragma once

#include "supervisor/core/actions.hpp"
#include "supervisor/core/events.hpp"

namespace penstock::supervisor {

/// Checks the snapshot and runs the engine over it; an unsound snapshot is a failure and no plan. Pure: called off the
/// core's thread, and at once where time is virtual. Gives the snapshot back.
supervisor_event::PassEnded run_pass(supervisor_action::RunPass order);

}  // namespace penstock::supervisor
