// Data of real workers: on disk, in copies, and what a lost worker costs then.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock {
namespace {

using Json = nlohmann::json;

Json ask(const ClusterProcesses& cluster, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--supervisor", cluster.address(), "--json"});
  return Json::parse(run_binary(arguments).output, nullptr, false);
}

RunningBinary submit(const ClusterProcesses& cluster, const std::string& job) {
  return RunningBinary{BinaryCall{{"submit", job, "--wait", "--json", "--supervisor", cluster.address()}}};
}

std::int64_t stored_on(const ClusterProcesses& cluster, const std::string& worker) {
  const Json bands = ask(cluster, {"bands"});
  std::int64_t sum = 0;
  if (bands.is_array())
    for (const Json& band : bands)
      if (band.value("worker", "") == worker) sum = band.value("store_used_bytes", std::int64_t{0});
  return sum;
}

bool runs(const ClusterProcesses& cluster) { return ask(cluster, {"job", "job-1"}).value("state", "") == "running"; }

// `made` runs on w1 and nowhere else: were it lost, the job would fail. While `gate` holds up its reader on w2, w1 is
// killed.
std::string job_with(const std::string& wish) {
  return "[[subtask]]\nkey = \"made\"\noperator = \"noop\"\noutput = \"3MiB\"\nrequired = \"w1\"\n" + wish +
         "[[subtask]]\nkey = \"gate\"\noperator = \"burn\"\nburn = \"8s\"\nrequired = \"w2\"\n"
         "[[subtask]]\nkey = \"reader\"\noperator = \"noop\"\ninputs = [\"made\"]\nafter = [\"gate\"]\nrequired = "
         "\"w2\"\n";
}

/// One after the other: `required = "w1"` means a worker of that name or number, so the two must agree.
bool start_two_workers(ClusterProcesses& cluster, const std::vector<std::string>& more = {}) {
  for (const int i : {1, 2}) {
    std::vector<std::string> arguments{"--slots", "1", "--memory", "1GiB"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    cluster.start_worker("w" + std::to_string(i), arguments);
    if (!cluster.wait_for_workers(i)) return false;
  }
  return true;
}

void expect_one_run_of_each(RunningBinary& job) {
  const BinaryRun run = job.wait();
  const Json end = Json::parse(run.output, nullptr, false);
  ASSERT_TRUE(end.is_object()) << run.output << run.errors;
  EXPECT_EQ(end.value("state", ""), "succeeded") << run.output;
  EXPECT_EQ(end.value("attempts", 0), 3) << run.output;
}

TEST(DataOfWorkers, AReplicaSavesTheRunWhenItsHolderIsKilled) {
  ClusterProcesses cluster{{"--set", "link.heartbeat=50ms", "--set", "link.silence_max=500ms"}};
  ASSERT_TRUE(start_two_workers(cluster));
  const ScratchDirectory scratch;
  RunningBinary job = submit(cluster, scratch.write("job.toml", job_with("replicas = 2\n")));
  ASSERT_TRUE(wait_until([&] { return stored_on(cluster, "w2") >= 3 << 20; }));
  ASSERT_TRUE(runs(cluster));
  cluster.kill_worker("w1");
  expect_one_run_of_each(job);
}

TEST(DataOfWorkers, ACheckpointSavesTheRunWhenItsHolderIsKilled) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--set", "link.heartbeat=50ms", "--set", "link.silence_max=500ms"}};
  ASSERT_TRUE(start_two_workers(cluster, {"--checkpoints", scratch.at("shared")}));
  RunningBinary job = submit(cluster, scratch.write("job.toml", job_with("checkpoint = true\n")));
  ASSERT_TRUE(wait_until([&] { return count_files_below(scratch.at("shared")) == 1; }));
  // The report that it is safe follows at once; the next one of that worker, on its load, comes behind it.
  ASSERT_TRUE(wait_until([&] { return stored_on(cluster, "w1") >= 3 << 20; }));
  ASSERT_TRUE(runs(cluster));
  cluster.kill_worker("w1");
  expect_one_run_of_each(job);
  EXPECT_TRUE(wait_until([&] { return count_files_below(scratch.at("shared")) == 0; }))
      << "it is kept when nobody reads it";
}

// Faults F01 and F05 together. `made` could not run again: it requires the worker that is gone.
TEST(DataOfWorkers, ACheckpointOutlivesItsWriterAndTheSupervisor) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--set", "link.heartbeat=50ms", "--set", "link.silence_max=500ms"}};
  ASSERT_TRUE(start_two_workers(cluster, {"--checkpoints", scratch.at("shared")}));
  RunningBinary job = submit(cluster, scratch.write("job.toml", "name = \"kept\"\n" + job_with("checkpoint = true\n")));
  ASSERT_TRUE(wait_until([&] { return count_files_below(scratch.at("shared")) == 1; }));
  ASSERT_TRUE(wait_until([&] { return stored_on(cluster, "w1") >= 3 << 20; }));
  ASSERT_TRUE(runs(cluster));
  // An order is answered when it is written, and all that was known before with it, or with the next.
  for (const char* priority : {"1", "2", "3"}) ask(cluster, {"priority", "kept", priority});
  cluster.kill_worker("w1");
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  expect_one_run_of_each(job);
  EXPECT_TRUE(wait_until([&] { return count_files_below(scratch.at("shared")) == 0; }))
      << "it is kept when nobody reads it";
}

