// SupervisorCore: questions and orders of operators.
#include <gtest/gtest.h>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

const Value& row(const Result<Value>& table, std::size_t position) {
  static const Value nothing;
  const Value::List* rows = table.has_value() ? table->list() : nullptr;
  EXPECT_TRUE(rows != nullptr && position < rows->size());
  return rows != nullptr && position < rows->size() ? (*rows)[position] : nothing;
}

std::size_t count(const Result<Value>& table) {
  return table.has_value() && table->list() != nullptr ? table->list()->size() : 0;
}

TEST(Queries, JobsAreListedBestFirstAndEndedOnesOnDemand) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build(), {.name = "low", .owner = "ada"});
  cluster.submit(GraphBuilder{}.add().build(), {.name = "high", .priority = 3});
  cluster.assigned();
  const Result<Value> running = cluster.ask("jobs");
  ASSERT_EQ(count(running), 2U);
  EXPECT_EQ(row(running, 0)["name"], Value{"high"});
  EXPECT_EQ(row(running, 0)["priority"], Value{3});
  EXPECT_EQ(row(running, 1)["owner"], Value{"ada"});
  EXPECT_EQ(row(running, 1)["subtasks"], Value{2});
  EXPECT_EQ(row(running, 1)["assigned"], Value{2});
  cluster.succeed(1, 0, {}, 2);
  EXPECT_EQ(count(cluster.ask("jobs")), 1U);
  const Result<Value> all = cluster.ask("jobs", {"--all"});
  ASSERT_EQ(count(all), 2U);
  EXPECT_EQ(row(all, 1)["state"], Value{"succeeded"});
}

TEST(Queries, WhatIsCountedIsShown) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(3).build());
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.lose(1);
  cluster.ignore();
  const Result<Value> counters = cluster.ask("counters");
  ASSERT_TRUE(counters.has_value());
  EXPECT_EQ((*counters)["jobs_accepted"], Value{1});
  EXPECT_EQ((*counters)["attempts_assigned"], Value{3});
  EXPECT_EQ((*counters)["attempts_succeeded"], Value{1});
  EXPECT_EQ((*counters)["workers_lost"], Value{1});
}

TEST(Queries, AJobIsFoundByNumberOrName) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build(), {.name = "nightly"});
  cluster.assigned();
  for (const char* text : {"job-1", "1", "nightly"}) {
    const Result<Value> job = cluster.ask("job", {text});
    ASSERT_TRUE(job.has_value()) << text;
    EXPECT_EQ((*job)["id"], Value{"job-1"});
  }
  for (const char* text : {"job-2", "0", "", "night", "4294967295", "99999999999999999999"})
    EXPECT_EQ(cluster.ask("job", {text}).error().code, ErrorCode::NotFound) << text;
  EXPECT_EQ(cluster.ask("job").error().code, ErrorCode::NotFound);
}

TEST(Queries, AFailedJobTellsTheHistory) {
  SupervisorConfig config;
  config.attempts_max = 1;
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(GraphBuilder{}.add().keys({"load"}).build());
  cluster.assigned();
  FailureDetail detail;
  detail.failure = FailureClass::UserError;
  detail.exit_code = 3;
  detail.message = "exit code 3";
  detail.output_tail = "no such file";
  cluster.fail(1, 0, detail);
  cluster.cancels();
  const Result<Value> job = cluster.ask("job", {"1"});
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ((*job)["state"], Value{"failed"});
  EXPECT_FALSE((*job)["error"].is_null());
  ASSERT_NE((*job)["failures"].list(), nullptr);
  const Value& failure = (*job)["failures"].list()->front();
  EXPECT_EQ(failure["key"], Value{"load"});
  EXPECT_EQ(failure["class"], Value{"user error"});
  EXPECT_EQ(failure["exit_code"], Value{3});
  EXPECT_EQ(failure["output_tail"], Value{"no such file"});
  ASSERT_EQ(failure["history"].list()->size(), 1U);
}

