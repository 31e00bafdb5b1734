// Reports of `penstock-lab bench`, on graphs too small to be figures of anything.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/tools/lab.hpp"

namespace penstock {
namespace {

using Json = nlohmann::json;

Json bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  arguments.emplace_back("--json");
  const BinaryRun run = run_lab(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  return Json::parse(run.output, nullptr, false);
}

TEST(Bench, ReportsRatesBytesAndCostsOfEachProcess) {
  const Json found = bench({"--shape", "flat", "--subtasks", "30000", "--repeat", "1"});
  EXPECT_GT(found["subtasks_per_s"], 0.0);
  EXPECT_EQ(found["submit_to_accept"]["count"], 1);
  EXPECT_GT(found["first_10000_per_s"], 0.0);
  EXPECT_GT(found["last_10000_per_s"], 0.0);
  // Each subtask is assigned and reported: a few bytes at least, and far from a frame for each.
  if (found.contains("wire_bytes_per_subtask")) {
    EXPECT_GT(found["wire_bytes_per_subtask"], 2.0);
    EXPECT_LT(found["wire_bytes_per_subtask"], 1000.0);
  }
  ASSERT_EQ(found["processes"].size(), 3U);
  for (const Json& process : found["processes"]) EXPECT_GT(process["peak_bytes"], 0) << process;
}

TEST(Bench, AWorkerMayHaveSeveralBands) {
  for (const char* where : {"--embedded", "--no-journal"}) {
    const Json found = bench({"--subtasks", "100", "--repeat", "1", "--bands", "3", "--slots", "2", where});
    EXPECT_EQ(found["bands"], 3);
    EXPECT_EQ(found["slots"], 2);
    EXPECT_GT(found["subtasks_per_s"], 0.0);
  }
}

TEST(Bench, TheSupervisorKeepsAJournalAsUsersHaveItUnlessItIsToldNotTo) {
  EXPECT_EQ(bench({"--subtasks", "10", "--repeat", "1"})["journal"], true);
  EXPECT_EQ(bench({"--subtasks", "10", "--repeat", "1", "--no-journal"})["journal"], false);
  EXPECT_EQ(bench({"--subtasks", "10", "--repeat", "1", "--embedded"})["journal"], false)
      << "nobody could go on from it";
}

TEST(Bench, AgainSubmitsTheSameGraphAndSaysSoWhenItIsNotKept) {
  EXPECT_EQ(bench({"--subtasks", "100", "--repeat", "2", "--again"})["again"], true);
  const BinaryRun forgotten =
      run_lab({"bench", "--subtasks", "100", "--again", "--set", "supervisor.cached_graphs_max=0"});
  EXPECT_EQ(forgotten.exit_code, 2) << forgotten.output;
  EXPECT_NE(forgotten.errors.find("cached_graph"), std::string::npos) << forgotten.errors;
}

TEST(Bench, AChainThatAlternatesCrossesAtEachEdge) {
  const Json found =
      bench({"--shape", "chain", "--subtasks", "20", "--repeat", "1", "--alternate", "--workers", "2", "--latency"});
  EXPECT_EQ(found["successor_through_supervisor"]["count"], 19);
  EXPECT_EQ(found["successor_forwarded"]["count"], 0);
  EXPECT_EQ(found["submit_to_first_start"]["count"], 1);
}

TEST(Bench, CommandsAreMeasuredBesideTheBareSpawn) {
  const Json found = bench({"--subtasks", "20", "--repeat", "1", "--command", "/bin/true"});
  EXPECT_GT(found["spawn_bound_per_s"], 0.0);
  EXPECT_GT(found["of_spawn_bound"], 0.0);
}

TEST(Bench, IdleWorkersAreConnectedAndGetNothing) {
  const Json found = bench({"--subtasks", "100", "--repeat", "1", "--idle-workers", "20"});
  EXPECT_EQ(found["idle_workers"], 20);
  EXPECT_GT(found["subtasks_per_s"], 0.0);
}

TEST(Bench, SharesRunsAJobForEachWeightAndTheSameAsOne) {
  const Json found = bench({"shares", "--weights", "3,1", "--subtasks", "4001", "--repeat", "1", "--slots", "4"});
  EXPECT_GT(found["jobs_per_s"], 0.0);
  EXPECT_GT(found["one_job_without_policy_per_s"], 0.0);
  ASSERT_EQ(found["jobs"].size(), 2U);
  EXPECT_EQ(found["jobs"][0]["weight"], 3);
  EXPECT_EQ(found["jobs"][1]["by_weight"], 0.25);
  ASSERT_EQ(found["cpu_per_subtask"].size(), 4U);
  EXPECT_EQ(found["cpu_per_subtask"][3]["run"], "jobs");
}

TEST(Bench, SharesRefusesWhatItCannotRun) {
  const BinaryRun embedded = run_lab({"bench", "shares", "--embedded"});
  EXPECT_EQ(embedded.exit_code, 2) << embedded.output;
  EXPECT_NE(embedded.errors.find("--embedded"), std::string::npos) << embedded.errors;
  const BinaryRun few = run_lab({"bench", "shares", "--subtasks", "2"});
  EXPECT_EQ(few.exit_code, 2) << few.output;
  EXPECT_NE(run_lab({"bench", "shares", "--weights", "3,0"}).exit_code, 0);
  EXPECT_NE(run_lab({"bench", "shares", "--preset", "none", "--subtasks", "10"}).exit_code, 0);
}

TEST(Bench, AnUnknownShapeIsRefusedWithTheNearestOne) {
  const BinaryRun run = run_lab({"bench", "--shape", "flta"});
  EXPECT_EQ(run.exit_code, 2);
  for (const char* text : {"penstock-lab: error: ", "flta", "flat"})
    EXPECT_NE(run.errors.find(text), std::string::npos) << run.errors;
}

TEST(Bench, IdleTellsWhatEachDaemonUses) {
  const Json found = bench({"idle", "--seconds", "1"});
  EXPECT_EQ(found["processes"].size(), 2U);
}

}  // namespace
}  // namespace penstock
