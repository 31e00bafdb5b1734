// `penstock-lab policy simulate` and its like through the real binary.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/integration/tools/lab.hpp"

namespace penstock {
namespace {

const std::string kHead = "name,project,arrives_s,runs_s,devices\n";

/// A computation that would take this process hours ends at once.
TEST(Simulate, SignalsEndCommandsThatComputeOnly) {
  const ScratchDirectory scratch;
  std::string jobs = kHead;
  for (int i = 0; i < 100'000; ++i) jobs += "j" + std::to_string(i) + ",p,0,1,1\n";
  const std::string trace = scratch.write("trace.csv", jobs);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string csv = scratch.at("csv-" + std::to_string(signal));
    RunningBinary replay{lab_call({{"policy", "simulate", "--trace", trace, "--csv", csv}, {}, {}, {}})};
    ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(csv); })) << "it begins its files before it replays";
    replay.process().signal_group(signal);
    EXPECT_EQ(replay.end_signal(), signal);
  }
  RunningBinary sim{lab_call({{"sim", "--seeds", "1..1000000", "--trace"}, {}, {}, {}})};
  ASSERT_TRUE(wait_until([&] { return !sim.output().empty(); }));
  sim.process().signal_group(SIGINT);
  EXPECT_EQ(sim.end_signal(), SIGINT);
}

TEST(Simulate, WhatStandardOutputDoesNotTakeIsAnError) {
  const ScratchDirectory scratch;
  const std::string trace = scratch.write("trace.csv", kHead + "a,p,0,1,1\n");
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"policy", "simulate", "--trace", trace, "--json"},
        {"--help"},
        {"policy", "simulate", "--help"},
        {"--version"}}) {
    const BinaryRun run = run_lab(BinaryCall{call, {}, {}, {}, "/dev/full"});
    EXPECT_EQ(run.exit_code, 2) << call.front();
    EXPECT_EQ(run.errors, "penstock-lab: error: standard output: could not take all of it (is the disk full?)\n");
  }
}

TEST(Simulate, NamesComeThroughListsAsTheyAre) {
  const ScratchDirectory scratch;
  const std::string trace =
      scratch.write("trace.csv", "name,project,arrives_s,runs_s,members,devices\n\"x\"\"y\",\"p,q\",0,1,2,1\n");
  const std::string bands =
      scratch.write("bands.csv", "sn,cpu_milli,memory_mib,gpu,model\nband a,1,1,1,G\n\"b,c\",1,1,1,G\n");
  const std::string jobs = scratch.at("jobs.csv");
  const BinaryRun run =
      run_lab({"policy", "simulate", "--trace", trace, "--nodes", bands, "--policy", "quota", "--jobs", jobs});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(scratch.read("jobs.csv"),
            "policy,job,project,arrived_s,started_s,ended_s,bands,preempted_s,waited_s\n"
            "quota,\"x\"\"y\",\"p,q\",0,0,1,\"band a;b,c\",,0\n");
}

TEST(Simulate, AFileThatIsReadIsNotWritten) {
  const ScratchDirectory scratch;
  const std::string trace = scratch.write("trace.csv", kHead + "a,p,0,1,1\n");
  const BinaryRun over = run_lab({"policy", "simulate", "--trace", trace, "--jobs", trace});
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_NE(over.errors.find("--jobs, and is the file of --trace"), std::string::npos) << over.errors;
  EXPECT_EQ(scratch.read("trace.csv"), kHead + "a,p,0,1,1\n");
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--pool", "all"}, {"--set", "policy.period=1s"}}) {
    const std::string config = "[[policy.pool]]\nname = \"all\"\n";
    for (const char* variable : {"PENSTOCK_CONFIG=", "PENSTOCK_CONFIG=penstock.toml"}) {
      scratch.write("penstock.toml", config);
      std::vector<std::string> call{"policy", "simulate", "--trace", trace, "--csv", "penstock.toml"};
      call.insert(call.end(), asked.begin(), asked.end());
      const BinaryRun run = run_lab(BinaryCall{call, {}, scratch.path(), {variable}});
      EXPECT_NE(run.errors.find("--csv, and is the file of --config"), std::string::npos) << run.errors;
      EXPECT_EQ(scratch.read("penstock.toml"), config) << "it is read without being named";
    }
  }
  const std::string plot = scratch.write("p_used.svg", kHead + "a,p,0,1,1\n");
  EXPECT_EQ(run_lab({"policy", "simulate", "--trace", plot, "--svg", scratch.at("p_")}).exit_code, 2);
  const std::string fresh = scratch.at("fresh.csv");
  EXPECT_EQ(run_lab({"policy", "generate", "--trace", fresh, "--nodes", fresh}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(fresh));
}

