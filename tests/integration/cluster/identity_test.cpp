// Numbers of jobs and attempts that are used again, as a state that was put back does: nothing is mixed up.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

class IdentityTest : public ::testing::Test {
 protected:
  /// Of one subtask that runs this text in a shell, in a fresh file each time.
  Graph command(const std::string& text) {
    const std::string path = cluster.path_of("command-" + std::to_string(++commands));
    std::ofstream{path} << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    Graph graph = stencil(1, 1, 0, 0);
    tools::become_command(graph, path);
    return graph;
  }
  JobId submit(client::Session& session, const std::string& name, const std::string& text) {
    const auto submitted = session.submit(named(name), command(text));
    EXPECT_TRUE(submitted.has_value()) << to_string(submitted.error());
    return submitted.has_value() ? submitted->job : JobId::none();
  }
  std::string result_of(const std::string& job) {
    const BinaryRun run = run_binary({"result", job, "0", "--supervisor", cluster.address()});
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    return run.output;
  }
  std::vector<std::string> words_of(const std::string& file) const {
    std::ifstream stream{cluster.path_of(file)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  }
  /// As long as this file is not there.
  std::string wait_for(const std::string& file) const {
    return "while [ ! -e " + cluster.path_of(file) + " ]; do sleep 0.02; done";
  }
  void let_go(const std::string& file) const { std::ofstream{cluster.path_of(file)} << "go"; }
  void restore_backup() {
    fs::remove_all(cluster.path_of("state"));
    fs::copy(cluster.path_of("backup"), cluster.path_of("state"), fs::copy_options::recursive);
  }

  ClusterProcesses cluster{{"--state", "state"}};
  int commands = 0;
};

// Issue 21, point 2: `result new` showed what the old job of that number had printed. The copy is put back by hand, so
// that nothing but the identity of the job tells.
TEST_F(IdentityTest, ANewJobNeverGetsTheRunOfAnOldOneOfItsNumber) {
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  auto session = cluster.connect();
  EXPECT_EQ(wait_for_end(*session, submit(*session, "first", "true")), JobState::Succeeded);
  fs::copy(cluster.path_of("state"), cluster.path_of("backup"), fs::copy_options::recursive);
  const JobId old =
      submit(*session, "old", "echo $$ > " + cluster.path_of("runs") + "; " + wait_for("go") + "; echo old");
  ASSERT_TRUE(wait_until([&] { return !words_of("runs").empty(); }));
  cluster.worker("w1").signal_group(SIGSTOP);
  cluster.kill_supervisor();
  session.reset();
  restore_backup();
  cluster.restart_supervisor();
  session = cluster.connect();
  ASSERT_EQ(submit(*session, "new", "echo new"), old) << "the number is used again";
  cluster.worker("w1").signal_group(SIGCONT);
  EXPECT_TRUE(wait_until([&] { return cluster.log_of("w1").find("starts afresh") != std::string::npos; }));
  let_go("go");
  EXPECT_EQ(wait_for_end(*session, old), JobState::Succeeded);
  EXPECT_EQ(result_of("new"), "new\n");
}

// Issue 21, point 2: `submit --wait payroll` said `succeeded` though payroll never ran.
TEST_F(IdentityTest, AClientThatStaysIsNotToldOfAnotherJobUnderItsNumber) {
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto stays = cluster.connect();
  EXPECT_EQ(wait_for_end(*stays, submit(*stays, "first", "true")), JobState::Succeeded);
  fs::copy(cluster.path_of("state"), cluster.path_of("backup"), fs::copy_options::recursive);
  cluster.worker("w1").signal_group(SIGSTOP);
  const JobId payroll = submit(*stays, "payroll", "echo paid > " + cluster.path_of("payroll"));
  cluster.kill_supervisor();
  cluster.kill_worker("w1");
  restore_backup();
  cluster.restart_supervisor();
  const auto other = cluster.connect();
  ASSERT_EQ(submit(*other, "other", "true"), payroll) << "the number is used again";
  cluster.start_worker("w2", {"--slots", "1"});
  EXPECT_EQ(wait_for_end(*other, payroll), JobState::Succeeded);
  const Result<JobState> told = stays->wait(payroll, kLong);
  EXPECT_TRUE(!told.has_value() || *told == JobState::Failed) << "it has not succeeded";
  EXPECT_FALSE(fs::exists(cluster.path_of("payroll")));
}

TEST_F(IdentityTest, AWorkerBeginsAfreshUnderAStateThatWasSalvaged) {
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  auto session = cluster.connect();
  EXPECT_EQ(wait_for_end(*session, submit(*session, "first", "true")), JobState::Succeeded);
  cluster.kill_supervisor();
  session.reset();
  cluster.restart_supervisor({"--salvage"});
  EXPECT_TRUE(wait_until([&] { return cluster.log_of("w1").find("starts afresh") != std::string::npos; }));
  session = cluster.connect();
  EXPECT_EQ(wait_for_end(*session, submit(*session, "second", "true")), JobState::Succeeded);
}

// Issue 21, point 3: two live processes had PENSTOCK_ATTEMPT=1 of one subtask.
TEST_F(IdentityTest, AnAttemptNumberIsNotUsedAgainByTheNextSupervisor) {
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const JobId job =
      submit(*session, "fenced",
             "echo $PENSTOCK_ATTEMPT $PENSTOCK_ATTEMPT_ID >> " + cluster.path_of("runs") + "; " + wait_for("go"));
  ASSERT_TRUE(wait_until([&] { return words_of("runs").size() == 2; }));
  cluster.worker("w1").signal_group(SIGSTOP);  // The runs of the worker go on.
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  cluster.start_worker("w2", {"--slots", "1"});
  ASSERT_TRUE(wait_until([&] { return words_of("runs").size() == 4; }));
  const std::vector<std::string> runs = words_of("runs");
  EXPECT_EQ(runs[0], "1");
  EXPECT_EQ(runs[2], std::to_string(attempts_begin(2).value() + 1)) << "the first of the second term";
  EXPECT_NE(runs[1], runs[3]);
  EXPECT_EQ(runs[1].size(), 32 + std::string{"-0-1"}.size()) << runs[1];
  let_go("go");
  EXPECT_EQ(wait_for_end(*session, job), JobState::Succeeded);
  cluster.worker("w1").signal_group(SIGCONT);
}

}  // namespace
}  // namespace penstock
