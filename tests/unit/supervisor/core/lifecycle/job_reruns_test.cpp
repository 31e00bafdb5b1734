#include "supervisor/core/lifecycle/job_reruns.hpp"

#include <gtest/gtest.h>

#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  spec.owner = "ada";
  return spec;
}

constexpr std::int64_t kBytes = 100;

/// Three subtasks with results: `b` fails, so that `a` alone has succeeded when the job ends.
Graph three() {
  GraphBuilder builder;
  builder.template_at(0).attempts_max = 1;
  builder.template_at(0).on_failure = OnFailure::Continue;
  return builder.sources(3).keys({"a", "b", "c"}).build();
}

void fail_second(SupervisorHarness& cluster, std::uint32_t job = 1) {
  cluster.assigned();
  cluster.succeed(1, 0, {{0, kBytes}}, job);
  cluster.fail(1, 1, FailureClass::UserError, job);
  cluster.succeed(1, 2, {{0, kBytes}}, job);
  EXPECT_EQ(cluster.state(job), JobState::Failed);
}

std::string code_of(const Result<Value>& answer) {
  return answer ? "done" : std::string{to_string(answer.error().code)};
}

TEST(Rerun, ARunOfAllIsANewJobOfTheSameNameThatRemembersTheFormerOnes) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  const Result<Value> answer = cluster.ask("rerun", {"nightly"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["job"], Value{"job-2"});
  EXPECT_EQ((*answer)["name"], Value{"nightly"});
  EXPECT_EQ((*answer)["run"], Value{std::uint32_t{2}});
  EXPECT_EQ((*answer)["after"], Value{"job-1"});
  EXPECT_EQ(cluster.assigned(), (Lines{"2:0 to w1", "2:1 to w1", "2:2 to w1"}));
  fail_second(cluster, 2);
  ASSERT_TRUE(cluster.ask("rerun", {"nightly"}).has_value());
  const Value job = *cluster.ask("job", {"nightly"});
  EXPECT_EQ(job["id"], Value{"job-3"});
  EXPECT_EQ(job["run"], Value{std::uint32_t{3}});
  const Value::List* runs = job["earlier_runs"].list();
  ASSERT_NE(runs, nullptr);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0]["run"], Value{std::uint64_t{1}});
  EXPECT_EQ((*runs)[0]["job"], Value{"job-1"});
  EXPECT_EQ((*runs)[1]["job"], Value{"job-2"});
  EXPECT_EQ((*runs)[1]["state"], Value{"failed"});
  cluster.ignore();
}

TEST(Rerun, WhatHasFailedRunsAgainAndResultsThatAreKeptAreTakenOver) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  const Result<Value> answer = cluster.ask("rerun", {"nightly", "--failed"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["again"], Value{std::uint64_t{1}});
  EXPECT_EQ((*answer)["taken"], Value{std::uint64_t{2}});
  EXPECT_EQ(cluster.job(2).graph.shape->external_inputs().size(), 2U);
  EXPECT_EQ(cluster.job(1).outputs.borrowed->size(), 2U) << "the former run keeps them meanwhile";
  cluster.assigned();
  for (const std::uint32_t subtask : {0U, 1U, 2U}) cluster.succeed(1, subtask, {{0, kBytes}}, 2);
  EXPECT_EQ(cluster.state(2), JobState::Succeeded);
  EXPECT_EQ(cluster.job(2).outputs.locations.size(), 3U) << "the run has the results of the whole";
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly", "--failed"})), "WrongState") << "nothing has failed";
  EXPECT_EQ((*cluster.ask("rerun", {"nightly"}))["subtasks"], Value{std::uint64_t{3}});
  EXPECT_EQ(cluster.job(3).graph.shape->external_inputs().size(), 0U) << "all of it means the whole graph";
  cluster.ignore();
}

