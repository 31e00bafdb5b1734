// How users of a pool write the priorities of jobs, and that all of them are told the same numbers.
#include "supervisor/core/priority_scale.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

PriorityScale ranked() { return PriorityScale{{.name = "p", .priorities = "1-99", .default_priority = 50}}; }

TEST(PriorityScale, WithoutRanksNumbersStayWhatTheyAre) {
  EXPECT_EQ(*PriorityScale{}.inside(7), 7);
  EXPECT_EQ(*PriorityScale{}.inside_of_new(0), 0);
  EXPECT_EQ(PriorityScale{}.written(-7), -7);
}

TEST(PriorityScale, SmallerRanksAreLargerInside) {
  EXPECT_GT(*ranked().inside(1), *ranked().inside(2));
  EXPECT_GT(*ranked().inside(98), *ranked().inside(99));
  for (const std::int32_t rank : {1, 42, 99}) EXPECT_EQ(ranked().written(*ranked().inside(rank)), rank);
}

TEST(PriorityScale, WhoSaysNoneHasTheDefaultAndOthersAreRefused) {
  EXPECT_EQ(ranked().written(*ranked().inside_of_new(0)), 50);
  for (const std::int32_t rank : {-1, 0, 100}) EXPECT_FALSE(ranked().inside(rank).has_value()) << rank;
  EXPECT_FALSE(ranked().inside_of_new(-1).has_value());
  EXPECT_FALSE(ranked().inside_of_new(100).has_value());
}

TEST(PriorityScale, NothingInsideIsTooSmallToBeWritten) {
  EXPECT_EQ(ranked().written(std::numeric_limits<std::int32_t>::min()), std::numeric_limits<std::int32_t>::max());
}

TEST(PriorityScale, AJobOfAnotherScaleIsAsFarFromWhatStandsForNone) {
  const auto rank = [](std::int32_t number) { return ranked().written(ranked().taken_over(number, {})); };
  EXPECT_EQ(rank(0), 50);
  EXPECT_EQ(rank(8), 42);
  EXPECT_EQ(rank(-49), 99);
  EXPECT_EQ(rank(std::numeric_limits<std::int32_t>::max()), 1);
  EXPECT_EQ(rank(std::numeric_limits<std::int32_t>::min()), 99);
  for (const std::int32_t number : {-49, 0, 3, 49})
    EXPECT_EQ(PriorityScale{}.taken_over(ranked().taken_over(number, {}), ranked()), number);
  const PriorityScale other{{.name = "o", .priorities = "1-99", .default_priority = 42}};
  EXPECT_EQ(other.taken_over(-7, ranked()), -7);
}

TEST(PriorityScale, ItIsWrittenDownAndWhatAnOlderVersionHasNotWrittenIsGuessed) {
  for (const PriorityScale& scale : {PriorityScale{}, ranked()})
    EXPECT_EQ(PriorityScale::of_code(scale.code(), 5, PriorityScale{}), scale);
  EXPECT_EQ(PriorityScale::of_code(0, -7, ranked()), ranked());
  EXPECT_EQ(PriorityScale::of_code(0, 0, ranked()), PriorityScale{}) << "no rank";
  EXPECT_EQ(PriorityScale::of_code(0, -7, {}), PriorityScale{});
}

/// Two jobs of one slot each on one slot, in a pool with the priorities of Determined.
class RankedPool : public testing::Test {
 protected:
  RankedPool() : supervisor(config()) { supervisor.join({.slots = 1}); }
  ~RankedPool() override { supervisor.ignore(); }

  static SupervisorConfig config() {
    SupervisorConfig made = policed("priority");
    made.policy.pools[0].priorities = "1-99";
    return made;
  }
  JobId submit(std::int32_t priority) {
    JobSpec spec;
    spec.priority = priority;
    return supervisor.submit(GraphBuilder{}.sources(4).build(), spec);
  }
  void read(const std::string& priorities) {
    PolicyConfig read = config().policy;
    read.pools[0].priorities = priorities;
    supervisor.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, read});
  }
  std::string first_in_the_queue() {
    const Result<Value> queue = supervisor.ask("queue");
    return *(*queue->list())[0]["job"].text();
  }

  PolicedSupervisor supervisor;
};

// Spec: policy-determined 5.1.
TEST_F(RankedPool, SmallerGoesFirstAndIsToldAsItWasWritten) {
  submit(60), submit(0), submit(3);
  supervisor.settle(3);
  EXPECT_EQ(first_in_the_queue(), "job-3");
  const Result<Value> queue = supervisor.ask("queue");
  EXPECT_EQ((*queue->list())[1]["priority"], Value{42});
  EXPECT_EQ((*queue->list())[2]["priority"], Value{60});
  EXPECT_EQ((*supervisor.ask("job", {"job-3"}))["priority"], Value{3});
  EXPECT_NE(supervisor.ask("explain", {"job-1"})->record(), nullptr);
}

