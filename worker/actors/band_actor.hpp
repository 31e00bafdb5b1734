// The actor that runs the commands of one band.
#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <memory>
#include <string>

#include "common/runtime/loop.hpp"
#include "worker/actors/worker_host.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

struct CommandStartMail {
  std::shared_ptr<CommandStart> start;
};
struct CommandStopMail {
  std::uint64_t ticket = 0;
  bool kill = false;
};
struct KillAllMail {};
/// To the owner.
struct CommandEndMail {
  std::shared_ptr<ForeignEnd> end;
};

caf::actor spawn_band_actor(caf::actor_system& system, Loop& loop, ObjectStore& store, const std::string& spool, const caf::actor& owner);

}  // namespace penstock::worker

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandStartMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandStopMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::KillAllMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandEndMail)