TEST(Queries, CountersOfAWorkerAreThoseThatItHasSaidLast) {
  SupervisorHarness cluster;
  cluster.join({});
  WorkerCounters counted;
  counted.forward_misses[static_cast<std::size_t>(ForwardResult::InputSpilled)] = 3;
  counted.demoted = 4;
  counted.exclusive = 5;
  for (std::uint64_t number = 1; number <= 2; ++number) {
    ReportBatch batch;
    batch.number = number;
    if (number == 1) batch.counters.edit() = counted;  // A report without loads says nothing of them.
    cluster.worker_says(1, batch);
  }
  const Result<Value> answer = cluster.ask("counters", {"worker-1"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ((*answer)["forward_misses_input_spilled"], Value{3});
  EXPECT_EQ((*answer)["forward_misses_input_remote"], Value{0});
  EXPECT_EQ((*answer)["subtasks_demoted"], Value{4});
  EXPECT_EQ((*answer)["memory_grants_exclusive"], Value{5});
  EXPECT_EQ(cluster.ask("counters", {"nobody"}).error().code, ErrorCode::NotFound);
  EXPECT_NE((*cluster.ask("counters"))["watchdog_alerts"], Value{}) << "those of the supervisor";
}

TEST(Queries, WorkersBandsAndQueuesAreTables) {
  SupervisorHarness cluster;
  cluster.join({.slots = 3, .bands = 2, .gpus = 1});
  cluster.submit(GraphBuilder{}.sources(10).build());
  cluster.assigned();
  BandLoad load;
  load.band = BandIndex{1};
  load.running = 3;
  load.queued = 2;
  cluster.report_load(1, load);
  const Result<Value> workers = cluster.ask("workers");
  ASSERT_EQ(count(workers), 1U);
  EXPECT_EQ(row(workers, 0)["name"], Value{"worker-1"});
  EXPECT_EQ(row(workers, 0)["slots"], Value{9});
  EXPECT_EQ(row(workers, 0)["running"], Value{3});
  EXPECT_EQ(row(workers, 0)["assigned"], Value{10});
  EXPECT_EQ(row(workers, 0)["state"], Value{"ready"});
  const Result<Value> bands = cluster.ask("bands");
  ASSERT_EQ(count(bands), 3U);
  EXPECT_EQ(row(bands, 2)["kind"], Value{"gpu"});
  EXPECT_EQ(row(bands, 2)["name"], Value{"gpu-0"});
  const Result<Value> queues = cluster.ask("queues");
  ASSERT_EQ(count(queues), 3U);
  EXPECT_EQ(row(queues, 1)["queued"], Value{2});
  EXPECT_EQ(row(queues, 1)["running"], Value{3});
  cluster.lose(1);
  cluster.alerts();
  for (const char* command : {"workers", "bands", "queues"}) EXPECT_EQ(count(cluster.ask(command)), 0U) << command;
}

TEST(Queries, WordsForCompletionAreJobsOrWorkers) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build(), {.name = "nightly"});
  cluster.assigned();
  EXPECT_EQ(*cluster.ask("words", {"jobs"}), (Value{Value::List{"job-1", "nightly"}}));
  EXPECT_EQ(*cluster.ask("words", {"workers"}), (Value{Value::List{"worker-1"}}));
}

