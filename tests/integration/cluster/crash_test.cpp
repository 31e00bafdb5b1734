// Native operators that take their worker down: they alone are charged, and the worker's process goes on (fault F25).
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

/// One subtask of the operator, and `beside` others that compute for a while.
Graph poisoned(const std::string& name, const std::string& payload, std::uint32_t beside) {
  Graph graph;
  Template bad;
  bad.name = name;
  bad.program = name;
  bad.payload = payload;
  bad.on_failure = OnFailure::Continue;
  if (name == "wide") bad.request.slots = kOneSlot * 2;
  Template good;
  good.name = "good";
  good.program = "burn";
  const std::uint64_t work[2] = {300'000'000, 8};
  good.payload.assign(reinterpret_cast<const char*>(work), sizeof work);
  graph.templates = {bad, good};
  for (std::uint32_t i = 0; i <= beside; ++i) {
    graph.template_of.push_back(i == 0 ? 0 : 1);
    graph.input_offsets.push_back(0);
  }
  return graph;
}

std::uint64_t number_in(const Value& record, const char* field) {
  const std::int64_t* number = record[field].integer();
  return number == nullptr ? 0 : static_cast<std::uint64_t>(*number);
}

class CrashTest : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--slots", "4", "--no-gpus", "--operators", PENSTOCK_CRASHING_OPERATORS};
    arguments.insert(arguments.end(), more.begin(), more.end());
    cluster.start_worker("w1", arguments);
    ASSERT_TRUE(cluster.wait_for_workers(1));
    session = cluster.connect();
  }
  JobState run(const std::string& name, const Graph& graph) {
    const auto submitted = session->submit(named(name), Graph{graph});
    EXPECT_TRUE(submitted.has_value());
    return submitted ? wait_for_end(*session, submitted->job) : JobState::Running;
  }
  Value job(const std::string& name) { return session->ask("job", {name}).value_or(Value{}); }

  ClusterProcesses cluster;
  std::unique_ptr<client::Session> session;
};

TEST_F(CrashTest, WhatAlwaysCrashesFailsAloneAndTheProcessOfItsWorkerGoesOn) {
  start();
  EXPECT_EQ(run("poison", poisoned("segfault", "", 3)), JobState::Failed);
  const Value end = job("poison");
  EXPECT_EQ(number_in(end, "succeeded"), 3U);
  EXPECT_EQ(number_in(end, "failed"), 1U);
  const std::string told = to_json(end);
  for (const char* part : {"operator 'segfault' crashed with SIGSEGV", "address 0x10", "attempt 3", "runner crash"})
    EXPECT_NE(told.find(part), std::string::npos) << part << " is not in " << told;
  EXPECT_EQ(told.find("attempt 4"), std::string::npos);
  EXPECT_FALSE(cluster.worker("w1").wait_for_end(Duration{0})) << "the same process";
  EXPECT_EQ(run("after", poisoned("segfault", "0", 1)), JobState::Succeeded);
}

TEST_F(CrashTest, EachWayToCrashIsBlamedOnItsOperator) {
  start();
  const std::pair<const char*, const char*> ways[] = {
      {"abort", "SIGABRT"}, {"overflow", "SIGSEGV"}, {"wide", "SIGSEGV"}};
  for (const auto& [name, signal] : ways) {
    EXPECT_EQ(run(name, poisoned(name, "1", 1)), JobState::Succeeded) << name << " crashes only once";
    EXPECT_NE(cluster.log_of("w1").find("operator '" + std::string{name} + "' crashed with " + signal),
              std::string::npos)
        << name;
    EXPECT_EQ(number_in(job(name), "attempts"), 3U) << name << ": its own two, and what was beside it";
  }
}

Graph hanging(const std::string& payload, std::uint32_t beside) {
  Graph graph = poisoned("hang", payload, beside);
  graph.templates[0].time_limit = std::chrono::milliseconds{50};
  graph.templates[0].kill_grace = std::chrono::milliseconds{50};
  return graph;
}

