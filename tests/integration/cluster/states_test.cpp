// Every state that a worker knows of a subtask is one that real clusters reach: `explain` names each.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

class StatesTest : public ::testing::Test {
 protected:
  /// A template of a graph that the tests put together.
  static Template& add_template(Graph& graph, const std::string& program) {
    Template& content = graph.templates.emplace_back();
    content.name = program + "-" + std::to_string(graph.templates.size());
    content.program = program;
    return content;
  }
  static void add_subtask(Graph& graph, std::uint32_t of_template, const std::string& payload = {},
                          const std::vector<std::uint32_t>& reads = {}) {
    graph.template_of.push_back(of_template);
    graph.predecessors.insert(graph.predecessors.end(), reads.begin(), reads.end());
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
    if (graph.payload_offsets.empty()) graph.payload_offsets.push_back(0);
    graph.payloads += payload;
    graph.payload_offsets.push_back(static_cast<std::uint32_t>(graph.payloads.size()));
  }

  void start(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--no-gpus", "--operators", PENSTOCK_YIELDING_OPERATORS};
    arguments.insert(arguments.end(), more.begin(), more.end());
    cluster.start_worker(name, arguments);
    ASSERT_TRUE(cluster.wait_for_workers(++workers_));
    if (session == nullptr) session = cluster.connect();
  }
  JobId submit(const std::string& name, Graph graph) {
    const auto submitted = session->submit(named(name), std::move(graph));
    EXPECT_TRUE(submitted.has_value()) << (submitted ? "" : to_string(submitted.error()));
    return submitted ? submitted->job : JobId::none();
  }

  std::string told_of(const std::string& job, std::uint32_t subtask) const {
    const Result<Value> answer = session->ask("explain", {job, std::to_string(subtask)});
    return answer ? to_json(*answer) : to_string(answer.error());
  }
  /// Waits until `explain` says so of one of the subtasks.
  void expect_state(const std::string& job, const std::vector<std::uint32_t>& of, const std::string& state) const {
    const std::string part = "\"worker_state\": \"" + state + "\"";
    std::string told;
    EXPECT_TRUE(wait_until([&] {
      told.clear();
      for (const std::uint32_t subtask : of) told += told_of(job, subtask) + "\n";
      return told.find(part) != std::string::npos;
    })) << state
        << " is not in\n"
        << told;
  }

  std::string path_of(const std::string& name) const { return cluster.path_of(name); }
  bool await(const std::string& name) const {
    return wait_until([&] { return std::filesystem::exists(path_of(name)); });
  }
  void make(const std::string& name) const { std::ofstream{path_of(name)} << "made" << std::endl; }

  ClusterProcesses cluster;
  std::unique_ptr<client::Session> session;

 private:
  std::size_t workers_ = 0;
};

TEST_F(StatesTest, BeforeAndInItsSlot) {
  start("w1", {"--slots", "1", "--memory", "1GiB", "--set", "worker.prepare_permits_extra=1"});
  Graph graph;
  Template& holds = add_template(graph, "hold");
  holds.request.memory = kMiB * 700;
  holds.priority = 1;
  add_template(graph, "noop");
  add_template(graph, "noop").request.memory = kMiB * 700;
  add_subtask(graph, 0, path_of("held"));
  add_subtask(graph, 1, {}, {0});
  for (int i = 0; i < 4; ++i) add_subtask(graph, 2);
  add_subtask(graph, 1);
  const JobId job = submit("slots", std::move(graph));
  ASSERT_TRUE(await("held"));
  expect_state("slots", {0}, "running");
  expect_state("slots", {1}, "cached");
  expect_state("slots", {2, 3, 4, 5}, "waiting for memory");
  expect_state("slots", {2, 3, 4, 5}, "queued");
  expect_state("slots", {6}, "ready");
  make("held.go");
  EXPECT_EQ(wait_for_end(*session, job), JobState::Succeeded);
}

TEST_F(StatesTest, YieldedWhileItsSlotIsLent) {
  start("w1", {"--slots", "1"});
  Graph graph;
  add_template(graph, "want");
  add_subtask(graph, 0, path_of("told"));
  const JobId job = submit("lent", std::move(graph));
  ASSERT_TRUE(await("told.begun"));
  expect_state("lent", {0}, "yielded");
  make("told");
  EXPECT_EQ(wait_for_end(*session, job), JobState::Succeeded);
}

// The worker that has the input stands still.
TEST_F(StatesTest, PreparingWhileItsInputsAreOnTheirWay) {
  start("w1", {"--slots", "1"});
  start("w2", {"--slots", "1"});
  Graph graph;
  add_template(graph, "hold").required.worker = "w2";
  add_template(graph, "hold").required.worker = "w1";
  add_template(graph, "noop").required.worker = "w1";
  add_subtask(graph, 0, path_of("made"));
  add_subtask(graph, 1, path_of("gate"));
  add_subtask(graph, 2, {}, {0, 1});
  const JobId job = submit("fetched", std::move(graph));
  ASSERT_TRUE(await("made") && await("gate"));
  make("made.go");
  ASSERT_TRUE(session->wait_subtask(job, SubtaskIndex{0}, kLong).has_value());
  cluster.worker("w2").signal_group(SIGSTOP);
  make("gate.go");
  expect_state("fetched", {2}, "preparing");
  cluster.worker("w2").signal_group(SIGCONT);
  EXPECT_EQ(wait_for_end(*session, job), JobState::Succeeded);
}

// Spec: worker 5. Two outputs are large, and one may be written at a time.
TEST_F(StatesTest, StoringAndWaitingForAStorePermit) {
  start("w1", {"--slots", "4", "--set", "worker.store_permits=1", "--set", "worker.command_output_max=1GiB"});
  bool waited = false;
  for (int tries = 0; tries < 20 && !waited; ++tries) {
    Graph graph;
    Template& writes = add_template(graph, "/bin/sh");
    writes.runner = RunnerKind::Command;
    writes.arguments = {"-c", "head -c 60000000 /dev/zero"};
    for (int i = 0; i < 4; ++i) add_subtask(graph, 0);
    const std::string name = "written-" + std::to_string(tries);
    const JobId job = submit(name, std::move(graph));
    while (session->wait(job, Duration{0}).value_or(JobState::Failed) == JobState::Running)
      for (std::uint32_t i = 0; i < 4; ++i) {
        const std::string told = told_of(name, i);
        waited |= told.find("\"worker_state\": \"storing\"") != std::string::npos &&
                  told.find("waits for a permit to store its outputs") != std::string::npos;
      }
    EXPECT_EQ(wait_for_end(*session, job), JobState::Succeeded);
  }
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace penstock
