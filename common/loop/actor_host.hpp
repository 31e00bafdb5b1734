// CAF on the loop: the actor system of a process.
#pragma once

#include <memory>

#include "common/loop/loop.hpp"

namespace caf {
class actor_addr;
class actor_system;
class scheduled_actor;
}  // namespace caf

namespace penstock {

/// Owns the CAF actor system of a process and runs its pooled actors on a `Loop`, in between sockets and timers. So a
/// frame goes from socket to core to socket without a change of threads, and an idle process neither polls nor sleeps
/// in steps. Detached actors have threads of their own, as always in CAF. See docs/decisions/0002.
///
/// Messages between pooled actors may be sent from any thread. CAF's own timeouts (`delayed_send`, `after`) are not
/// served: use `LoopTimer`.
class ActorHost {
 public:
  explicit ActorHost(Loop& loop);
  /// REQUIRES: all actors have been told to exit. Runs the loop's ready actors until none is left.
  ~ActorHost();
  ActorHost(const ActorHost&) = delete;
  ActorHost& operator=(const ActorHost&) = delete;

  caf::actor_system& system();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void send_exit(const caf::actor_addr& actor);
/// Tells an actor to exit and releases the handle.
template <class Handle>
void end_actor(Handle& actor) {
  if (actor) send_exit(actor.address());
  actor = nullptr;
}

/// The meaning of an exception that leaves a handler of an actor.
enum class ActorFailure {
  EndsActor,    ///< The reason of the end tells the owner, which monitors the actor, what was thrown.
  EndsProcess,  ///< Nothing works without the actor: the process names actor and exception, and aborts.
};
/// The first call of every actor. CAF's own handler needs its printer actor, which an `ActorHost` does not have, and
/// crashes.
void take_failures(caf::scheduled_actor& actor, ActorFailure meaning);

/// For the catcher of a `std::system_error` from the spawn of a detached actor: the host has no thread left (fault
/// F33). CAF has counted the actor, which never runs, and would wait for its end.
void uncount_unstarted(caf::actor_system& system);

}  // namespace penstock