TEST(Rerun, AResultWithoutAWorkerThatHasItIsNotTakenOver) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  cluster.lose(1);
  cluster.join({.slots = 3});
  const Result<Value> answer = cluster.ask("rerun", {"nightly", "--failed"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["again"], Value{std::uint64_t{1}});
  EXPECT_EQ((*answer)["taken"], Value{std::uint64_t{0}});
  EXPECT_EQ((*answer)["left_out"], Value{std::uint64_t{2}});
  cluster.ignore();
}

TEST(Rerun, FromASubtaskOnThatOneRunsAgainWithAllThatFailed) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly", "--from=d"})), "NotFound");
  const Result<Value> answer = cluster.ask("rerun", {"nightly", "--from=a"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["again"], Value{std::uint64_t{2}});
  EXPECT_EQ((*answer)["taken"], Value{std::uint64_t{1}});
  cluster.ignore();
}

// The second run had borrowed `a`, and ran no program for it.
TEST(Rerun, FromASubtaskOnItsProgramRunsAlsoAfterARunThatHadTakenItOver) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  ASSERT_EQ(code_of(cluster.ask("rerun", {"nightly", "--failed"})), "done");
  cluster.assigned();
  for (const std::uint32_t subtask : {0U, 1U, 2U}) cluster.succeed(1, subtask, {{0, kBytes}}, 2);
  const Result<Value> answer = cluster.ask("rerun", {"nightly", "--from=a"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["again"], Value{std::uint64_t{1}});
  EXPECT_EQ((*answer)["taken"], Value{std::uint64_t{2}});
  EXPECT_EQ(cluster.job(3).graph.shape->template_of(0).program, "burn");
  EXPECT_EQ(cluster.job(3).spec.runs->whole, content_hash(three()));
  cluster.ignore();
}

TEST(Rerun, WhereOnlyThePartOfTheLastRunIsKnownThatRunsAgainAndNothingElse) {
  SupervisorConfig config;
  config.cached_graphs_max = 0;
  SupervisorHarness cluster{config};
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  ASSERT_EQ(code_of(cluster.ask("rerun", {"nightly", "--failed"})), "done");
  fail_second(cluster, 2);
  cluster.client_says(ReleaseJob{JobId{1}});
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "UnknownGraph");
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly", "--from=a"})), "UnknownGraph") << "its program was in the whole";
  ASSERT_EQ(code_of(cluster.ask("rerun", {"nightly", "--failed"})), "done");
  EXPECT_EQ(cluster.job(3).total(), 3U);
  cluster.ignore();
}

TEST(Rerun, WhatCannotRunAgainIsRefused) {
  SupervisorConfig config;
  config.cached_graphs_max = 0;
  SupervisorHarness cluster{config};
  cluster.join({.slots = 3});
  JobSpec spec = named("nightly");
  spec.keep = Keep::Nothing;
  cluster.submit(three(), spec);
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nothing"})), "NotFound");
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "WrongState") << "it runs";
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly", "--submission=x"})), "InvalidArgument");
  fail_second(cluster);
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "UnknownGraph") << "no graph is kept";
  EXPECT_EQ(cluster.core().counters().jobs_accepted, 1U);
  cluster.ignore();
}

TEST(Rerun, ARefusedRunLeavesNothingBehind) {
  SupervisorConfig config;
  config.users.jobs_max = 1;
  SupervisorHarness cluster{config};
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  cluster.submit(GraphBuilder{}.add().build(), named("other"));
  const std::uint64_t held = cluster.core().held_bytes();
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "LimitExceeded") << "as of any submission of its owner";
  EXPECT_EQ(cluster.core().held_bytes(), held);
  cluster.assigned();
  cluster.succeed(1, 0, {}, 2);
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "done");
  cluster.ignore();
}

TEST(Rerun, AnotherUsersJobDoesNotExist) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  cluster.viewer = {"bob", Viewer::Sees::Own};
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "NotFound");
  EXPECT_EQ(code_of(cluster.ask("rerun", {"job-1"})), "NotFound");
  cluster.viewer = {};
  ASSERT_EQ(code_of(cluster.ask("rerun", {"nightly"})), "done");
  EXPECT_EQ(cluster.job(2).spec.owner, "ada") << "an operator runs it for its owner";
  cluster.ignore();
}

