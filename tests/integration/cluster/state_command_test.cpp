// `penstock state`, and what a kill in the middle of a restore or a salvage leaves.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>

#include "common/host/clock.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

void submit(const ClusterProcesses& cluster, const std::string& name) {
  const auto submitted = cluster.connect()->submit(named(name), stencil(2, 2, 0, 0));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
}

bool knows(const ClusterProcesses& cluster, const std::string& name) {
  return cluster.connect()->attach(JobSelector{JobId::none(), name}).has_value();
}

TEST(StateCommand, ABackupOfARunningSupervisorIsPutBackWhenItHasEnded) {
  ClusterProcesses cluster{{"--state", "state"}};
  const std::string state = cluster.path_of("state");
  const std::string backup = cluster.path_of("backup");
  submit(cluster, "early");
  const BinaryRun made = run_binary({"state", "backup", backup, "--state", state, "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_NE(made.output.find("\"jobs\":1,\"unfinished\":1"), std::string::npos) << made.output;
  EXPECT_EQ(run_binary({"state", "verify", "--state", state}).exit_code, 0);
  EXPECT_EQ(run_binary({"state", "backup", backup, "--state", state}).exit_code, 2) << "it is there already";
  submit(cluster, "late");
  const BinaryRun refused = run_binary({"state", "restore", backup, "--state", state});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("process " + std::to_string(cluster.supervisor().id())), std::string::npos)
      << refused.errors;
  cluster.kill_supervisor();
  const BinaryRun restored = run_binary({"state", "restore", backup, "--state", state});
  EXPECT_EQ(restored.exit_code, 0) << restored.errors;
  EXPECT_NE(restored.output.find("journal.replaced-1"), std::string::npos) << restored.output;
  const BinaryRun list = run_binary({"state", "list", "--state", state});
  EXPECT_NE(list.output.find("journal.replaced-1"), std::string::npos) << list.output;
  cluster.restart_supervisor();
  EXPECT_TRUE(knows(cluster, "early"));
  EXPECT_FALSE(knows(cluster, "late"));
  EXPECT_EQ(run_binary({"state", "verify", "--state", cluster.path_of("nowhere")}).exit_code, 2);
}

/// Kills a call later each time, until it has ended by itself before that.
template <class Check>
void kill_later_and_later(const std::vector<std::string>& arguments, const Check& check) {
  bool ended = false;
  for (Duration after{}; !ended; after += std::chrono::milliseconds{3}) {
    RunningBinary call{{arguments, "", "", {}}};
    const Instant begin = monotonic_now();
    ended = call.process().wait_for_end(after);
    call.process().signal_group(SIGKILL);
    ASSERT_TRUE(call.process().wait_for_end(std::chrono::seconds{20}));
    check();
    ASSERT_LT(monotonic_now() - begin, std::chrono::seconds{30});
  }
}

TEST(StateCommand, AKillAtAnyInstantOfARestoreLeavesTheOldStateOrTheNewOne) {
  ClusterProcesses cluster{{"--state", "state"}};
  const std::string state = cluster.path_of("state");
  submit(cluster, "early");
  ASSERT_EQ(run_binary({"state", "backup", cluster.path_of("backup"), "--state", state}).exit_code, 0);
  submit(cluster, "late");
  cluster.kill_supervisor();
  const auto jobs = [&] {
    const BinaryRun verified = run_binary({"state", "verify", "--state", state, "--json"});
    EXPECT_EQ(verified.exit_code, 0) << verified.errors;
    return verified.output.substr(verified.output.find("\"jobs\""), 8);
  };
  std::set<std::string> seen;
  kill_later_and_later({"state", "restore", cluster.path_of("backup"), "--state", state}, [&] { seen.insert(jobs()); });
  EXPECT_EQ(seen, (std::set<std::string>{"\"jobs\":1", "\"jobs\":2"}));
  cluster.restart_supervisor();
  EXPECT_TRUE(knows(cluster, "early"));
}

}  // namespace
}  // namespace penstock
