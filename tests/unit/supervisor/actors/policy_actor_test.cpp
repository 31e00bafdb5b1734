#include "supervisor/actors/policy_actor.hpp"

#include <gtest/gtest.h>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <future>
#include <new>
#include <vector>

#include "common/loop/actor_host.hpp"
#include "supervisor/core/policy_pass.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::supervisor {
namespace {

supervisor_action::RunPass order(std::uint64_t number, const std::string& preset) {
  supervisor_action::RunPass pass;
  pass.number = number;
  pass.parts = {policy::preset(preset).value()};
  pass.snapshot.bands = {{.name = "w1/0", .slots = 2}};
  pass.snapshot.workloads = {{.name = "job-1"}};
  pass.snapshot.members = {{.name = "job-1.0", .slots = 1}};
  return pass;
}

struct Heard {
  std::vector<supervisor_event::PassEnded> ended;
  bool down = false;
};

/// Orders passes 1, 2, ... up to `passes` at once.
caf::behavior owner_behavior(caf::event_based_actor* self, Pass pass, std::uint64_t passes, PolicyActor* policy,
                             Heard* heard) {
  *policy = spawn_policy(*self, pass);
  self->set_down_handler([heard](const caf::down_msg&) { heard->down = true; });
  for (std::uint64_t number = 1; number <= passes; ++number)
    self->request(*policy, caf::infinite, order(number, "fair_share"))
        .then([heard](const PassMail& mail) { heard->ended.push_back(*mail.ended); }, [](const caf::error&) {});
  return {[](int) {}};
}

class PolicyActorTest : public testing::Test {
 protected:
  ~PolicyActorTest() override {
    caf::anon_send_exit(policy_, caf::exit_reason::user_shutdown);
    end_actor(owner_);
  }
  void order_passes(Pass pass, std::uint64_t passes) {
    owner_ = actors_.system().spawn(owner_behavior, pass, passes, &policy_, &heard_);
  }

  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  Heard heard_;
  PolicyActor policy_;
  caf::actor owner_;
};

TEST_F(PolicyActorTest, AnswersAnOrderWithItsPlan) {
  order_passes(&run_pass, 1);
  ASSERT_TRUE(turn_until(loop_, [&] { return !heard_.ended.empty(); }));
  EXPECT_EQ(heard_.ended[0].number, 1U);
  EXPECT_EQ(heard_.ended[0].failure, "");
  EXPECT_EQ(heard_.ended[0].plan.starts.size(), 1U);
}

std::promise<void> first_may_end;

TEST_F(PolicyActorTest, OfThePassesThatWaitOnlyTheNewestIsRun) {
  order_passes(
      [](supervisor_action::RunPass pass) {
        if (pass.number == 1) first_may_end.get_future().wait();
        return run_pass(pass);
      },
      4);
  loop_.turn();
  first_may_end.set_value();
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.ended.size() == 4; }));
  const auto planned = [&](std::size_t at) { return heard_.ended[at].plan.starts.size(); };
  EXPECT_EQ(planned(1), 0U);
  EXPECT_EQ(heard_.ended[1].failure, "a newer pass was ordered");
  EXPECT_EQ(planned(2), 0U);
  EXPECT_EQ(planned(3), 1U);
}

supervisor_event::PassEnded no_memory(supervisor_action::RunPass) {
  throw std::bad_alloc{};  // tidy: allow call: a library's exception
}

TEST_F(PolicyActorTest, AStandardExceptionIsTheFailureOfItsPass) {
  order_passes(no_memory, 1);
  ASSERT_TRUE(turn_until(loop_, [&] { return !heard_.ended.empty(); }));
  EXPECT_EQ(heard_.ended[0].failure, std::bad_alloc{}.what());
  EXPECT_FALSE(heard_.down);
}

supervisor_event::PassEnded no_standard_exception(supervisor_action::RunPass) {
  throw 1;  // tidy: allow call: a library's exception
}

TEST_F(PolicyActorTest, AnyOtherExceptionIsItsEndAndItsOwnerHearsOfIt) {
  order_passes(no_standard_exception, 1);
  EXPECT_TRUE(turn_until(loop_, [&] { return heard_.down; }));
  EXPECT_TRUE(heard_.ended.empty());
}

}  // namespace
}  // namespace penstock::supervisor