// Fault F28: no signal ends one thread of a process.
TEST_F(CrashTest, AnOperatorThatHangsIsEndedAtItsTimeLimitAndBlamedAlone) {
  start();
  EXPECT_EQ(run("hanging", hanging("", 3)), JobState::Failed);
  const Value end = job("hanging");
  EXPECT_EQ(number_in(end, "succeeded"), 3U);
  EXPECT_EQ(number_in(end, "failed"), 1U);
  const std::string told = to_json(end);
  for (const char* part : {"operator 'hang' did not end when its time limit had passed", "attempt 3", "time limit"})
    EXPECT_NE(told.find(part), std::string::npos) << part << " is not in " << told;
  EXPECT_FALSE(cluster.worker("w1").wait_for_end(Duration{0})) << "the same process";
  EXPECT_EQ(run("once", hanging("1", 1)), JobState::Succeeded);
}

// The operator may be about to end, and all data of the worker would go with the process.
TEST_F(CrashTest, AnOperatorThatIgnoresACancelDoesNotCostItsWorker) {
  start();
  Graph graph = poisoned("hang", "", 0);
  graph.templates[0].kill_grace = std::chrono::milliseconds{1};
  const auto submitted = session->submit(named("hanging"), std::move(graph));
  ASSERT_TRUE(submitted.has_value());
  ASSERT_TRUE(wait_until([&] {
    const Result<Value> workers = session->ask("workers", {});
    return workers && workers->list() != nullptr && number_in(workers->list()->front(), "running") == 1;
  }));
  ASSERT_TRUE(session->ask("cancel", {"hanging"}).has_value());
  EXPECT_EQ(run("after", poisoned("segfault", "0", 50)), JobState::Succeeded);
  EXPECT_EQ(cluster.log_of("w1").find("begins again"), std::string::npos);
}

std::string processors_of(int process) {
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Cpus_allowed_list:")) return line;
  return {};
}

// A thread that crashes is bound to the processors of its band.
TEST_F(CrashTest, TheNextLifeHasTheProcessorsOfAllBands) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor is one band";
  std::ofstream{cluster.path_of("bands.toml")} << "[host]\ncpu_bands = 2\n";
  start({"--config", cluster.path_of("bands.toml")});
  const std::string before = processors_of(cluster.worker("w1").id());
  EXPECT_NE(before, "");
  EXPECT_EQ(run("once", poisoned("segfault", "1", 0)), JobState::Succeeded);
  EXPECT_NE(cluster.log_of("w1").find("crashed with SIGSEGV"), std::string::npos);
  EXPECT_EQ(processors_of(cluster.worker("w1").id()), before);
}

TEST_F(CrashTest, AWorkerThatCrashesTooOftenEnds) {
  start({"--set", "worker.operator_crashes_max=1"});
  const auto submitted = session->submit(named("poison"), poisoned("segfault", "2", 0));
  ASSERT_TRUE(submitted.has_value());
  EXPECT_TRUE(cluster.worker("w1").wait_for_end(std::chrono::seconds{20}));
  cluster.start_worker("w2", {"--slots", "4", "--no-gpus", "--operators", PENSTOCK_CRASHING_OPERATORS});
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
}

TEST(Crash, ARunThatCannotGoOnSaysWhichOperatorItWas) {
  const ScratchDirectory scratch;
  scratch.write("job.toml", "name = 'poison'\nlibraries = ['" PENSTOCK_CRASHING_OPERATORS
                            "']\n[[subtask]]\nkey = 'bad'\noperator = 'segfault'\n");
  const BinaryRun run = run_binary({"run", scratch.at("job.toml")});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE(run.errors.find("operator 'segfault' crashed with SIGSEGV, attempt 1 of subtask 0 of job-1"),
            std::string::npos)
      << run.errors;
}

}  // namespace
}  // namespace penstock
