// Messages between actors: batches, never one message for a subtask.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/assign.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/report.hpp"

namespace penstock {

/// Between the supervisor's actor and the actor in front of a worker: the gateway, or the worker itself when embedded.
/// A worker is named by its incarnation, which is unique.
struct ToWorkerMail {
  Incarnation worker;
  std::shared_ptr<const std::vector<ToWorker>> messages;
};
struct FromWorkerMail {
  Incarnation worker;
  std::shared_ptr<const std::vector<FromWorker>> messages;
};
struct WorkerLostMail {
  Incarnation worker;
  std::string reason;
};
/// No sign of this worker has come for a while, or it is heard again.
struct WorkerSuspectedMail {
  Incarnation worker;
  bool suspected = false;
};
/// The supervisor no longer needs this worker; close its link.
struct DismissWorkerMail {
  Incarnation worker;
};

/// The same for clients. The messages may be moved from: a mail has one reader.
struct FromClientMail {
  Incarnation client;
  std::shared_ptr<std::vector<FromClient>> messages;
};
struct ToClientMail {
  Incarnation client;
  std::shared_ptr<const std::vector<ToClient>> messages;
};
struct ClientLostMail {
  Incarnation client;
};

}  // namespace penstock

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::ToWorkerMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::FromWorkerMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::WorkerLostMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::WorkerSuspectedMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::DismissWorkerMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::FromClientMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::ToClientMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::ClientLostMail)

namespace penstock {

/// The actor in front of a worker: the gateway, or the worker itself when embedded.
using WorkerHandle = caf::typed_actor<caf::reacts_to<ToWorkerMail>, caf::reacts_to<DismissWorkerMail>>;
/// The actor in front of a client.
using ClientHandle = caf::typed_actor<caf::reacts_to<ToClientMail>>;
/// The actor in front of the supervisor: a worker's link, or the supervisor itself when embedded.
using SupervisorRoute = caf::typed_actor<caf::reacts_to<FromWorkerMail>>;
using SupervisorHandle = caf::typed_actor<caf::reacts_to<FromWorkerMail>, caf::reacts_to<WorkerLostMail>,
                                          caf::reacts_to<WorkerSuspectedMail>, caf::reacts_to<FromClientMail>,
                                          caf::reacts_to<ClientLostMail>>;

}  // namespace penstock