TEST(Queries, BadPrioritiesChangeNothing) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.add().build());
  cluster.assigned();
  for (const char* text : {"", "x", "1.5", "99999999999", "3 "})
    EXPECT_EQ(cluster.ask("priority", {"1", text}).error().code, ErrorCode::InvalidArgument) << text;
  EXPECT_EQ(cluster.ask("priority", {"1", "2", "--subtask=9"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(cluster.ask("priority", {"2", "2"}).error().code, ErrorCode::NotFound);
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.ask("priority", {"1", "2"}).error().code, ErrorCode::WrongState);
}

/// The answer with every mention of the job replaced, so that answers about two jobs can be compared.
std::string words_of(const Result<Value>& answer, const std::string& job) {
  if (answer.has_value()) return "found";
  std::string text = to_string(answer.error());
  for (std::size_t at = text.find(job); at != std::string::npos; at = text.find(job, at))
    text.replace(at, job.size(), "X");
  return text;
}

// Fault F36: every command that names a job, by number and by name, on behalf of a user and of a stranger.
TEST(Queries, AJobOfAnotherUserDoesNotExist) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build(), {.name = "hers", .owner = "ada"});
  cluster.assigned();
  const std::vector<std::pair<std::string, std::vector<std::string>>> orders{
      {"job", {}},  {"explain", {}}, {"explain", {"0"}},      {"logs", {}},
      {"kept", {}}, {"results", {}}, {"explain-data", {"0"}}, {"places", {"0"}},
      {"keep", {}}, {"unkeep", {}},  {"priority", {"3"}},     {"cancel", {}}};
  for (const auto& [command, more] : orders)
    for (const auto& [foreign, unknown] : {std::pair{"job-1", "job-7"}, {"1", "7"}, {"hers", "none"}}) {
      std::vector<std::string> about_foreign{foreign};
      std::vector<std::string> about_unknown{unknown};
      about_foreign.insert(about_foreign.end(), more.begin(), more.end());
      about_unknown.insert(about_unknown.end(), more.begin(), more.end());
      cluster.viewer = {"mallory", Viewer::Sees::Own};
      const std::string told = words_of(cluster.ask(command, about_foreign), foreign);
      EXPECT_EQ(told, words_of(cluster.ask(command, about_unknown), unknown)) << command << " " << foreign;
      EXPECT_NE(told, "found") << command << " " << foreign;
    }
  EXPECT_EQ(cluster.state(), JobState::Running);
  cluster.viewer = {"ada", Viewer::Sees::Own};
  EXPECT_EQ(words_of(cluster.ask("cancel", {"hers"}), ""), "found") << "its owner may";
  cluster.ignore();
}

TEST(Queries, ListsShowTheViewersJobsAlone) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).build(), {.name = "hers", .owner = "ada"});
  cluster.submit(GraphBuilder{}.sources(2).build(), {.name = "his", .owner = "bob"});
  cluster.assigned();
  cluster.viewer = {"bob", Viewer::Sees::Own};
  ASSERT_EQ(count(cluster.ask("jobs")), 1U);
  EXPECT_EQ(row(cluster.ask("jobs", {"--all"}), 0)["name"], Value{"his"});
  EXPECT_EQ(count(cluster.ask("words", {"jobs"})), 2U) << "number and name of one job";
  EXPECT_EQ(count(cluster.ask("data")), 0U);
  cluster.viewer = {"root", Viewer::Sees::All};
  EXPECT_EQ(count(cluster.ask("jobs")), 2U);
  EXPECT_EQ(count(cluster.ask("words", {"jobs"})), 4U);
}

TEST(Queries, TwoUsersMayHaveJobsOfOneName) {
  SupervisorHarness cluster;
  cluster.join();
  const JobId hers = cluster.submit(GraphBuilder{}.add().build(), {.name = "daily", .owner = "ada"});
  const JobId his = cluster.submit(GraphBuilder{}.add().build(), {.name = "daily", .owner = "bob"}, ClientId{2});
  EXPECT_NE(hers, his);
  cluster.submit(GraphBuilder{}.add().build(), {.name = "daily", .owner = "ada"});
  EXPECT_TRUE(cluster.last_reply().existed);
  EXPECT_EQ(cluster.last_reply().job, hers);
  cluster.ignore();
}

TEST(Queries, AnUnknownCommandIsUnsupported) {
  SupervisorHarness cluster;
  const Result<Value> refused = cluster.ask("dance", {"--now"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(refused.error().subject, "dance");
}

}  // namespace
}  // namespace penstock::supervisor
