// Slots that operators and runners lend: one slot, and subtasks that could not end without each other.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "client/include/penstock/client.hpp"
#include "common/host/clock.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::engine {
namespace {

/// A worker of one slot inside this process.
class YieldTest : public ::testing::Test {
 protected:
  static Client open() {
    ClientOptions options;
    options.slots = 1;
    options.operators = {PENSTOCK_YIELDING_OPERATORS};
    Expected<Client> client = Client::open(options);
    EXPECT_TRUE(client) << (client ? "" : client.failure().text());
    return std::move(client).value();
  }
  Job submit(GraphBuilder&& graph) {
    Expected<Job> job = client.submit(std::move(graph));
    EXPECT_TRUE(job) << (job ? "" : job.failure().text());
    return std::move(job).value();
  }
  static std::string result(const Job& job, Handle<std::string> handle) {
    const Expected<std::string> told = job.result(handle);
    return told ? told.value() : told.failure().text();
  }
  static Handle<std::string> add(GraphBuilder& graph, const std::string& name, const std::string& payload,
                                 std::int32_t priority = 0) {
    return graph.add_as(graph.operation<std::string>(name), {.payload = payload, .priority = priority});
  }
  static Handle<std::string> add_runner(GraphBuilder& graph, const std::string& payload, std::int32_t priority = 0) {
    return graph.add_as(graph.runner<std::string>({PENSTOCK_TEST_RUNNER}), {.payload = payload, .priority = priority});
  }
  bool await(const std::string& name) const {
    const Instant late = monotonic_now() + std::chrono::seconds{30};
    while (!std::filesystem::exists(scratch.at(name)) && monotonic_now() < late) std::this_thread::yield();
    return std::filesystem::exists(scratch.at(name));
  }

  const ScratchDirectory scratch;
  const std::string file = scratch.at("file");
  Client client = open();
};

TEST_F(YieldTest, AnOperatorLendsTheOnlySlotToWhatItWaitsFor) {
  GraphBuilder graph;
  const auto waits = add(graph, "yield_until", file, 9);
  const auto tells = add(graph, "tell", file);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(result(job, waits), "told");
  EXPECT_EQ(result(job, tells), "told it");
}

TEST_F(YieldTest, ARunnerLendsTheOnlySlotToWhatItWaitsFor) {
  GraphBuilder graph;
  const auto waits = add_runner(graph, "yield " + file, 9);
  const auto tells = add_runner(graph, "tell " + file);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(result(job, waits), "told");
  EXPECT_EQ(result(job, tells), "told it");
}

// Each waits for the next one: as deep as runs may lend their slots.
TEST_F(YieldTest, ManyMayWaitForOneAnotherInOneSlot) {
  GraphBuilder graph;
  constexpr int kDeep = 20;
  std::vector<Handle<std::string>> all;
  for (int i = 0; i < kDeep; ++i) {
    const std::string one = scratch.at(std::to_string(i));
    all.push_back(i % 2 == 0 ? add(graph, "yield_until", one, 9) : add_runner(graph, "yield " + one, 9));
    add(graph, "tell", one);
  }
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.wait().value(), JobState::Succeeded);
  for (int i = 0; i < kDeep; ++i)
    EXPECT_EQ(result(job, all[static_cast<std::size_t>(i)]), i % 2 == 0 ? "told" : "made");
}

TEST_F(YieldTest, WhatHasNoPlaceIsAnsweredWithAnError) {
  GraphBuilder graph;
  const auto misuse = add(graph, "misuse", "");
  const auto left = add(graph, "leave_lent", "");
  const Job native = submit(std::move(graph));
  EXPECT_EQ(result(native, misuse), "20 20 20 0 20 20");
  EXPECT_EQ(result(native, left), "left");
  GraphBuilder second;
  const auto twice = add_runner(second, "yield " + file + " twice", 9);
  add_runner(second, "tell " + file);
  const Job process = submit(std::move(second));
  EXPECT_EQ(result(process, twice), "told WrongState WrongState");
}

// Spec: worker 8. The run waits for a file that nobody makes.
TEST_F(YieldTest, ARunWhoseSlotIsLentIsCancelled) {
  for (const bool native : {true, false}) {
    const std::string name = native ? "native" : "process";
    GraphBuilder graph;
    const auto waits =
        native ? add(graph, "yield_until", scratch.at(name)) : add_runner(graph, "yield " + scratch.at(name));
    Job job = submit(std::move(graph));
    ASSERT_TRUE(await(name + ".begun"));
    ASSERT_TRUE(job.cancel());
    EXPECT_EQ(job.wait().value(), JobState::Cancelled) << name;
    EXPECT_FALSE(job.result(waits));
  }
  GraphBuilder graph;
  const auto after = graph.value(std::string{"the slot is free"});
  EXPECT_EQ(result(submit(std::move(graph)), after), "the slot is free");
}

// Somebody has its slot, and does not think of leaving it.
TEST_F(YieldTest, ARunThatWaitsForItsSlotIsCancelled) {
  for (const bool native : {true, false}) {
    const std::string name = native ? "native" : "process";
    const std::string path = scratch.at(name);
    GraphBuilder graph;
    const auto wants = native ? add(graph, "want", path, 9) : add_runner(graph, "yield " + path + " want", 9);
    const auto holds = add(graph, "hold", path);
    Job job = submit(std::move(graph));
    ASSERT_TRUE(await(name + ".wants"));
    ASSERT_TRUE(job.cancel(wants));
    EXPECT_EQ(job.wait(wants).value(), JobState::Cancelled) << path;
    EXPECT_EQ(job.wait(holds, std::chrono::milliseconds{0}).value(), JobState::Running) << path;
    std::ofstream{path + ".go"} << "go" << std::endl;
    EXPECT_EQ(result(job, holds), "held");
  }
}

}  // namespace
}  // namespace penstock::engine
