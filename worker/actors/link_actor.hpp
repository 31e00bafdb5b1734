// The actor that represents the supervisor in a worker's own process.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <functional>

#include "common/loop/mail.hpp"
#include "common/net/uplink.hpp"

namespace penstock::worker {

/// To the link: a new incarnation of the worker needs a link of its own.
struct NewLifeMail {
  Incarnation life;
};
/// From the link: the link of that incarnation is over.
struct LinkEndedMail {
  Incarnation life;
  Error why;
};

/// From the link: the supervisor has died, and its next term has been linked for that incarnation of the worker. Until
/// a `Register` is sent, it receives no other message.
struct LinkRenewedMail {
  Incarnation life;
};

/// From the link: the supervisor has received all that the incarnation had sent before that time.
struct SupervisorHeardMail {
  Incarnation life;
  Instant sent;
};

/// From the link: what the supervisor says about certificates, in the order of its messages.
struct SecurityNoticeMail {
  SecurityNotice notice;
};

}  // namespace penstock::worker

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::NewLifeMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::LinkEndedMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::LinkRenewedMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::SupervisorHeardMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::SecurityNoticeMail)

namespace penstock::worker {

/// The worker, for its link.
using LinkOwner = WorkerHandle::extend<caf::reacts_to<LinkEndedMail>, caf::reacts_to<LinkRenewedMail>,
                                       caf::reacts_to<SupervisorHeardMail>, caf::reacts_to<SecurityNoticeMail>>;
using LinkHandle = SupervisorRoute::extend<caf::reacts_to<NewLifeMail>>;

struct LinkActorOptions {
  UplinkOptions uplink;
  std::function<void(const Error&)> on_fatal;  ///< The worker cannot go on; called on the loop's thread.
};

/// Carries `FromWorkerMail` to the supervisor as frames, and brings frames back as `ToWorkerMail` to the sender of the
/// latest `NewLifeMail`.
LinkHandle spawn_link_actor(caf::actor_system& system, Loop& loop, const LinkActorOptions& options);

}  // namespace penstock::worker
