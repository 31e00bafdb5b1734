#include "common/loop/actor_host.hpp"

#include <gtest/gtest.h>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <new>
#include <optional>
#include <string>

#include "tests/support/turn_until.hpp"

namespace penstock {
namespace {

caf::behavior thrower_behavior(caf::event_based_actor* self, ActorFailure meaning) {
  take_failures(*self, meaning);
  return {[](int standard) {
    if (standard != 0) throw std::bad_alloc{};  // tidy: allow call: a library's exception
    throw 1;                                    // tidy: allow call: a library's exception
  }};
}

/// Owns a thrower, has it throw, and keeps the reason of its end.
caf::behavior owner_behavior(caf::event_based_actor* self, int standard, std::optional<std::string>* reason) {
  take_failures(*self, ActorFailure::EndsProcess);
  self->set_down_handler([self, reason](const caf::down_msg& down) { *reason = self->system().render(down.reason); });
  self->send(self->spawn<caf::monitored>(thrower_behavior, ActorFailure::EndsActor), standard);
  return {[](int) {}};
}

class ActorFailureTest : public testing::TestWithParam<int> {};

TEST_P(ActorFailureTest, AnOwnerHearsWhatItsActorHasThrown) {
  Loop loop{Duration{0}};
  ActorHost actors{loop};
  std::optional<std::string> reason;
  caf::actor owner = actors.system().spawn(owner_behavior, GetParam(), &reason);
  EXPECT_TRUE(turn_until(loop, [&] { return reason.has_value(); }));
  const std::string what = GetParam() != 0 ? std::bad_alloc{}.what() : "no standard exception";
  EXPECT_NE(reason.value_or("").find(what), std::string::npos) << reason.value_or("");
  end_actor(owner);
}

INSTANTIATE_TEST_SUITE_P(Exceptions, ActorFailureTest, testing::Values(0, 1));

TEST(ActorFailureDeathTest, AnActorThatNothingWorksWithoutNamesItsFailureAndAborts) {
  const auto fail = [] {
    Loop loop{Duration{0}};
    ActorHost actors{loop};
    caf::actor thrower = actors.system().spawn(thrower_behavior, ActorFailure::EndsProcess);
    caf::anon_send(thrower, 1);
    while (loop.turn()) {
    }
  };
  EXPECT_DEATH(fail(), "bad_alloc");
}

}  // namespace
}  // namespace penstock
