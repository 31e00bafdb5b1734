// The event that a worker's core is handling. Private to this folder.
#pragma once

#include <string>
#include <utility>

#include "common/base/actions.hpp"
#include "common/base/time.hpp"
#include "worker/core/actions.hpp"

namespace penstock::worker {

/// The event that is being handled, as all parts of the core see it. The core owns it; parts hold a reference.
struct EventContext {
  /// Input of a peer that breaks the protocol.
  void reject(std::string subject, std::string message) {
    out->add(
        worker_action::Reject{Seldom{Error{ErrorCode::InvalidArgument, std::move(subject), std::move(message), {}}}});
  }

  Instant now{};                         ///< Time of the event.
  Actions<WorkerAction>* out = nullptr;  ///< Receives the actions; valid only during an event.
};

}  // namespace penstock::worker
