#include "supervisor/core/results.hpp"

#include <gtest/gtest.h>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

// A client that had been told of no output took what was released, or was never kept, for empty.
TEST(Results, WhoWasToldOfNoOutputLearnsWhetherItIsKept) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build());
  const auto missing = [&](std::vector<std::string> arguments) {
    const Result<Value> answer = cluster.ask("kept", std::move(arguments));
    EXPECT_TRUE(answer.has_value());
    return answer.has_value() ? (*answer)["missing"] : Value{"refused"};
  };
  EXPECT_EQ(missing({"1", "0", "1-1"}), Value{});
  EXPECT_EQ(missing({"1", "0", "0-0", "1-1"}), Value{0}) << "the other reads it";
  EXPECT_EQ(missing({"1", "1", "1-1"}), Value{1}) << "it makes one output";
  EXPECT_EQ(cluster.ask("kept", {"1", "0", "1-1", "1-1"}).error().code, ErrorCode::InvalidArgument) << "not ascending";
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 30}});
  cluster.succeed(1, 1, {{0, 30}});
  EXPECT_EQ(missing({"1", "0", "1-1"}), Value{});
  cluster.client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(missing({"1", "0", "1-1"}), Value{1});
  cluster.client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(missing({"1", "0", "1-1"}), Value{1}) << "still";
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"1"}, {"1", "x"}, {"1", "0", "2-2"}, {"1", "0", "1-0"}, {"1", "0", "1"}})
    EXPECT_EQ(cluster.ask("kept", bad).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.ask("kept", {"2", "0"}).error().code, ErrorCode::NotFound);
  cluster.ignore();
}

TEST(Results, AJobWhoseOutputsAreAllEmptyHasThem) {
  SupervisorHarness cluster;
  cluster.join();
  for (const Keep keep : {Keep::Sinks, Keep::Nothing}) {
    JobSpec spec;
    spec.keep = keep;
    cluster.submit(GraphBuilder{}.add().build(), spec);
  }
  cluster.assigned();
  for (const std::uint32_t job : {1U, 2U}) cluster.succeed(1, 0, {}, job);
  EXPECT_EQ((*cluster.ask("kept", {"1", "0", "0-0"}))["missing"], Value{});
  EXPECT_EQ((*cluster.ask("kept", {"2", "0", "0-0"}))["missing"], Value{0});
  cluster.client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ((*cluster.ask("kept", {"1", "0", "0-0"}))["missing"], Value{}) << "nothing of it is gone";
  cluster.ignore();
}

TEST(Results, AreListedWithTheirKeysAndHolders) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).keys({"left", "right"}).build(), {.name = "two"});
  cluster.assigned();
  cluster.succeed(1, 1, {{0, 30}});
  const Result<Value> running = cluster.ask("results", {"two"});
  ASSERT_TRUE(running.has_value());
  EXPECT_EQ((*running)["state"], Value{"running"});
  ASSERT_EQ((*running)["results"].list()->size(), 1U);
  const Value row = (*running)["results"].list()->front();
  EXPECT_EQ(row["key"], Value{"right"});
  EXPECT_EQ(row["subtask"], Value{1});
  EXPECT_EQ(row["output"], Value{0});
  EXPECT_EQ(row["bytes"], Value{30});
  EXPECT_EQ(cluster.ask("results", {"two", "left"}).error().code, ErrorCode::WrongState);
  EXPECT_EQ(cluster.ask("results", {"two", "middle"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.ask("results", {"two", "right", "--output=1"}).error().code, ErrorCode::NotFound) << "it makes one";
  EXPECT_EQ(cluster.ask("results", {"two", "right", "--output=-1"}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.ask("results", {"two", "--limit=x"}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.ask("results", {"three"}).error().code, ErrorCode::NotFound);
  cluster.succeed(1, 0, {{0, 40}});
  const Result<Value> one = cluster.ask("results", {"two", "left"});
  ASSERT_TRUE(one.has_value());
  ASSERT_EQ((*one)["results"].list()->size(), 1U);
  EXPECT_EQ((*one)["results"].list()->front()["bytes"], Value{40});
  const Result<Value> first = cluster.ask("results", {"two", "--limit=1"});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)["results"].list()->front()["key"], Value{"left"}) << "in the order of the graph";
  EXPECT_EQ((*first)["more"], Value{1});
  cluster.client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ((*cluster.ask("results", {"two"}))["results"].list()->size(), 0U);
  EXPECT_EQ(cluster.ask("results", {"two", "0"}).error().code, ErrorCode::NotFound) << "released";
  cluster.ignore();
}

TEST(Results, WhatOnlySubtasksReadIsNotForClients) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.chain(2).build());
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 30}});
  EXPECT_EQ(cluster.ask("results", {"1", "0"}).error().code, ErrorCode::NotFound);
  cluster.succeed(1, 1, {});
  EXPECT_EQ((*cluster.ask("results", {"1", "1"}))["results"].list()->size(), 0U) << "it is empty";
  cluster.ignore();
}

TEST(Results, WhatWasMadeAgainIsListedOnceAsItIsNow) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(3).build());
  cluster.assigned();
  cluster.succeed(1, 1, {{0, 30}});
  cluster.lose(1);
  cluster.join();
  cluster.assigned();
  cluster.succeed(2, 2, {{0, 60}});
  cluster.succeed(2, 1, {{0, 50}});
  const Result<Value> again = cluster.ask("results", {"1", "--limit=1"});
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ((*again)["results"].list()->size(), 1U);
  EXPECT_EQ((*again)["results"].list()->front()["bytes"], Value{50});
  EXPECT_EQ((*again)["more"], Value{1});
  EXPECT_EQ((*cluster.ask("results", {"1", "--limit=0"}))["results"].list()->size(), 0U);
  cluster.ignore();
}

TEST(Results, NoMoreAreListedThanFitIntoAFrame) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(kResultRowsMax + 1).build());
  // Assigned in batches, in the order of the graph.
  for (std::uint32_t next = 0; next <= kResultRowsMax;)
    for (std::size_t left = cluster.assigned().size(); left > 0; --left) cluster.succeed(1, next++, {{0, 1}});
  const Result<Value> all = cluster.ask("results", {"1", "--limit=99999"});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ((*all)["results"].list()->size(), kResultRowsMax);
  EXPECT_EQ((*all)["more"], Value{1});
  cluster.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
