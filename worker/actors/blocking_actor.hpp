// The actor that runs work that blocks.
#pragma once

#include <caf/actor_addr.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <functional>
#include <mutex>
#include <string>

#include "worker/store/blocking_work.hpp"

namespace penstock::worker {

struct BlockingWorkMail {
  BlockingWork::Turn turn = BlockingWork::Turn::Later;
  std::function<void()> work;
};
/// All work that was sent before is abandoned. As a request: answered when no piece runs.
struct AbandonMail {};

}  // namespace penstock::worker

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::BlockingWorkMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::worker::AbandonMail)

namespace penstock::worker {

/// Runs pieces of work on a thread of its own. An exit message is an end in good order: all that came before is done.
using BlockingActor = caf::typed_actor<caf::reacts_to<BlockingWorkMail>, caf::reacts_to<AbandonMail>>;

/// Error of the system: the host has no thread left; see `uncount_unstarted`.
BlockingActor spawn_blocking_actor(caf::actor_system& system);

/// Work for a `BlockingActor`, which the first piece spawns, on whatever thread. The owner monitors the actor: a reason
/// other than `user_shutdown` means that a piece has thrown and the others will not be done.
class ActorWork final : public BlockingWork {
 public:
  ActorWork(caf::scheduled_actor& owner, std::string name);
  /// As `end`.
  ~ActorWork() override;
  ActorWork(const ActorWork&) = delete;
  ActorWork& operator=(const ActorWork&) = delete;

  bool has_thread() override;
  void add(Turn turn, std::function<void()> work) override;
  void quiesce() override;
  /// Lets the actor end in good order, without waiting. Work that is added later is abandoned.
  void end();
  const std::string& name() const { return name_; }
  /// Whether this is, or was, the address of the actor.
  bool is(const caf::actor_addr& address) const;

 private:
  BlockingActor started();

  caf::actor_system& system_;
  const caf::actor_addr owner_;
  const std::string name_;
  mutable std::mutex mutex_;  ///< Guards the rest. Thread-sanitized by unit_worker_actors.
  BlockingActor actor_;
  caf::actor_addr address_;
  bool ended_ = false;
};

}  // namespace penstock::worker
