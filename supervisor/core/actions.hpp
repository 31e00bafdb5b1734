// What a supervisor's core wants done.
#pragma once

#include <string>
#include <variant>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"

namespace penstock::supervisor {

namespace supervisor_action {
struct SendToWorker {
  WorkerId worker;
  ToWorker message;
};
struct SendToClient {
  ClientId client;
  ToClient message;
};
/// A worker is done with: close its link.
struct ReleaseWorker {
  WorkerId worker;
};
/// Someone should look at this; logged once.
struct Alert {
  Error error;
};
}  // namespace supervisor_action

using SupervisorAction = std::variant<supervisor_action::SendToWorker, supervisor_action::SendToClient,
                                      supervisor_action::ReleaseWorker, supervisor_action::Alert>;

}  // namespace penstock::supervisor