TEST(Rerun, AnOrderThatIsGivenAgainAfterItsAnswerWasLostIsOneRun) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  const Result<Value> first = cluster.ask("rerun", {"nightly", "--submission=77"});
  const Result<Value> second = cluster.ask("rerun", {"nightly", "--submission=77"});
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ((*first)["job"], (*second)["job"]);
  EXPECT_EQ(code_of(cluster.ask("rerun", {"nightly", "--submission=78"})), "WrongState") << "another order";
  EXPECT_EQ(cluster.core().counters().jobs_accepted, 2U);
  cluster.ignore();
}

TEST(Rerun, AnEarlierRunIsRunAgainBehindTheNewest) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three(), named("nightly"));
  fail_second(cluster);
  JobSpec other = named("nightly");
  other.name_use = NameUse::Replace;
  cluster.submit(GraphBuilder{}.add().build(), other);
  EXPECT_EQ(code_of(cluster.ask("rerun", {"job-1"})), "WrongState") << "the newest job of the name runs";
  cluster.assigned();
  cluster.succeed(1, 0, {}, 2);
  ASSERT_EQ(code_of(cluster.ask("rerun", {"job-1"})), "done");
  EXPECT_EQ(cluster.job(3).total(), 3U);
  EXPECT_EQ(cluster.job(3).spec.runs->earlier.back().job, JobId{2});
  cluster.ignore();
}

TEST(Rerun, ANamelessJobRunsAgainUnderItsNewNumber) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3});
  cluster.submit(three());
  fail_second(cluster);
  ASSERT_EQ(code_of(cluster.ask("rerun", {"job-1"})), "done");
  EXPECT_EQ(cluster.job(2).spec.name, "job-2");
  EXPECT_EQ(cluster.job(2).spec.runs->number, 2U);
  cluster.ignore();
}

/// The answer comes when the order is on the disk.
AdminAnswer ordered(JournalHarness& cluster, const std::vector<std::string>& arguments) {
  cluster->client_says(AdminRequest{1, "rerun", arguments, "ada@desk"});
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  cluster.write_all();
  const std::vector<AdminAnswer> answers = cluster->take_for<AdminAnswer>();
  EXPECT_EQ(answers.size(), 1U);
  return answers.empty() ? AdminAnswer{} : answers.front();
}

TEST(Rerun, AFailedJobRunsAgainAfterARestart) {
  JournalHarness cluster;
  cluster->join({.slots = 3});
  cluster->submit(three(), named("nightly"));
  cluster.write_all();
  fail_second(cluster.life());
  cluster.write_all();
  cluster.restart();
  cluster->join({.slots = 3});
  cluster.write_all();
  const AdminAnswer answer = ordered(cluster, {"nightly", "--failed"});
  ASSERT_EQ(answer.refusal.message, "");
  EXPECT_EQ(answer.value["again"], Value{std::uint64_t{1}});
  cluster.restart();
  EXPECT_EQ(cluster->job(2).spec.runs->number, 2U);
  EXPECT_EQ(cluster->job(2).spec.content, cluster->job(1).spec.content);
  cluster->ignore();
}

TEST(Rerun, OfAJobThatSucceededTheGraphIsGoneAfterARestart) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.add().build(), named("nightly"));
  cluster.write_all();
  cluster->assigned();
  cluster->succeed(1, 0);
  cluster.write_all();
  cluster.restart();
  EXPECT_EQ(ordered(cluster, {"nightly"}).refusal.code, ErrorCode::UnknownGraph);
  JobSpec spec = named("nightly");
  spec.name_use = NameUse::Rerun;
  cluster->submit(GraphBuilder{}.add().build(), spec);
  cluster.write_all();
  EXPECT_EQ(cluster->job(2).spec.runs->number, 2U) << "who has the graph can send it";
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