// Commands write to their standard output: nobody but this question shows it when they have run on workers.
TEST(DataOfWorkers, WhatAJobHasMadeIsShownAndWritten) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const std::string text =
      "name = \"makes\"\n"
      "[[subtask]]\nkey = \"text\"\ncommand = \"printf 'one\\ntwo\\n'\"\n"
      "[[subtask]]\nkey = \"bytes\"\ncommand = \"head -c 300000 /dev/zero\"\n"
      "[[subtask]]\nkey = \"nothing\"\ncommand = \"true\"\n";
  RunningBinary job = submit(cluster, scratch.write("job.toml", text));
  ASSERT_EQ(job.wait().exit_code, 0);
  const auto result = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"result", "--supervisor", cluster.address(), "makes"});
    return run_binary(words);
  };
  EXPECT_EQ(result({}).output, "--- text\none\ntwo\n--- bytes: 300000 bytes\n");
  EXPECT_EQ(result({"text"}).output, "one\ntwo\n");
  EXPECT_EQ(result({"bytes"}).output, std::string(300000, '\0'));
  const BinaryRun nothing = result({"nothing"});
  EXPECT_EQ(nothing.output + nothing.errors, "");
  EXPECT_EQ(nothing.exit_code, 0);
  EXPECT_EQ(result({"other"}).exit_code, 2);
  const Json all = Json::parse(result({"--json"}).output, nullptr, false);
  ASSERT_TRUE(all.is_object());
  EXPECT_EQ(all["results"].size(), 2U);
  EXPECT_EQ(all["results"][0]["text"], "one\ntwo\n");
}

// 40 data of 4 MiB in a store of 32 MiB: most of them are on disk when they are read.
TEST(DataOfWorkers, MoreDataThanMemoryPassThroughTheDisk) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster;
  cluster.start_worker("w1",
                       {"--slots", "2", "--memory", "1GiB", "--store-memory", "32MiB", "--spill", scratch.at("spill")});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  std::string text;
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "m" + std::to_string(i);
    text += "[[subtask]]\nkey = \"" + name + "\"\noperator = \"noop\"\noutput = \"4MiB\"\n";
    all += (i == 0 ? "\"" : ", \"") + name + "\"";
  }
  text += "[[subtask]]\nkey = \"gate\"\noperator = \"noop\"\nafter = [" + all + "]\n";
  for (int i = 0; i < 40; ++i)
    text += "[[subtask]]\nkey = \"r" + std::to_string(i) + "\"\ncommand = \"test $(wc -c) = 4194304\"\ninputs = [\"m" +
            std::to_string(i) + "\"]\nafter = [\"gate\"]\n";
  RunningBinary job = submit(cluster, scratch.write("job.toml", text));
  ASSERT_TRUE(wait_until([&] { return count_files_below(scratch.at("spill")) > 10; }));
  const BinaryRun run = job.wait();
  const Json end = Json::parse(run.output, nullptr, false);
  ASSERT_TRUE(end.is_object()) << run.output << run.errors;
  EXPECT_EQ(end.value("state", ""), "succeeded") << run.output << cluster.log_of("w1");
  EXPECT_EQ(end.value("attempts", 0), 81) << run.output;
  EXPECT_TRUE(wait_until([&] { return count_files_below(scratch.at("spill")) == 0; }));
}

}  // namespace
}  // namespace penstock