// `--set` was taken and not looked at.
TEST(Simulate, ASettingIsOfThePoolThatIsReplayed) {
  const ScratchDirectory scratch;
  const std::string trace = scratch.write("trace.csv", kHead + "a,p,0,1,1\n");
  const auto replay_with = [&](const std::string& setting) {
    return run_lab(BinaryCall{
        {"policy", "simulate", "--trace", trace, "--set", setting}, {}, scratch.path(), {"PENSTOCK_CONFIG="}});
  };
  EXPECT_NE(replay_with("policy.period=1s").errors.find("has no pool"), std::string::npos);
  scratch.write("penstock.toml", "[[policy.pool]]\nname = \"all\"\n");
  EXPECT_EQ(replay_with("policy.nonsense=5").exit_code, 2);
  const BinaryRun run = replay_with("policy.period=1s");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.output.find("| `pool all` |"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("| `quota` |"), std::string::npos) << run.output;
}

// A trace with the priorities of such a pool was replayed upside down.
TEST(Simulate, PrioritiesAreThoseOfThePool) {
  const ScratchDirectory scratch;
  const std::string config =
      scratch.write("pool.toml", "[[policy.pool]]\nname = \"all\"\npreset = \"priority\"\npriorities = \"1-99\"\n");
  const auto replay = [&](const std::string& first, const std::string& second) {
    const std::string trace =
        scratch.write("trace.csv", "name,project,arrives_s,runs_s,devices,priority\nfirst,p,0,100,1," + first +
                                       "\nsecond,p,0,100,1," + second + "\n");
    return run_lab({"policy", "simulate", "--trace", trace, "--bands", "1", "--devices", "1", "--config", config,
                       "--policy", "priority", "--jobs", scratch.at("jobs.csv")});
  };
  ASSERT_EQ(replay("99", "1").exit_code, 0);
  const std::string jobs = scratch.read("jobs.csv");
  for (const char* policy : {"pool all", "priority"})
    EXPECT_NE(jobs.find(std::string{policy} + ",second,p,0,0,100,"), std::string::npos) << jobs;
  for (const char* wrong : {"0", "100", "-1", "5000000000"}) {
    const BinaryRun run = replay("1", wrong);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.errors.find("job 'second' of the trace: has priority " + std::string{wrong}), std::string::npos)
        << run.errors;
  }
}

TEST(Simulate, GangsThatOnlyFitInPartsAreToldApart) {
  const ScratchDirectory scratch;
  const std::string trace = scratch.write(
      "trace.csv", "name,project,arrives_s,runs_s,members,devices\nin parts,p,0,1,3,1\nlarge,p,0,1,1,3\n");
  const BinaryRun run =
      run_lab({"policy", "simulate", "--trace", trace, "--bands", "2", "--devices", "2", "--policy", "priority"});
  EXPECT_NE(run.output.find("1 jobs that the bands could not hold if they were empty, under `priority`"),
            std::string::npos)
      << run.output;
  EXPECT_NE(run.output.find("1 gangs that fit neither on one band nor on whole bands of one size, under `priority`"),
            std::string::npos)
      << run.output;
}

}  // namespace
}  // namespace penstock
