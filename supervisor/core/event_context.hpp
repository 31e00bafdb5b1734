// The event that a supervisor's core is handling. Private to this folder.
#pragma once

#include "common/base/actions.hpp"
#include "common/base/time.hpp"
#include "supervisor/core/actions.hpp"

namespace penstock::supervisor {

/// The event that is being handled, as all parts of the core see it. The core owns it; parts hold a reference.
struct EventContext {
  Instant now{};                             ///< Time of the event.
  Actions<SupervisorAction>* out = nullptr;  ///< Receives the actions; valid only during an event.
};

}  // namespace penstock::supervisor
