// The actor that runs the commands of one band.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <memory>
#include <set>

#include "common/loop/loop.hpp"
#include "worker/actors/worker_host.hpp"
#include "worker/runner/command/command_runner.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

struct CommandStartMail {
  /// Of the worker that starts it; the owner compares it, because tickets are unique in one incarnation only.
  Incarnation life;
  std::shared_ptr<CommandStart> start;
};
struct CommandStopMail {
  std::uint64_t ticket = 0;
  bool kill = false;
};
/// A process runner of the band has ended; the processes that it left outside its group carry `mark` in their
/// environment.
struct RunnerGoneMail {
  std::string mark;
};
/// An incarnation of the worker is over: its commands are ended, and starts that it may still send are ignored.
struct KillAllMail {
  Incarnation life;
};
/// To the owner: the end of a command.
struct CommandEndMail {
  Incarnation life;
  std::shared_ptr<CommandEnd> end;
};

/// To the owner: the present memory of a band's commands.
struct CommandMemoryMail {
  Incarnation life;
  std::string band;
  Bytes used;
};

}  // namespace penstock::worker

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandStartMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandStopMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::RunnerGoneMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::KillAllMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandEndMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::CommandMemoryMail)

namespace penstock::worker {

/// The worker, for a band.
using CommandOwner = caf::typed_actor<caf::reacts_to<CommandEndMail>, caf::reacts_to<CommandMemoryMail>>;
using BandHandle = caf::typed_actor<caf::reacts_to<CommandStartMail>, caf::reacts_to<CommandStopMail>,
                                    caf::reacts_to<RunnerGoneMail>, caf::reacts_to<KillAllMail>>;

/// The command runners of all bands of a worker, so that its owner can end them at the same time; used on the loop's
/// thread.
using CommandRunners = std::set<CommandRunner*>;

/// The actor's commands do not outlive it. Its runner is in `runners` while the actor lives.
BandHandle spawn_band_actor(caf::actor_system& system, Loop& loop, ObjectStore& store,
                            const CommandRunnerConfig& config, const std::shared_ptr<CommandRunners>& runners,
                            const CommandOwner& owner);

}  // namespace penstock::worker
