#include "supervisor/core/admin/data_answers.hpp"

#include <gtest/gtest.h>

#include "common/protocol/external_input.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

class DataAnswers : public ::testing::Test {
 protected:
  /// Two workers; job 1, of `ann`, has two chains of two subtasks. The client wants the first output and the last one.
  /// Worker 2 has a copy of the first.
  DataAnswers() {
    cluster.join({.slots = 4});
    ann.owner = "ann";
    JobSpec spec = ann;
    spec.keep = Keep::Wanted;
    Graph graph = GraphBuilder{}.add().add({0}).add().add({2}).keys({"a", "b", "c", "d"}).build();
    graph.wanted = {0, 3};
    cluster.submit(graph, spec);
    cluster.join({.slots = 4});
    cluster.succeed(1, 0, {{0, 100}});
    cluster.succeed(1, 2, {{0, 40}});
    cluster.report_replica(2, 0);
    cluster.ignore();
  }
  Value row(const std::string& by, const std::string& name, const std::string& job = "") {
    std::vector<std::string> arguments{"--by=" + by};
    if (!job.empty()) arguments.push_back("--job=" + job);
    const Result<Value> answer = cluster.ask("data", arguments);
    if (!answer || answer->list() == nullptr) return Value{"refused"};
    for (const Value& each : *answer->list())
      if (each[by] == Value{name}) return each;
    return Value{};
  }

  JobSpec ann;
  SupervisorHarness cluster;
};

TEST_F(DataAnswers, PlacesOfManySubtasksComeInTheirOrder) {
  const Result<Value> places = cluster.ask("places", {"1", "2", "a"});
  ASSERT_TRUE(places) << to_string(places.error());
  ASSERT_EQ(places->list()->size(), 2U);
  const Value& third = (*places->list())[0];
  const Value& first = (*places->list())[1];
  EXPECT_EQ(third["subtask"], Value{2});
  EXPECT_EQ(third["bytes"], Value{40});
  EXPECT_EQ(first["subtask"], Value{0});
  EXPECT_EQ(first["bytes"], Value{100});
  EXPECT_EQ(first["worker"], Value{"worker-1"});
  EXPECT_EQ(cluster.ask("places", {"1", "0", "9"}).error().code, ErrorCode::NotFound);
  EXPECT_TRUE(cluster.ask("places", {"1"})->list()->empty());
}

TEST_F(DataAnswers, EachByteIsCountedForTheFirstWhoHoldsIt) {
  const Value job = row("job", "job-1");
  EXPECT_EQ(job["outputs"], Value{2});
  EXPECT_EQ(job["bytes"], Value{240});
  EXPECT_EQ(job["for_client"], Value{100});
  EXPECT_EQ(job["for_subtasks"], Value{40});
  EXPECT_EQ(job["retained"], Value{0});
  EXPECT_EQ(job["copies"], Value{100});
  EXPECT_EQ(row("worker", "worker-2")["bytes"], Value{100});
  EXPECT_EQ(row("worker", "worker-1")["bytes"], Value{140});
  EXPECT_EQ(row("owner", "ann")["bytes"], Value{240});
  EXPECT_EQ(row("template", "template-0")["outputs"], Value{2});
  cluster.client_says(ReleaseOutputs{JobId{1}, {}, {{SubtaskIndex{0}, SubtaskIndex{0}}}});
  EXPECT_EQ(row("job", "job-1")["for_client"], Value{0});
  EXPECT_EQ(row("job", "job-1")["for_subtasks"], Value{140}) << "b has still to read it";
  cluster.ignore();
}

TEST_F(DataAnswers, WhatOtherJobsHaveStillToReadIsTheirs) {
  cluster.succeed(1, 3, {{0, 7}});
  cluster.ignore();
  GraphBuilder borrower;
  borrower.template_at(1).program = kAliasOperator;
  cluster.submit(
      borrower.add({}, 1).add({0}).payloads({external_datum_payload({{JobId{1}, SubtaskIndex{3}}, 0}), ""}).build(),
      ann);
  cluster.client_says(ReleaseOutputs{JobId{1}, {}, {{SubtaskIndex{3}, SubtaskIndex{3}}}});
  EXPECT_EQ(row("job", "job-1")["for_other_jobs"], Value{7});
  const Result<Value> why = cluster.ask("explain-data", {"1", "d"});
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ((*why)["state"], Value{"kept"});
  EXPECT_EQ((*why)["released"], Value{true});
  ASSERT_NE((*why)["for_other_jobs"].list(), nullptr);
  EXPECT_EQ((*why)["for_other_jobs"].list()->size(), 1U);
  cluster.ignore();
}

TEST_F(DataAnswers, ExplainSaysWhereAnOutputIsAndWhoHoldsIt) {
  const Result<Value> why = cluster.ask("explain-data", {"1", "a"});
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ((*why)["bytes"], Value{100});
  EXPECT_EQ((*why)["worker"], Value{"worker-1"});
  EXPECT_EQ((*why)["copies"], Value{Value::List{"worker-2"}});
  EXPECT_EQ((*why)["for_client"], Value{true});
  EXPECT_EQ((*why)["for_subtasks"], Value{Value::List{"b"}});
  EXPECT_EQ((*cluster.ask("explain-data", {"1", "b"}))["state"], Value{"not made yet"});
  cluster.succeed(1, 3, {{0, 0}});
  EXPECT_EQ((*cluster.ask("explain-data", {"1", "d"}))["state"], Value{"empty"});
  EXPECT_EQ((*cluster.ask("explain-data", {"1", "c"}))["state"], Value{"dropped, or lost"}) << "all have read it";
  cluster.ignore();
}

TEST_F(DataAnswers, WrongQuestionsAreRefusedByName) {
  EXPECT_EQ(cluster.ask("data", {"--by=colour"}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.ask("data", {"--limit=x"}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.ask("data", {"--job=77"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.ask("explain-data", {"77", "a"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.ask("explain-data", {"1", "zzz"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ((*cluster.ask("data", {"--limit=0"})).list()->size(), 0U);
}

}  // namespace
}  // namespace penstock::supervisor
