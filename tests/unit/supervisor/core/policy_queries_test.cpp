// SupervisorCore: what operators ask about policy, and what they change of it.
#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

class PolicyQueries : public testing::Test {
 protected:
  PolicyQueries() : supervisor(policed("fair_share_max_min", {{.name = "a"}, {.name = "b"}})) {
    supervisor.join({.slots = 4});
    for (const char* name : {"a", "b"}) {
      JobSpec spec;
      spec.name = std::string{"job of "} + name;
      spec.policy.project = name;
      supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
    }
    supervisor.settle(3);
  }
  ~PolicyQueries() override { supervisor.ignore(); }

  Value row(const std::string& command, std::size_t index) {
    const Result<Value> answer = supervisor.ask(command);
    EXPECT_TRUE(answer.has_value()) << to_string(answer.error());
    return answer.has_value() && index < answer->list()->size() ? (*answer->list())[index] : Value{};
  }
  std::string refused(const std::string& command, const std::vector<std::string>& words) {
    const Result<Value> answer = supervisor.ask(command, words);
    return answer.has_value() ? "done" : to_string(answer.error());
  }

  PolicedSupervisor supervisor;
};

TEST_F(PolicyQueries, PoolsProjectsAndTheQueueAreTold) {
  EXPECT_EQ(row("pools", 0)["slots"], Value{4});
  EXPECT_EQ(row("pools", 0)["entitled"], Value{4});
  EXPECT_EQ(row("pools", 0)["contended"], Value{true});
  EXPECT_EQ(row("projects", 1)["project"], Value{"b"});
  EXPECT_EQ(row("projects", 1)["slots"], Value{2});
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-1"});
  EXPECT_EQ(row("queue", 0)["position"], Value{1});
  EXPECT_EQ(row("queue", 1)["slots"], Value{2});
  EXPECT_NE(row("queue", 1)["held_by"].text()->find("fair share"), std::string::npos);
}

TEST_F(PolicyQueries, ExplainNamesTheRuleThatHoldsAJob) {
  const Result<Value> answer = supervisor.ask("explain", {"job-2"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ((*answer)["preset"], Value{"fair_share_max_min"});
  EXPECT_EQ((*answer)["slots_held"], Value{2});
  EXPECT_NE((*answer)["held_by"].text()->find("it holds 2 of the 2 slots of its share"), std::string::npos);
}

TEST_F(PolicyQueries, AWeightOrACapChangesWhatIsInForce) {
  EXPECT_EQ(refused("set", {"weight", "job-1", "3"}), "done");
  supervisor.settle(3);
  EXPECT_EQ(supervisor.job(1).spec.policy.weight, 3000U);
  EXPECT_EQ(refused("set", {"cap", "job-2", "1"}), "done");
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:3"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:1"});
  EXPECT_EQ(refused("set", {"cap", "job-2", "none"}), "done");
  EXPECT_EQ(supervisor.job(2).spec.policy.slots_max, 0U);
}

TEST_F(PolicyQueries, WrongOrdersAreRefusedAndChangeNothing) {
  EXPECT_NE(refused("set", {"weight", "job-1", "-1"}).find("no number from 0.001"), std::string::npos);
  EXPECT_NE(refused("set", {"weight", "job-1", "nan"}).find("no number from 0.001"), std::string::npos);
  EXPECT_NE(refused("set", {"cap", "job-1", "0"}).find("no number of slots"), std::string::npos);
  EXPECT_NE(refused("set", {"weight", "job-7", "1"}).find("job 'job-7'"), std::string::npos);
  EXPECT_NE(refused("set", {"colour", "job-1", "1"}).find("no such setting"), std::string::npos);
  EXPECT_NE(refused("set", {"quota", "c", "1"}).find("project 'c'"), std::string::npos);
  EXPECT_NE(refused("set", {"quota", "a", "-3"}).find("guaranteed_slots is negative"), std::string::npos);
  EXPECT_NE(refused("move", {"job-1", "beside", "job-2"}).find("ahead-of|behind"), std::string::npos);
  EXPECT_NE(refused("move", {"job-1", "behind", "job-1"}).find("cannot pass itself"), std::string::npos);
  EXPECT_EQ(refused("set", {"quota", "a", "3"}), "done");
  EXPECT_EQ(row("projects", 0)["guaranteed_slots"], Value{3});
}

TEST_F(PolicyQueries, AJobMovesAheadOfAnother) {
  EXPECT_EQ(refused("move", {"job-2", "ahead-of", "job-1"}), "done");
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-2"});
  EXPECT_EQ(refused("move", {"job-2", "behind", "job-1"}), "done");
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-1"});
}

TEST(PolicyGangs, NeitherAJobNorAnOperatorCapsThemBelowTheirSize) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 4});
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 4;
  spec.policy.slots_max = 3;
  EXPECT_FALSE(supervisor.submit(GraphBuilder{}.sources(4).build(), spec).valid());
  EXPECT_EQ(supervisor.refusal().code, ErrorCode::InvalidArgument);
  spec.policy.slots_max = 0;
  EXPECT_TRUE(supervisor.submit(GraphBuilder{}.sources(4).build(), spec).valid());
  const Result<Value> capped = supervisor.ask("set", {"cap", "gang", "3"});
  ASSERT_FALSE(capped.has_value());
  EXPECT_NE(to_string(capped.error()).find("gang of 4"), std::string::npos);
  EXPECT_TRUE(supervisor.ask("set", {"cap", "gang", "4"}).has_value());
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
