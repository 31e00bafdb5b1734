#include "tests/simulation/world/sim_command.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/simulation/world/shrink.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::simulation {
namespace {

using std::chrono::milliseconds;

struct CommandRun {
  int code;
  std::string text;
};

CommandRun run(const SimOptions& options) {
  std::ostringstream out;
  const int code = run_simulation(options, out);
  return {code, out.str()};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

SimOptions failing() {
  SimOptions options;
  options.last_seed = 300;
  options.failures_max = 1;
  options.defect = Defect::RunsTwice;
  return options;
}

TEST(SimCommand, PassingSeedsAreOneLineOfTotalsAndTheHash) {
  SimOptions options;
  options.last_seed = 3;
  const CommandRun first = run(options);
  EXPECT_EQ(first.code, 0);
  EXPECT_TRUE(contains(first.text, "seeds 3, failed 0")) << first.text;
  EXPECT_TRUE(contains(first.text, "trace hash ")) << first.text;
  EXPECT_EQ(run(options).text, first.text);
}

TEST(SimCommand, AFailingSeedTellsASmallerOneItsLastEventsAndHowToReplayIt) {
  const CommandRun result = run(failing());
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.text, " FAILED: ")) << result.text;
  EXPECT_TRUE(contains(result.text, "its last events:\n")) << result.text;
  EXPECT_TRUE(contains(result.text, "DEFECT: it is started twice")) << result.text;
  EXPECT_TRUE(contains(result.text, "again: penstock-lab sim --seeds ")) << result.text;
}

TEST(SimCommand, JsonTellsTheSame) {
  SimOptions options = failing();
  options.json = true;
  options.shrink = false;
  const CommandRun result = run(options);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.text.starts_with("{\"seeds\": ")) << result.text;
  EXPECT_TRUE(contains(result.text, "\"failed\": 1")) << result.text;
  EXPECT_TRUE(contains(result.text, "\"replay\": \"penstock-lab sim --seeds ")) << result.text;
  EXPECT_EQ(std::count(result.text.begin(), result.text.end(), '\n'), 1);
}

TEST(SimCommand, ATraceHasALineForEachEvent) {
  SimOptions options;
  options.trace = true;
  options.subtasks_max = 10;
  const CommandRun result = run(options);
  EXPECT_TRUE(contains(result.text, "seed 1\n")) << result.text;
  EXPECT_TRUE(contains(result.text, " us  life 1 begins\n")) << result.text;
  EXPECT_TRUE(contains(result.text, " runs 1:")) << result.text;
}

TEST(SimCommand, BadOptionsAreRefusedWithOneSentence) {
  struct Case {
    const char* name;
    void (*spoil)(SimOptions&);
  };
  const Case cases[] = {
      {"level", [](SimOptions& o) { o.fault_level = 4; }},
      {"seeds", [](SimOptions& o) { o.first_seed = 2; }},
      {"without", [](SimOptions& o) { o.without = {"gremlins"}; }},
      {"no subtasks", [](SimOptions& o) { o.subtasks_max = 0; }},
      {"too many workers", [](SimOptions& o) { o.workers_max = 2'000'000; }},
  };
  for (const Case& entry : cases) {
    SimOptions options;
    entry.spoil(options);
    const CommandRun result = run(options);
    EXPECT_EQ(result.code, 2) << entry.name;
    EXPECT_EQ(std::count(result.text.begin(), result.text.end(), '\n'), 1) << result.text;
  }
}

TEST(SimCommand, KindsOfFaultCanBeLeftOut) {
  SimOptions options;
  options.without = {"crashes", "hangs"};
  const Result<WorldOptions> world = world_options_of(options, 7);
  ASSERT_TRUE(world.has_value());
  EXPECT_EQ(world->seed, 7U);
  EXPECT_FALSE(world->faults.crashes);
  EXPECT_FALSE(world->faults.hangs);
  EXPECT_TRUE(world->faults.losses);
}

TEST(SimCommand, AWorkflowRunsWithItsDurations) {
  auto workflow = std::make_shared<Workflow>();
  workflow->name = "two-steps";
  workflow->graph = GraphBuilder{}.add().expected(milliseconds{300}).add({0}).expected(milliseconds{500}).build();
  workflow->output_bytes = {1000, 0};
  WorldOptions options;
  options.workflow = workflow;
  const WorldResult result = run_world(options);
  EXPECT_TRUE(result.ok) << result.failure;
  EXPECT_EQ(result.subtasks, 2U);
  EXPECT_GE(result.makespan, milliseconds{800});
  EXPECT_LT(result.makespan, milliseconds{1400}) << "the cluster comes together within 500 ms";
  workflow->time_permille = 10;
  const WorldResult fast = run_world(options);
  EXPECT_LT(fast.makespan, milliseconds{600});
  SimOptions command;
  command.last_seed = 20;
  command.workflows = {workflow};
  const CommandRun all = run(command);
  EXPECT_EQ(all.code, 0) << all.text;
  EXPECT_TRUE(contains(all.text, "subtasks 40,")) << all.text;
}

bool needs_faults(const SmallestFailure& failure) {
  bool any_fault = false;
  visit_faults(failure.options.faults, [&](const char*, bool on) { any_fault = any_fault || on; });
  return any_fault;
}

// The search goes down step by step, and may end at the bottom of a small valley: one of the first failures is shrunk
// all the way.
TEST(Shrink, LeavesWhatTheFailureNeeds) {
  WorldOptions options;
  options.faults = Faults::of_level(Faults::kLevelMax);
  options.defect = Defect::RunsTwice;
  bool all_the_way = false;
  for (int failures = 0; failures < 5 && !all_the_way; ++options.seed) {
    if (run_world(options).ok) continue;
    ++failures;
    const SmallestFailure smallest = shrink(options);
    EXPECT_FALSE(smallest.result.ok);
    EXPECT_EQ(run_world(smallest.options).trace_hash, smallest.result.trace_hash) << "it replays";
    EXPECT_LE(smallest.options.subtasks_max, options.subtasks_max);
    all_the_way = smallest.options.jobs_max == 1 && smallest.options.workers_max == 1 &&
                  smallest.options.subtasks_max <= 4 && !needs_faults(smallest);
  }
  EXPECT_TRUE(all_the_way);
}

TEST(Shrink, TheLastLinesLeaveOutTicks) {
  EXPECT_EQ(last_lines("a\nb tick\nc\n", 2), "a\nc\n");
  EXPECT_EQ(last_lines("a\nb\nc\n", 1), "c\n");
  EXPECT_EQ(last_lines("", 5), "");
}

}  // namespace
}  // namespace penstock::simulation
