// The actor that runs the commands of one band.
#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <memory>
#include <set>

#include "common/runtime/loop.hpp"
#include "worker/actors/worker_host.hpp"
#include "worker/runner/command/command_runner.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

struct CommandStartMail {
  Incarnation life;  ///< Of the worker that wants it; tickets are told apart by it.
  std::shared_ptr<CommandStart> start;
};
struct CommandStopMail {
  std::uint64_t ticket = 0;
  bool kill = false;
};
/// A process runner of the band is gone; what it has left outside its group has that in its environment.
struct RunnerGoneMail {
  std::string mark;
};
/// That life of the worker is over: its commands end, and those that it may still send are not started.
struct KillAllMail {
  Incarnation life;
};
/// To the owner.
struct CommandEndMail {
  Incarnation life;
  std::shared_ptr<ForeignEnd> end;
};

/// To the owner: what the commands of a band use now.
struct CommandMemoryMail {
  Incarnation life;
  std::string band;
  Bytes used;
};

/// Those of all bands of a worker, for who ends them at the same time; all on the loop's thread.
using CommandRunners = std::set<CommandRunner*>;

/// Its commands do not outlive it. Its runner is in `runners` while it lives.
caf::actor spawn_band_actor(caf::actor_system& system, Loop& loop, ObjectStore& store,
                            const CommandRunnerConfig& config, const std::shared_ptr<CommandRunners>& runners,
                            const caf::actor& owner);

}  // namespace penstock::worker

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandStartMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandStopMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::RunnerGoneMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::KillAllMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandEndMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandMemoryMail)
