// The actions that a supervisor's core orders.
#pragma once

#include <string>
#include <variant>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/records.hpp"
#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/snapshot.hpp"

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
/// Write these down, in this order and after all that came before; answered by `Persisted{ticket}`. Tickets count
/// up from 1. Graphs live until it is answered. Never ordered without a journal.
struct Persist {
  std::vector<Record> records;
  std::uint64_t ticket = 0;
};
/// Let policy look at the cluster, off the path of all else; answered by `PassEnded`. The snapshot has two pools for
/// each of the configuration: of its CPU bands, and of its device bands.
struct RunPass {
  std::uint64_t number = 0;
  policy::Snapshot snapshot;
  std::vector<policy::Parts> parts;  ///< By pool of the snapshot.
};
/// Read the configuration file again; answered by `PolicyRead`.
struct ReloadPolicy {
  ClientId client;
  AdminRequest request;
};
/// A person should look at this; logged once.
struct Alert {
  Error error;
};
}  // namespace supervisor_action

using SupervisorAction = std::variant<supervisor_action::SendToWorker, supervisor_action::SendToClient,
                                      supervisor_action::ReleaseWorker, supervisor_action::Alert,
                                      supervisor_action::Persist, supervisor_action::RunPass,
                                      supervisor_action::ReloadPolicy>;

}  // namespace penstock::supervisor
