// Runs with `overlap = "never"` of workers that are cut off have ended before others begin.
#include <gtest/gtest.h>
#include <signal.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

const std::vector<std::string> kImpatient{"--set", "link.heartbeat=100ms", "--set", "link.silence_max=1s"};

std::vector<std::string> impatient_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kImpatient.begin(), kImpatient.end());
  return arguments;
}

class OverlapTest : public ::testing::Test {
 protected:
  /// One subtask. Its first attempt stays until it is killed; a later one says whether the first is still there.
  Graph lasting(const std::string& name, Overlap overlap) {
    const std::string path = cluster.path_of(name);
    const std::string pid = path + ".pid";
    std::ofstream{path} << "#!/bin/sh\nif [ -e " << pid << " ]; then\n  kill -0 $(cat " << pid << ") && echo both > "
                        << path << ".end || echo alone > " << path << ".end\n  exit 0\nfi\necho $$ > " << pid
                        << ".new\nmv " << pid << ".new " << pid << "\nexec sleep 600\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    Graph graph = stencil(1, 1, 0, 0);
    tools::become_command(graph, path);
    graph.templates[0].overlap = overlap;
    return graph;
  }
  std::string word_of(const std::string& file) const {
    std::ifstream stream{cluster.path_of(file)};
    std::string word;
    stream >> word;
    return word;
  }
  /// Once its first attempt runs; the process.
  pid_t pid_of(const std::string& name) const {
    EXPECT_TRUE(wait_until([&] { return !word_of(name + ".pid").empty(); }));
    pid_t pid = 0;
    const std::string word = word_of(name + ".pid");
    std::from_chars(word.data(), word.data() + word.size(), pid);
    EXPECT_GT(pid, 0) << word;
    return pid;
  }
  static bool is_there(pid_t pid) { return kill(pid, 0) == 0; }

  ClusterProcesses cluster{impatient_with({"--state", "state", "--set", "supervisor.overlap_margin=500ms"})};
};

// The supervisor hangs: it hears nobody, and nobody gives it up.
TEST_F(OverlapTest, ACutOffWorkerKillsWhatMustNotOverlapAndLetsTheRestGoOn) {
  cluster.start_worker("w1", impatient_with({"--slots", "2"}));
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto never = session->submit(named("never"), lasting("never", Overlap::Never));
  const auto allow = session->submit(named("allow"), lasting("allow", Overlap::Allow));
  ASSERT_TRUE(never.has_value() && allow.has_value());
  const pid_t killed = pid_of("never");
  const pid_t stays = pid_of("allow");
  cluster.supervisor().signal_group(SIGSTOP);
  EXPECT_TRUE(wait_until([&] { return !is_there(killed); }));
  EXPECT_TRUE(is_there(stays));
  cluster.supervisor().signal_group(SIGCONT);
  EXPECT_EQ(wait_for_end(*session, never->job), JobState::Succeeded);
  EXPECT_EQ(word_of("never.end"), "alone");
  EXPECT_TRUE(is_there(stays)) << "it was adopted, or never lost";
  EXPECT_TRUE(session->ask("cancel", {"allow", "--kill-after-ms=0"}).has_value());
}

// The worker does not find the next life of the supervisor, which has another one.
TEST_F(OverlapTest, WhatANewSupervisorGivesElsewhereHasEndedWhereItRan) {
  cluster.start_worker("lost", impatient_with({"--slots", "1"}));
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect_to("@" + cluster.path_of("address"));
  const auto submitted = session->submit(named("moves"), lasting("moves", Overlap::Never));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  const pid_t first = pid_of("moves");
  cluster.kill_supervisor();
  cluster.restart_supervisor_elsewhere();
  cluster.start_worker("other", impatient_with({"--slots", "1"}));
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  EXPECT_EQ(word_of("moves.end"), "alone");
  EXPECT_FALSE(is_there(first));
}

// In a cluster where all hear each other it is a run like any other.
TEST_F(OverlapTest, AWorkerThatIsHeardKillsNothing) {
  cluster.start_worker("w1", impatient_with({"--slots", "1"}));
  const auto session = cluster.connect();
  const std::string path = cluster.path_of("takes-its-time");
  std::ofstream{path} << "#!/bin/sh\nsleep 3\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  Graph graph = stencil(1, 1, 0, 0);
  tools::become_command(graph, path);
  graph.templates[0].overlap = Overlap::Never;
  const auto submitted = session->submit(named("heard"), std::move(graph));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  EXPECT_EQ(session->counts(submitted->job).attempts, 1U);
}

}  // namespace
}  // namespace penstock
