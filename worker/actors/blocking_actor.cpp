#include "worker/actors/blocking_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/default_attachable.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <deque>
#include <system_error>
#include <utility>

#include "common/loop/actor_host.hpp"

namespace penstock::worker {
namespace {

class BlockingState {
 public:
  explicit BlockingState(BlockingActor::stateful_pointer<BlockingState> self) : self_(self) {}

  static constexpr const char* name = "blocking";

  BlockingActor::behavior_type make_behavior() {
    take_failures(*self_, ActorFailure::EndsActor);
    self_->set_exit_handler([this](const caf::exit_msg& message) {
      while (run_one()) {
      }
      self_->quit(message.reason);
    });
    return {[this](BlockingWorkMail& mail) { take(mail); },
            [this](const AbandonMail&) {
              waited_.clear();
              later_.clear();
            }};
  }

 private:
  // A piece runs when all that has come is known: work that is waited for overtakes the other, and what is abandoned is
  // not begun.
  void take(BlockingWorkMail& mail) {
    (mail.turn == BlockingWork::Turn::Waited ? waited_ : later_).push_back(std::move(mail.work));
    while (self_->mailbox().empty() && run_one()) {
    }
  }

  bool run_one() {
    std::deque<std::function<void()>>& queue = waited_.empty() ? later_ : waited_;
    if (queue.empty()) return false;
    const std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    work();
    return true;
  }

  BlockingActor::stateful_pointer<BlockingState> self_;
  std::deque<std::function<void()>> waited_;
  std::deque<std::function<void()>> later_;
};

// With an argument, because CAF 0.17 dereferences a null pointer when a function is spawned without any.
BlockingActor::behavior_type blocking_behavior(BlockingActor::stateful_pointer<BlockingState> self, int) {
  return self->state.make_behavior();
}

}  // namespace

BlockingActor spawn_blocking_actor(caf::actor_system& system) {
  return system.spawn<caf::detached>(blocking_behavior, 0);
}

ActorWork::ActorWork(caf::scheduled_actor& owner, std::string name)
    : system_(owner.system()), owner_(owner.address()), name_(std::move(name)) {}

ActorWork::~ActorWork() { end(); }

bool ActorWork::has_thread() {
  const std::lock_guard lock{mutex_};
  return !ended_ && static_cast<bool>(started());
}

void ActorWork::add(Turn turn, std::function<void()> work) {
  BlockingActor actor;
  {
    const std::lock_guard lock{mutex_};
    if (ended_) return;
    actor = started();
  }
  if (!actor) return work();
  caf::anon_send(actor, BlockingWorkMail{turn, std::move(work)});
}

// REQUIRES: the mutex is held.
BlockingActor ActorWork::started() {
  if (!actor_) try {
      actor_ = spawn_blocking_actor(system_);
      address_ = actor_.address();
      caf::actor_cast<caf::abstract_actor*>(actor_)->attach(caf::default_attachable::make_monitor(address_, owner_));
    } catch (const std::system_error&) {
      uncount_unstarted(system_);  // Fault F33: the caller does the work.
    }
  return actor_;
}

void ActorWork::quiesce() {
  BlockingActor actor;
  {
    const std::lock_guard lock{mutex_};
    actor = actor_;
  }
  if (!actor) return;
  caf::scoped_actor waiting{system_};
  waiting->request(actor, caf::infinite, AbandonMail{}).receive([] {}, [](const caf::error&) {});
}

void ActorWork::end() {
  const std::lock_guard lock{mutex_};
  ended_ = true;
  if (actor_) caf::anon_send_exit(std::exchange(actor_, nullptr), caf::exit_reason::user_shutdown);
}

bool ActorWork::is(const caf::actor_addr& address) const {
  const std::lock_guard lock{mutex_};
  return address_ == address;
}

}  // namespace penstock::worker
