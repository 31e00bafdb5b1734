// A supervisor of real processes that is killed and started again: nothing that was accepted is lost.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

const std::vector<std::string> kWithState{"--state", "state"};

/// A graph of so many subtasks that run this text in a shell, each on its own.
Graph commands(std::uint32_t count, const std::string& path, const std::string& text) {
  std::ofstream{path} << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  Graph graph = stencil(1, count, 0, 0);
  tools::become_command(graph, path);
  return graph;
}

Graph one_command(const std::string& path, const std::string& text) { return commands(1, path, text); }

std::ptrdiff_t lines_of(const std::string& path) {
  std::ifstream file{path};
  return std::count(std::istreambuf_iterator<char>{file}, {}, '\n');
}

// Fault F05.
TEST(Restart, AKilledSupervisorGoesOnWithTheJobAndTellsEachSubtaskOnce) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  auto session = cluster.connect();
  Witness witness{*session, 4000};
  const auto submitted = session->submit(named("killed"), stencil(200, 20, 200'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 400);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  session = cluster.connect();
  Witness after{*session, 4000};
  const Result<JobId> attached = session->attach(JobSelector{JobId::none(), "killed"});
  ASSERT_TRUE(attached.has_value()) << to_string(attached.error());
  EXPECT_EQ(*attached, submitted->job);
  EXPECT_EQ(wait_for_end(*session, *attached), JobState::Succeeded);
  after.expect_each_once();  // Everything so far, and then the rest.
  EXPECT_EQ(session->counts(*attached).succeeded, 4000U);
}

// Fault F05: runs go on without their supervisor, and the next one takes them over.
TEST(Restart, WhatRunsIsAdoptedAndNothingRunsTwice) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  auto session = cluster.connect();
  Witness witness{*session, 40};
  const auto submitted = session->submit(named("long"), stencil(10, 4, 300'000'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 8);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  session = cluster.connect();
  Witness after{*session, 40};
  const Result<JobId> attached = session->attach(JobSelector{JobId::none(), "long"});
  ASSERT_TRUE(attached.has_value()) << to_string(attached.error());
  EXPECT_EQ(wait_for_end(*session, *attached), JobState::Succeeded);
  after.expect_each_once();
  for (const char* worker : {"w1", "w2"})
    EXPECT_EQ(cluster.log_of(worker).find("starts afresh"), std::string::npos) << cluster.log_of(worker);
  EXPECT_EQ(session->counts(*attached).attempts, 40U) << "each has run once";
}

TEST(Restart, AClientThatStaysIsToldEachSubtaskOnce) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  Witness witness{*session, 4000};
  const auto submitted = session->submit(named("stays"), stencil(200, 20, 200'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 400);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  EXPECT_EQ(session->counts(submitted->job).succeeded, 4000U);
}

// Fault F07; `tests/chaos/run F07 --full` does so every 2 s for 3 minutes.
TEST(Restart, AJobOutlivesManySupervisors) {
  constexpr int kKills = 6;
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  Witness witness{*session, 2000};
  const auto submitted = session->submit(named("outlives"), stencil(100, 20, 2'000'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  for (int i = 1; i <= kKills; ++i) {
    wait_for_some(*session, submitted->job, witness, static_cast<std::uint64_t>(i) * 150);
    cluster.kill_supervisor();
    cluster.restart_supervisor();
  }
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  EXPECT_EQ(session->counts(submitted->job).attempts, 2000U) << "each has run once";
}

// Fault F09: the supervisor stands still for longer than any peer may be silent.
TEST(Restart, ASupervisorThatWasStoppedLosesNobody) {
  const std::vector<std::string> impatient{"--set", "link.heartbeat=100ms", "--set", "link.silence_max=500ms"};
  ClusterProcesses cluster{impatient};
  cluster.start_worker("w1", impatient);
  cluster.start_worker("w2", impatient);
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  Witness witness{*session, 200};
  const auto submitted = session->submit(named("stopped"), stencil(50, 4, 30'000'000, 100));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 8);
  cluster.supervisor().signal_group(SIGSTOP);
  for (const char* worker : {"w1", "w2"})
    EXPECT_TRUE(wait_until([&] { return cluster.log_of(worker).find("nothing was heard") != std::string::npos; }));
  cluster.supervisor().signal_group(SIGCONT);
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  EXPECT_EQ(session->counts(submitted->job).attempts, 200U) << "each has run once";
  EXPECT_EQ(cluster.log_of("supervisor").find("lost:"), std::string::npos) << cluster.log_of("supervisor");
  for (const char* worker : {"w1", "w2"})
    EXPECT_EQ(cluster.log_of(worker).find("starts afresh"), std::string::npos) << cluster.log_of(worker);
}

// Fault F06: the client has no answer, and asks again.
TEST(Restart, ASubmitThatIsRepeatedIsTheSameJob) {
  ClusterProcesses cluster{kWithState};
  const auto first = cluster.connect()->submit(named("twice"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(first.has_value()) << to_string(first.error());
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  const auto session = cluster.connect();
  const auto again = session->submit(named("twice"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->job, first->job);
  EXPECT_TRUE(again->existed);
  cluster.start_worker("w1");
  EXPECT_EQ(wait_for_end(*session, again->job), JobState::Succeeded);
}

TEST(Restart, AStateIsKeptWhereNothingElseIsSaidAndTheLogNamesThePlace) {
  ClusterProcesses cluster;
  const auto submitted = cluster.connect()->submit(named("kept"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  const std::string place = cluster.path_of("penstock/supervisor");
  EXPECT_TRUE(std::filesystem::exists(place + "/journal"));
  EXPECT_EQ(std::filesystem::status(place).permissions(), std::filesystem::perms::owner_all);
  EXPECT_NE(cluster.log_of("supervisor").find("state=" + place), std::string::npos) << cluster.log_of("supervisor");
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  EXPECT_TRUE(cluster.connect()->attach(JobSelector{JobId::none(), "kept"}).has_value());
}

TEST(Restart, WithoutAStateNothingOutlivesTheProcessAndNobodyIsMistaken) {
  ClusterProcesses cluster{{"--no-state"}};
  EXPECT_FALSE(std::filesystem::exists(cluster.path_of("penstock")));
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  auto session = cluster.connect();
  Witness witness{*session, 100};
  const auto submitted = session->submit(named("gone"), stencil(100, 1, 20'000'000, 0));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 2);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  EXPECT_TRUE(wait_until([&] { return cluster.log_of("w1").find("starts afresh") != std::string::npos; }));
  session = cluster.connect();
  EXPECT_FALSE(session->attach(JobSelector{JobId::none(), "gone"}).has_value());
}

TEST(Restart, AStandbyOrASalvageWithoutAStateIsRefused) {
  for (const char* wish : {"--standby", "--salvage"}) {
    const BinaryRun refused = run_binary({"supervisor", "--listen", "127.0.0.1:0", "--no-state", wish});
    EXPECT_EQ(refused.exit_code, 2) << wish;
    EXPECT_NE(refused.errors.find("--no-state"), std::string::npos) << refused.errors;
  }
}

// Fault F25 over F05: a subtask that crashes its runner does not get its attempts anew with each supervisor.
TEST(Restart, AttemptsThatFailedStayCounted) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const std::string runs = cluster.path_of("runs");
  const auto submitted =
      session->submit(named("fails"), one_command(cluster.path_of("fail"), "echo run >> " + runs + "\nexit 3\n"));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  for (int killed = 1; killed <= 2; ++killed) {
    EXPECT_TRUE(wait_until([&] { return lines_of(runs) >= killed; }));
    cluster.kill_supervisor();
    cluster.restart_supervisor();
  }
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Failed);
  EXPECT_EQ(lines_of(runs), 3) << "supervisor.attempts_max";
}

TEST(Restart, ASubtaskThatAnOperatorHasCancelledDoesNotRunAgain) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const std::string runs = cluster.path_of("runs");
  const auto submitted =
      session->submit(named("cancelled"), one_command(cluster.path_of("rest"), "echo run >> " + runs + "\nsleep 60\n"));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_TRUE(wait_until([&] { return lines_of(runs) == 1; }));
  const Result<Value> answer = session->ask("cancel", {"cancelled", "0", "--kill-after-ms=never"});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  cluster.kill_supervisor();
  cluster.kill_worker("w1");
  cluster.restart_supervisor();
  cluster.start_worker("w2", {"--slots", "2"});
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Cancelled);
  EXPECT_EQ(lines_of(runs), 1);
}

// Fault F08.
TEST(Restart, ASecondSupervisorOnTheSameStateIsToldWhoHoldsIt) {
  ClusterProcesses cluster{kWithState};
  const BinaryRun second = run_binary({"supervisor", "--listen", "127.0.0.1:0", "--state", cluster.path_of("state")});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_NE(second.errors.find("process " + std::to_string(cluster.supervisor().id())), std::string::npos)
      << second.errors;
  EXPECT_NE(second.errors.find("`--state`"), std::string::npos) << "what to do about it: " << second.errors;
}

// Found by a trial.
TEST(Restart, WhatWaitsAtABusyWorkerGoesToOneThatComesAndTheCountsAreRight) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const std::string runs = cluster.path_of("runs");
  const std::string go = cluster.path_of("go");
  const std::string text = "echo run >> " + runs + "\nwhile ! test -e " + go + "; do sleep 0.05; done\n";
  const auto submitted = session->submit(named("queued"), commands(3, cluster.path_of("rest"), text));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_TRUE(wait_until([&] { return lines_of(runs) == 1; }));
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  EXPECT_TRUE(cluster.wait_for_workers(1));
  const auto told = [&] {
    const Result<Value> answer = session->ask("bands", {});
    return answer.has_value() && to_json(*answer).find("\"running\": 1") != std::string::npos;
  };
  EXPECT_TRUE(wait_until(told)) << "what runs is told to the next life though nothing changes";
  cluster.start_worker("w2", {"--slots", "2"});
  EXPECT_TRUE(wait_until([&] { return lines_of(runs) == 3; })) << "the idle worker gets what waits";
  std::ofstream{go};
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  EXPECT_EQ(lines_of(runs), 3);
}

TEST(Restart, AStandbyTakesOverWhatRuns) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  cluster.start_standby();
  EXPECT_NE(cluster.log_of("standby").find("process " + std::to_string(cluster.supervisor().id())), std::string::npos);
  const auto session = cluster.connect();
  Witness witness{*session, 40};
  const auto submitted = session->submit(named("handed over"), stencil(20, 2, 100'000'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 6);
  cluster.kill_supervisor();
  cluster.wait_for_takeover();
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  EXPECT_EQ(session->counts(submitted->job).attempts, 40U) << "each has run once";
}

// Fault F13.
TEST(Restart, ADamagedJournalIsRefusedByNameAndSalvaged) {
  ClusterProcesses cluster{kWithState};
  const auto kept = cluster.connect()->submit(named("kept"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(kept.has_value());
  cluster.kill_supervisor();
  for (const auto& entry : std::filesystem::directory_iterator{cluster.path_of("state/journal")})
    if (entry.path().filename().string().starts_with("MANIFEST")) std::filesystem::resize_file(entry.path(), 10);
  const BinaryRun refused = run_binary({"supervisor", "--listen", "127.0.0.1:0", "--state", cluster.path_of("state")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("--salvage"), std::string::npos) << refused.errors;
  cluster.restart_supervisor({"--salvage"});
  const Result<JobId> attached = cluster.connect()->attach(JobSelector{JobId::none(), "kept"});
  EXPECT_TRUE(attached.has_value()) << to_string(attached.error());
}

TEST(Restart, ASupervisorThatMovesIsFoundThroughItsAddressFile) {
  ClusterProcesses cluster{kWithState};
  const std::string file = cluster.path_of("address");
  cluster.start_worker_at("w1", "@" + file, {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect_to("@" + file);
  Witness witness{*session, 40};
  const auto submitted = session->submit(named("moves"), stencil(20, 2, 50'000'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 6);
  const std::string before = cluster.address();
  cluster.kill_supervisor();
  cluster.restart_supervisor_elsewhere();
  ASSERT_NE(cluster.address(), before);
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  EXPECT_EQ(session->counts(submitted->job).attempts, 40U) << "each has run once";
  EXPECT_EQ(run_binary({"jobs", "--supervisor", "@" + file}).exit_code, 0);
}

TEST(Restart, OrdersAndEndedJobsAreListedInTheNextLife) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1");
  const auto session = cluster.connect();
  for (const char* name : {"day", "night-1", "night-2"}) {
    const auto submitted = session->submit(named(name), stencil(2, 2, 0, 0));
    ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
    EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  }
  const std::vector<std::string> there{"--supervisor", cluster.address()};
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.end(), there.begin(), there.end());
    return run_binary(words);
  };
  EXPECT_EQ(ask({"drain", "w1"}).exit_code, 0);
  EXPECT_EQ(ask({"cancel", "nobody"}).exit_code, 2);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  const BinaryRun list = ask({"jobs", "--state", "succeeded", "--name", "night*", "--since", "1h", "--limit", "1"});
  EXPECT_EQ(list.exit_code, 0) << list.errors;
  EXPECT_NE(list.output.find("night-2"), std::string::npos) << list.output;
  EXPECT_EQ(list.output.find("night-1"), std::string::npos) << list.output;
  EXPECT_EQ(ask({"jobs", "--since", "soon"}).exit_code, 2);
  const BinaryRun audit = ask({"audit", "--since", "1h"});
  EXPECT_EQ(audit.exit_code, 0) << audit.errors;
  EXPECT_NE(audit.output.find("drain w1"), std::string::npos) << audit.output;
  EXPECT_NE(audit.output.find("cancel nobody"), std::string::npos) << audit.output;
  EXPECT_NE(audit.output.find("is not known"), std::string::npos) << audit.output;
}

// Issue 21, point 9: only its number was known.
TEST(Restart, AResultIsFoundByItsKeyInTheNextLife) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1");
  const auto session = cluster.connect();
  Graph graph = one_command(cluster.path_of("make"), "echo made\n");
  graph.names = "made";
  graph.name_offsets = {0, 4};
  const auto submitted = session->submit(named("keyed"), std::move(graph));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  for (int life = 1; life <= 3; ++life) {
    const BinaryRun run = run_binary({"result", "keyed", "made", "--supervisor", cluster.address()});
    EXPECT_EQ(run.output, "made\n") << "life " << life << ": " << run.errors;
    cluster.kill_supervisor();
    cluster.restart_supervisor();
    ASSERT_TRUE(cluster.wait_for_workers(1));
  }
}

TEST(Restart, AnEndedJobCanBeAskedAboutInTheNextLife) {
  ClusterProcesses cluster{kWithState};
  cluster.start_worker("w1");
  auto session = cluster.connect();
  const auto submitted = session->submit(named("ended"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(submitted.has_value());
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  session = cluster.connect();
  const Result<JobId> attached = session->attach(JobSelector{JobId::none(), "ended"});
  ASSERT_TRUE(attached.has_value()) << to_string(attached.error());
  EXPECT_EQ(wait_for_end(*session, *attached), JobState::Succeeded);
}

}  // namespace
}  // namespace penstock
