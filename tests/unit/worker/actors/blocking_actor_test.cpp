#include "worker/actors/blocking_actor.hpp"

#include <gtest/gtest.h>

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "common/loop/actor_host.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::worker {
namespace {

using Turn = BlockingWork::Turn;

/// The end of the actor, as its owner hears it.
struct Heard {
  std::optional<std::string> reason;
  bool of_the_work = false;
};

caf::behavior owner_behavior(caf::event_based_actor* self, std::unique_ptr<ActorWork>* work, Heard* heard) {
  *work = std::make_unique<ActorWork>(*self, "disk");
  self->set_down_handler([self, work, heard](const caf::down_msg& down) {
    heard->reason = self->system().render(down.reason);
    heard->of_the_work = *work != nullptr && (*work)->is(down.source);
  });
  return {[](int) {}};
}

class BlockingActorTest : public testing::Test {
 protected:
  BlockingActorTest() {
    owner_ = actors_.system().spawn(owner_behavior, &work_, &heard_);
    EXPECT_TRUE(turn_until(loop_, [&] { return work_ != nullptr; }));
  }
  ~BlockingActorTest() override {
    work_.reset();
    end_actor(owner_);
  }

  void add(Turn turn, char name) {
    work_->add(turn, [this, name] { done_ += name; });
  }
  /// The thread is busy until `gate_` opens.
  void add_gate() {
    work_->add(Turn::Waited, [this] { gate_.get_future().wait(); });
  }
  /// REQUIRES: the gate is open, or there is none.
  void wait_for_all() {
    std::promise<void> all;
    work_->add(Turn::Later, [&] { all.set_value(); });
    all.get_future().wait();
  }

  Heard heard_;  // Actors write to it until their system ends.
  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  std::unique_ptr<ActorWork> work_;
  std::promise<void> gate_;
  std::string done_;  ///< Names of pieces; written by the actor's thread.
  caf::actor owner_;
};

TEST_F(BlockingActorTest, AThreadStartsWithTheFirstWorkAndIsNotTheCallers) {
  const std::size_t before = actors_.system().registry().running();
  std::promise<std::thread::id> where;
  work_->add(Turn::Later, [&] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
  wait_for_all();
  EXPECT_EQ(actors_.system().registry().running(), before + 1);
}

TEST_F(BlockingActorTest, WorkThatIsWaitedForOvertakesOtherWorkAndBothKeepTheirOrder) {
  add_gate();
  for (const char name : {'a', 'b'}) add(Turn::Later, name);
  for (const char name : {'1', '2'}) add(Turn::Waited, name);
  gate_.set_value();
  wait_for_all();
  EXPECT_EQ(done_, "12ab");
}

TEST_F(BlockingActorTest, QuiescingWaitsForThePieceThatRuns) {
  work_->quiesce();  // Without an actor.
  std::promise<void> begun;
  work_->add(Turn::Later, [&] {
    begun.set_value();
    gate_.get_future().wait();
    done_ += 'a';
  });
  begun.get_future().wait();
  std::thread opener{[this] { gate_.set_value(); }};
  work_->quiesce();
  EXPECT_EQ(done_, "a");
  opener.join();
}

TEST_F(BlockingActorTest, WorkThatWaitsIsAbandonedAndLaterWorkIsDone) {
  const BlockingActor actor = spawn_blocking_actor(actors_.system());
  const auto send = [&](Turn turn, std::function<void()> work) {
    caf::anon_send(actor, BlockingWorkMail{turn, std::move(work)});
  };
  send(Turn::Waited, [this] { gate_.get_future().wait(); });
  send(Turn::Waited, [this] { done_ += 'a'; });
  send(Turn::Later, [this] { done_ += 'b'; });
  caf::anon_send(actor, AbandonMail{});
  send(Turn::Later, [this] { done_ += 'c'; });
  gate_.set_value();
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  caf::scoped_actor{actors_.system()}->wait_for(actor);
  EXPECT_EQ(done_, "c");
}

TEST_F(BlockingActorTest, AnEndDoesAllThatCameBeforeAndAbandonsWhatComesAfter) {
  add_gate();
  add(Turn::Later, 'a');
  add(Turn::Waited, 'b');
  work_->end();
  add(Turn::Waited, 'c');
  gate_.set_value();
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.reason.has_value(); }));
  EXPECT_EQ(done_, "ba");
  EXPECT_TRUE(heard_.of_the_work);
  work_->quiesce();
}

TEST_F(BlockingActorTest, TheOwnerHearsThatAPieceHasThrown) {
  work_->add(Turn::Later, [] {
    throw std::bad_alloc{};  // tidy: allow call: a library's exception
  });
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.reason.has_value(); }));
  EXPECT_NE(heard_.reason->find("bad_alloc"), std::string::npos) << *heard_.reason;
  EXPECT_TRUE(heard_.of_the_work);
  add(Turn::Later, 'a');
  work_->quiesce();  // Answered although there is no actor any more.
  EXPECT_EQ(done_, "");
}

}  // namespace
}  // namespace penstock::worker