TEST_F(RankedPool, OrdersAreInRanks) {
  submit(10), submit(20);
  const Result<Value> answer = supervisor.ask("set", {"priority", "job-2", "5"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["priority"], Value{5});
  supervisor.settle(3);
  EXPECT_EQ(first_in_the_queue(), "job-2");
  ASSERT_TRUE(supervisor.ask("move", {"job-1", "ahead-of", "job-2"}).has_value());
  EXPECT_EQ((*supervisor.ask("job", {"job-1"}))["priority"], Value{5});
}

TEST_F(RankedPool, WhatIsOutOfRangeIsRefusedAndChangesNothing) {
  EXPECT_FALSE(submit(100).valid());
  EXPECT_NE(to_string(supervisor.refusal()).find("1 to 99"), std::string::npos);
  EXPECT_FALSE(submit(-1).valid());
  const JobId job = submit(10);
  for (const char* rank : {"0", "100", "-5"})
    EXPECT_FALSE(supervisor.ask("set", {"priority", to_string(job), rank}).has_value()) << rank;
  EXPECT_EQ((*supervisor.ask("job", {to_string(job)}))["priority"], Value{10});
}

// Found by a reviewer: jobs that were there had the better of all that came.
TEST_F(RankedPool, WhoIsThereKeepsItsPlaceWhenPrioritiesAreWrittenDifferently) {
  read("any");
  const JobId usual = submit(0);
  const JobId better = submit(5);
  const JobId worse = submit(-1000);
  read("1-99");
  supervisor.settle(3);
  const auto told = [&](JobId job) { return (*supervisor.ask("job", {to_string(job)}))["priority"]; };
  EXPECT_EQ(told(usual), Value{42});
  EXPECT_EQ(told(better), Value{37});
  EXPECT_EQ(told(worse), Value{99});
  const JobId best = submit(36);
  supervisor.settle(3);
  EXPECT_EQ(first_in_the_queue(), to_string(best));
  read("any");
  EXPECT_EQ(told(usual), Value{0});
  EXPECT_EQ(told(better), Value{5});
  EXPECT_EQ(told(best), Value{6});
  EXPECT_EQ(told(worse), Value{-57}) << "99 was the last";
  const JobId next = submit(1);
  supervisor.settle(3);
  const Result<Value> queue = supervisor.ask("queue");
  std::vector<std::string> order;
  for (const Value& row : *queue->list()) order.push_back(*row["job"].text());
  EXPECT_EQ(order, (std::vector<std::string>{to_string(best), to_string(better), to_string(next), to_string(usual),
                                             to_string(worse)}));
}

TEST_F(RankedPool, JobsOfSeveralPoolsAreListedByWhatTheyAreNow) {
  SupervisorConfig two = config();
  two.policy.pools[0].workers = {"x"};
  two.policy.pools.push_back({.name = "rest", .preset = "priority"});
  PolicedSupervisor other{two};
  JobSpec spec;
  spec.wait_for_resources = true;
  spec.priority = -10;
  const JobId rest = other.submit(GraphBuilder{}.sources(1).build(), spec);
  spec.priority = 42;
  spec.policy.pools = {two.policy.pools[0].name};
  const JobId ranked = other.submit(GraphBuilder{}.sources(1).build(), spec);
  const auto first = [&] { return (*other.ask("jobs")->list())[0]["id"]; };
  ASSERT_EQ(first(), Value{to_string(rest)});
  two.policy.pools[0].priorities = "any";
  other.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, two.policy});
  EXPECT_EQ(first(), Value{to_string(ranked)}) << "0 now";
  other.ignore();
}

TEST_F(RankedPool, WorkersAreToldOfAPriorityThatIsWrittenDifferently) {
  const JobId job = submit(10);
  supervisor.settle(3);
  supervisor.take<PriorityBatch>();
  read("any");
  const auto told = supervisor.take<PriorityBatch>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].second.job, job);
  EXPECT_EQ(told[0].second.job_priority, 32);
}

TEST_F(RankedPool, AnEndedJobIsToldAsItWasWritten) {
  const JobId job = submit(10);
  supervisor.settle(3);
  for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor.succeed(1, subtask);
  ASSERT_EQ(supervisor.state(), JobState::Succeeded);
  read("any");
  EXPECT_EQ((*supervisor.ask("job", {to_string(job)}))["priority"], Value{10});
}

TEST_F(RankedPool, AJobMayNotListPoolsThatWriteThemDifferently) {
  SupervisorConfig mixed = config();
  mixed.policy.pools.push_back({.name = "other", .preset = "priority", .workers = {"x"}});
  PolicedSupervisor other{mixed};
  other.join({.slots = 1});
  JobSpec spec;
  spec.policy.pools = {mixed.policy.pools[0].name, "other"};
  EXPECT_FALSE(other.submit(GraphBuilder{}.sources(1).build(), spec).valid());
  EXPECT_NE(to_string(other.refusal()).find("written differently"), std::string::npos);
  other.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
