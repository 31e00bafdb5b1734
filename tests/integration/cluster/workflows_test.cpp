// Recorded workflows on a supervisor and two workers, one of which dies or hangs in the middle.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/host/clock.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock {
namespace {

using Json = nlohmann::json;

/// The reference workflows beside the checkout; empty where there are none.
std::vector<std::string> workflow_files() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{PENSTOCK_SOURCE_DIRECTORY "/../shared/workflows", error})
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Waits until a quarter of the only job has succeeded, or all of it has ended.
void wait_for_a_quarter(const ClusterProcesses& cluster) {
  const Instant end = monotonic_now() + std::chrono::seconds{20};
  while (monotonic_now() < end) {
    const BinaryRun run = run_binary({"job", "job-1", "--supervisor", cluster.address(), "--json"});
    const Json job = Json::parse(run.output, nullptr, false);
    if (run.exit_code != 0 || !job.is_object()) continue;  // The job has not come yet.
    if (job.value("state", "") != "running" || job.value("succeeded", 0) * 4 >= job.value("subtasks", 0)) return;
  }
  ADD_FAILURE() << "a quarter of the job was not done in time";
}

void run_all_with(int signal) {
  const std::vector<std::string> files = workflow_files();
  if (files.empty()) GTEST_SKIP() << "there is no ../shared/workflows beside this checkout";
  for (const std::string& file : files) {
    ClusterProcesses cluster{{"--set", "link.heartbeat=50ms", "--set", "link.silence_max=500ms"}};
    for (const char* name : {"w1", "w2"}) cluster.start_worker(name, {"--slots", "2", "--memory", "4GiB"});
    ASSERT_TRUE(cluster.wait_for_workers(2));
    RunningBinary submit{BinaryCall{{"submit", "--wfformat", file, "--replay", "--time-scale", "0.0004", "--wait",
                                     "--json", "--supervisor", cluster.address()}}};
    wait_for_a_quarter(cluster);
    if (signal == SIGKILL)
      cluster.kill_worker("w1");
    else
      ::kill(cluster.worker("w1").id(), signal);
    const BinaryRun run = submit.wait();
    EXPECT_EQ(run.exit_code, 0) << file << "\n" << run.errors;
    const Json job = Json::parse(run.output, nullptr, false);
    ASSERT_TRUE(job.is_object()) << file << "\n" << run.output;
    EXPECT_EQ(job.value("state", ""), "succeeded") << file;
    EXPECT_EQ(job.value("succeeded", -1), job.value("subtasks", 0)) << file;
    EXPECT_EQ(job.value("failed", -1), 0) << file;
  }
}

TEST(Workflows, LoseNothingWhenAWorkerIsKilled) { run_all_with(SIGKILL); }
TEST(Workflows, LoseNothingWhenAWorkerHangs) { run_all_with(SIGSTOP); }

}  // namespace
}  // namespace penstock
