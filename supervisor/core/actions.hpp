// What a supervisor's core wants done.
#pragma once

#include <string>
#include <variant>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"
#include "supervisor/core/records.hpp"

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
/// Write these down, in this order and after all that came before; answered by `Persisted{ticket}`. Tickets count up from 1.
/// Graphs live until it is answered. Never ordered without a journal.
struct Persist {
  std::vector<Record> records;
  std::uint64_t ticket = 0;
};
/// Someone should look at this; logged once.
struct Alert {
  Error error;
};
}  // namespace supervisor_action

using SupervisorAction = std::variant<supervisor_action::SendToWorker, supervisor_action::SendToClient,
                                      supervisor_action::ReleaseWorker, supervisor_action::Alert,
                                      supervisor_action::Persist>;

}  // namespace penstock::supervisor
