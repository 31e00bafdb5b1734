// The cluster's policy with real processes: the number of slots that each job gets, judged by its runs, and the jobs
// that give slots back.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

/// A graph of `count` runs of `sh -c SCRIPT`.
Graph commands(std::uint32_t count, const std::string& script) {
  Graph graph;
  Template program;
  program.name = "shell";
  program.runner = RunnerKind::Command;
  program.program = "sh";
  program.arguments = {"-c", script};
  graph.templates = {program};
  graph.template_of.assign(count, 0);
  graph.input_offsets.assign(count + 1, 0);
  return graph;
}

/// The file of a policy that preempts by priority.
std::string preempting(const ScratchDirectory& scratch) {
  return scratch.write("policy.toml",
                       "[policy]\nperiod = \"50ms\"\n[[policy.pool]]\nname = \"all\"\npreset = \"priority\"\n"
                       "preemption = true\n");
}

JobSpec of_project(const std::string& name, const std::string& project) {
  JobSpec spec = named(name);
  spec.keep = Keep::Nothing;
  spec.policy.project = project;
  return spec;
}

/// Rows of an answer by the field `key`.
std::map<std::string, Value> rows(client::Session& session, const std::string& command, const std::string& key) {
  std::map<std::string, Value> found;
  const Result<Value> answer = session.ask(command, {});
  if (answer.has_value() && answer->list() != nullptr)
    for (const Value& row : *answer->list())
      if (row[key].text() != nullptr) found[*row[key].text()] = row;
  return found;
}

std::int64_t number(const Value& value) { return value.integer() == nullptr ? -1 : *value.integer(); }

std::int64_t running_on(client::Session& session, const std::string& worker) {
  return number(rows(session, "workers", "name")[worker]["running"]);
}

/// A script that ends when the file is there.
std::string until_there(const ScratchDirectory& scratch, const std::string& file) {
  return "while [ ! -e " + scratch.at(file) + " ]; do sleep 0.02; done";
}

// All three are there before the first slot is. When the first has run all that it has, the others have run their
// parts.
TEST(PolicyLive, ThreeProjectsShareTwoWorkersAsConfigured) {
  constexpr std::uint32_t kOfFirst = 600;
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[[policy.pool]]\nname = \"all\"\npreset = \"quota\"\n"
                                           "[[policy.project]]\nname = \"a\"\nweight = 3\n"
                                           "[[policy.project]]\nname = \"b\"\nweight = 2\n"
                                           "[[policy.project]]\nname = \"c\"\nweight = 1\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  const auto session = cluster.connect();
  std::map<std::string, JobId> jobs;
  for (const std::string project : {"a", "b", "c"}) {
    JobSpec spec = of_project(project, project);
    spec.wait_for_resources = true;
    const auto submitted = session->submit(spec, commands(kOfFirst, "sleep 0.05"));
    ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
    jobs[project] = submitted->job;
  }
  cluster.start_worker("w1", {"--slots", "3"});
  cluster.start_worker("w2", {"--slots", "3"});
  ASSERT_EQ(wait_for_end(*session, jobs["a"]), JobState::Succeeded) << cluster.log_of("supervisor");
  std::map<std::string, Value> after = rows(*session, "jobs", "name");
  const std::int64_t second = number(after["b"]["succeeded"]);
  const std::int64_t third = number(after["c"]["succeeded"]);
  RecordProperty("second", static_cast<int>(second));
  RecordProperty("third", static_cast<int>(third));
  const double total = static_cast<double>(kOfFirst + second + third);
  EXPECT_NEAR(kOfFirst / total, 3.0 / 6, 0.05) << second << " and " << third;
  EXPECT_NEAR(static_cast<double>(second) / total, 2.0 / 6, 0.05) << second << " and " << third;
  EXPECT_NEAR(static_cast<double>(third) / total, 1.0 / 6, 0.05) << second << " and " << third;
}

TEST(PolicyLive, SighupReadsTheConfigurationAgainAndAWrongOneChangesNothing) {
  const ScratchDirectory scratch;
  const auto configure = [&](const std::string& slots) {
    return scratch.write("policy.toml",
                         "[[policy.pool]]\nname = \"all\"\npreset = \"quota\"\n"
                         "[[policy.project]]\nname = \"a\"\nguaranteed_slots = " +
                             slots + "\n");
  };
  ClusterProcesses cluster{{"--config", configure("1"), "--no-state"}};
  const auto session = cluster.connect();
  const auto guaranteed = [&] { return number(rows(*session, "projects", "project")["a"]["guaranteed_slots"]); };
  ASSERT_EQ(guaranteed(), 1);
  configure("2");
  cluster.supervisor().signal_group(SIGHUP);
  EXPECT_TRUE(wait_until([&] { return guaranteed() == 2; })) << cluster.log_of("supervisor");
  configure("-3");
  cluster.supervisor().signal_group(SIGHUP);
  const auto order = [&](const char* field) {
    const std::map<std::string, Value> orders = rows(*session, "audit", "order");
    const auto reload = orders.find("reload");
    return reload == orders.end() ? std::string{} : *reload->second[field].text();
  };
  EXPECT_TRUE(wait_until([&] { return order("outcome").find("guaranteed_slots is -3") != std::string::npos; }))
      << cluster.log_of("supervisor");
  EXPECT_EQ(guaranteed(), 2);
  EXPECT_EQ(order("who"), "SIGHUP");
}

// Each of its members goes on only when all of them run, on two workers that another job keeps busy.
TEST(PolicyLive, AGangOverTwoWorkersRunsAsAWhole) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  cluster.start_worker("w1", {"--slots", "2"});
  cluster.start_worker("w2", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  JobSpec small = of_project("small", "");
  const auto busy = session->submit(small, commands(400, "sleep 0.02"));
  ASSERT_TRUE(busy.has_value()) << to_string(busy.error());
  ASSERT_TRUE(wait_until([&] { return number(rows(*session, "jobs", "name")["small"]["succeeded"]) > 4; }));
  JobSpec gang = of_project("gang", "");
  gang.priority = 5;
  gang.policy.gang = 4;
  const std::string here = scratch.at("member.");
  const auto submitted = session->submit(
      gang, commands(4, "touch " + here + "$$; until [ $(ls " + here + "* | wc -l) = 4 ]; do sleep 0.02; done"));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  ASSERT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded) << cluster.log_of("supervisor");
  const Value pool = rows(*session, "pools", "pool")["all"];
  EXPECT_GE(number(pool["barriers"]), 1) << "it waited at a barrier";
  ASSERT_EQ(wait_for_end(*session, busy->job), JobState::Succeeded) << "and others go on";
}

// Enough is free in either rack when the gang comes; it can grow in the second only.
TEST(PolicyLive, AGangStaysInOneRackAndGrowsThere) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  const auto start = [&](const char* name, const char* slots, const char* rack) {
    cluster.start_worker(name, {"--slots", slots, "--label", rack});
  };
  start("w1", "2", "rack-1");
  start("w2", "1", "rack-1");
  start("w3", "2", "rack-2");
  start("w4", "1", "rack-2");
  ASSERT_TRUE(cluster.wait_for_workers(4));
  const auto session = cluster.connect();
  const auto running = [&](const char* worker) { return running_on(*session, worker); };
  JobSpec first = of_project("first", "");
  first.policy.labels = {"rack-1"};
  const auto busy = session->submit(first, commands(1, until_there(scratch, "ends")));
  ASSERT_TRUE(busy.has_value()) << to_string(busy.error());
  ASSERT_TRUE(wait_until([&] { return running("w1") + running("w2") == 1; }));
  JobSpec gang = of_project("gang", "");
  gang.policy.gang = 2;
  gang.policy.gang_max = 9;
  gang.policy.together = "rack-*";
  const auto submitted = session->submit(gang, commands(9, until_there(scratch, "ends")));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_TRUE(wait_until([&] { return running("w3") == 2 && running("w4") == 1; })) << cluster.log_of("supervisor");
  EXPECT_EQ(running("w1") + running("w2"), 1) << "the other rack has nothing of it";
  scratch.write("ends", "");
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded) << cluster.log_of("supervisor");
  gang.name = "large";
  gang.policy.gang = 4;
  const auto refused = session->submit(gang, commands(4, "true"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(to_string(refused.error()).find("fits on no group of workers with one label of pool 'all' alone"),
            std::string::npos)
      << to_string(refused.error());
}

// Each rack has three slots: a group of two leaves one idle, and the other group is in the other rack.
TEST(PolicyLive, EachGroupOfAGangIsInOneRack) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  for (const auto& [name, slots, rack] :
       {std::tuple{"w1", "2", "rack-1"}, {"w2", "1", "rack-1"}, {"w3", "1", "rack-2"}, {"w4", "2", "rack-2"}})
    cluster.start_worker(name, {"--slots", slots, "--label", rack});
  ASSERT_TRUE(cluster.wait_for_workers(4));
  const auto session = cluster.connect();
  const auto running = [&](const char* worker) { return running_on(*session, worker); };
  JobSpec gang = of_project("gang", "");
  gang.policy.gang = 4;
  gang.policy.together = "rack-*";
  const auto refused = session->submit(gang, commands(4, "true"));
  EXPECT_FALSE(refused.has_value()) << "no rack has four slots";
  gang.policy.gang_groups = 2;
  const auto submitted = session->submit(gang, commands(4, until_there(scratch, "ends")));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_TRUE(wait_until([&] { return running("w1") + running("w2") == 2 && running("w3") + running("w4") == 2; }))
      << cluster.log_of("supervisor");
  scratch.write("ends", "");
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded) << cluster.log_of("supervisor");
}

// The first pool is taken, so it goes to the second; there only one worker has its label. Each run says where it is.
TEST(PolicyLive, AJobGoesToTheNextOfItsPoolsAndToWorkersWithItsLabelOnly) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[policy]\nperiod = \"50ms\"\n"
                                           "[[policy.pool]]\nname = \"near\"\npreset = \"multifactor\"\n"
                                           "workers = [\"near-*\"]\n"
                                           "[[policy.pool]]\nname = \"rest\"\npreset = \"multifactor\"\n"
                                           "[[policy.project]]\nname = \"a\"\npools = [\"near\", \"rest\"]\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  const std::string host = scratch.write("worker.toml", "[host]\nlabels = [\"slow\", \"fast\"]\n");
  cluster.start_worker("near-1", {"--slots", "1", "--config", host, "--label", "fast"});
  cluster.start_worker("far-1", {"--slots", "4"});
  cluster.start_worker("far-2", {"--slots", "1", "--config", host});
  const auto session = cluster.connect();
  ASSERT_TRUE(wait_until([&] { return rows(*session, "workers", "name").size() == 3; }));
  EXPECT_EQ(*rows(*session, "workers", "name")["far-2"]["labels"].text(), "slow,fast");
  EXPECT_EQ(*rows(*session, "workers", "name")["near-1"]["labels"].text(), "fast");
  JobSpec first = of_project("first", "a");
  const auto holds = session->submit(first, commands(1, until_there(scratch, "go")));
  ASSERT_TRUE(holds.has_value()) << to_string(holds.error());
  const auto pool_of = [&](const char* job) {
    const Value pool = rows(*session, "queue", "name")[job]["pool"];
    return pool.text() == nullptr ? std::string{} : *pool.text();
  };
  ASSERT_TRUE(wait_until([&] { return number(rows(*session, "jobs", "name")["first"]["assigned"]) == 1; }));
  EXPECT_EQ(pool_of("first"), "near");
  JobSpec second = of_project("second", "a");
  second.policy.labels = {"fast"};
  const auto follows = session->submit(second, commands(3, "sleep 0.01"));
  ASSERT_TRUE(follows.has_value()) << to_string(follows.error());
  ASSERT_EQ(wait_for_end(*session, follows->job), JobState::Succeeded) << cluster.log_of("supervisor");
  EXPECT_EQ(pool_of("first"), "near") << "it is still there";
  second.name = "third";
  second.policy.labels = {"new"};
  const auto nobody = session->submit(second, commands(1, "true"));
  ASSERT_FALSE(nobody.has_value());
  EXPECT_NE(to_string(nobody.error()).find("it runs on 'new' only"), std::string::npos) << to_string(nobody.error());
  scratch.write("go", "");
  EXPECT_EQ(wait_for_end(*session, holds->job), JobState::Succeeded);
}

// Row D6 of issue 23: the slots of the pool that became free stayed idle until the end of the job.
TEST(PolicyLive, ABagHoldsSlotsInAllItsPools) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[policy]\nperiod = \"50ms\"\n"
                                           "[[policy.pool]]\nname = \"gpu\"\npreset = \"fair_share\"\n"
                                           "workers = [\"gpu-*\"]\n"
                                           "[[policy.pool]]\nname = \"rest\"\npreset = \"fair_share\"\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  cluster.start_worker("gpu-1", {"--slots", "2"});
  cluster.start_worker("cpu-1", {"--slots", "3"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  const auto submit = [&](const std::string& name, std::vector<std::string> pools, std::uint32_t count,
                          const std::string& ends) {
    JobSpec spec = of_project(name, "");
    spec.policy.pools = std::move(pools);
    spec.policy.preemptible = Preemptible::No;
    const auto submitted = session->submit(spec, commands(count, until_there(scratch, ends)));
    EXPECT_TRUE(submitted.has_value()) << to_string(submitted.error());
    return submitted->job;
  };
  const auto running = [&](const char* worker) { return running_on(*session, worker); };
  const JobId first = submit("first", {"gpu"}, 2, "first-ends");
  ASSERT_TRUE(wait_until([&] { return running("gpu-1") == 2; }));
  const JobId bag = submit("bag", {"gpu", "rest"}, 40, "bag-ends");
  ASSERT_TRUE(wait_until([&] { return running("cpu-1") == 3; })) << cluster.log_of("supervisor");
  scratch.write("first-ends", "");
  ASSERT_EQ(wait_for_end(*session, first), JobState::Succeeded);
  EXPECT_TRUE(wait_until([&] { return running("gpu-1") == 2; })) << cluster.log_of("supervisor");
  EXPECT_EQ(running("cpu-1"), 3) << "what runs goes on";
  EXPECT_TRUE(wait_until([&] { return *rows(*session, "queue", "name")["bag"]["pool"].text() == "gpu,rest"; }));
  scratch.write("bag-ends", "");
  EXPECT_EQ(wait_for_end(*session, bag), JobState::Succeeded) << cluster.log_of("supervisor");
}

// Each is given one device, and runs two halves on it at once; neither waits for the other's.
TEST(PolicyLive, TwoProjectsShareTwoDevicesByHalves) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[policy]\nperiod = \"50ms\"\n[[policy.pool]]\nname = \"all\"\n"
                                           "preset = \"quota\"\n"
                                           "[[policy.project]]\nname = \"a\"\nguaranteed_gpu_slots = 1\n"
                                           "[[policy.project]]\nname = \"b\"\nguaranteed_gpu_slots = 1\n");
  const std::string host = scratch.write("worker.toml", "[host]\nnvml_library = \"" PENSTOCK_FAKE_NVML "\"\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  cluster.start_worker("w1", {"--config", host});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  for (const std::string project : {"a", "b"}) {
    Graph graph = commands(8, "while :; do sleep 0.05; done");
    graph.templates[0].request.slots = MilliSlots{500};
    graph.templates[0].request.gpu = MilliGpu{500};
    const auto submitted = session->submit(of_project(project, project), graph);
    ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  }
  const auto running = [&] {
    std::int64_t sum = 0;
    for (const auto& [band, row] : rows(*session, "bands", "band"))
      if (*row["kind"].text() == "gpu") sum += number(row["running"]);
    return sum;
  };
  EXPECT_TRUE(wait_until([&] { return running() == 4; })) << running() << cluster.log_of("supervisor");
  std::map<std::string, Value> projects = rows(*session, "projects", "project");
  EXPECT_EQ(number(projects["a"]["gpu_slots"]), 1);
  EXPECT_EQ(number(projects["b"]["gpu_slots"]), 1);
  for (const std::string project : {"a", "b"}) (void)session->ask("cancel", {project});
}

/// The devices that runs of that name have written down, each in a file `NAME.PROCESS`.
std::vector<std::string> devices_seen_by(const ScratchDirectory& scratch, const std::string& name) {
  std::vector<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator{scratch.path()})
    if (entry.path().filename().string().starts_with(name + "."))
      if (const std::string text = scratch.read(entry.path().filename().string()); !text.empty()) seen.push_back(text);
  return seen;
}

// Parts of two jobs share one device of the host, and the other one is a third job's, which came between them.
TEST(PolicyLive, PartsOfAHostsDevicesLeaveAWholeOne) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[policy]\nperiod = \"50ms\"\n[[policy.pool]]\nname = \"all\"\n"
                                           "preset = \"quota\"\n");
  const std::string host =
      scratch.write("worker.toml", "[host]\ngpus_together = true\nnvml_library = \"" PENSTOCK_FAKE_NVML "\"\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  cluster.start_worker("w1", {"--config", host});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto run = [&](const std::string& name, std::int64_t milli) {
    Graph graph = commands(1, "echo $CUDA_VISIBLE_DEVICES > " + scratch.at(name) + ".$$; while :; do sleep 0.05; done");
    graph.templates[0].request.slots = MilliSlots{milli};
    graph.templates[0].request.gpu = MilliGpu{milli};
    const auto submitted = session->submit(of_project(name, ""), graph);
    EXPECT_TRUE(submitted.has_value()) << to_string(submitted.error());
    EXPECT_TRUE(wait_until([&] { return !devices_seen_by(scratch, name).empty(); })) << cluster.log_of("supervisor");
  };
  run("half", 500);
  run("whole", 1000);
  run("other", 400);
  EXPECT_EQ(devices_seen_by(scratch, "half"), devices_seen_by(scratch, "other"));
  EXPECT_NE(devices_seen_by(scratch, "half"), devices_seen_by(scratch, "whole"));
  for (const std::string name : {"half", "whole", "other"}) (void)session->ask("cancel", {name});
}

// A more important run of two devices gets both, which two runs of one device have.
TEST(PolicyLive, ARunHasSeveralDevicesOfItsHost) {
  const ScratchDirectory scratch;
  const std::string host =
      scratch.write("worker.toml", "[host]\ngpus_together = true\nnvml_library = \"" PENSTOCK_FAKE_NVML "\"\n");
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  cluster.start_worker("w1", {"--config", host});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto run = [&](const std::string& name, std::int64_t gpus, std::int32_t priority, std::uint32_t count,
                       const std::string& then) {
    Graph graph = commands(count, "echo $CUDA_VISIBLE_DEVICES > " + scratch.at(name) + ".$$; " + then);
    graph.templates[0].request.slots = kOneSlot * gpus;
    graph.templates[0].request.gpu = MilliGpu{1000} * gpus;
    JobSpec spec = of_project(name, "");
    spec.priority = priority;
    const auto submitted = session->submit(spec, graph);
    EXPECT_TRUE(submitted.has_value()) << to_string(submitted.error());
    return submitted->job;
  };
  const auto seen_by = [&](const std::string& name) { return devices_seen_by(scratch, name); };
  run("single", 1, 0, 2, "while :; do sleep 0.05; done");
  ASSERT_TRUE(wait_until([&] { return seen_by("single").size() == 2; })) << cluster.log_of("supervisor");
  EXPECT_NE(seen_by("single")[0], seen_by("single")[1]) << "each has a device of its own";
  const JobId both = run("pair", 2, 5, 1, "true");
  ASSERT_EQ(wait_for_end(*session, both), JobState::Succeeded) << cluster.log_of("supervisor");
  EXPECT_EQ(seen_by("pair"), (std::vector<std::string>{"GPU-11111111-aaaa-bbbb-cccc-000000000001,"
                                                       "GPU-22222222-aaaa-bbbb-cccc-000000000002\n"}));
  (void)session->ask("cancel", {"single"});
}

// The preempted job is asked to save its progress, leaves, and goes on from there when the gang is done.
TEST(PolicyLive, AGangOfHigherPriorityPreemptsAndThePreemptedJobResumes) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  const std::string shared = scratch.at("shared");
  cluster.start_worker("w1", {"--slots", "2", "--checkpoints", shared});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto low = session->submit(
      of_project("low", ""),
      commands(2, "if [ -e $PENSTOCK_CHECKPOINT_DIR/saved ]; then touch " + scratch.at("resumed-") +
                      "${PENSTOCK_SUBTASK##*:}; exit 0; fi; trap 'touch $PENSTOCK_CHECKPOINT_DIR/saved; exit 0' TERM; "
                      "touch " +
                      scratch.at("began-") + "${PENSTOCK_SUBTASK##*:}; while :; do sleep 0.02; done"));
  ASSERT_TRUE(low.has_value()) << to_string(low.error());
  const auto exist = [&](const std::string& what) {
    return std::filesystem::exists(scratch.at(what + "-0")) && std::filesystem::exists(scratch.at(what + "-1"));
  };
  ASSERT_TRUE(wait_until([&] { return exist("began"); })) << cluster.log_of("supervisor");
  JobSpec high = of_project("high", "");
  high.priority = 10;
  high.policy.gang = 2;
  const auto gang = session->submit(high, commands(2, "true"));
  ASSERT_TRUE(gang.has_value()) << to_string(gang.error());
  EXPECT_EQ(wait_for_end(*session, gang->job), JobState::Succeeded);
  EXPECT_EQ(wait_for_end(*session, low->job), JobState::Succeeded);
  EXPECT_TRUE(exist("resumed"));
  const std::map<std::string, Value> audit = rows(*session, "audit", "order");
  EXPECT_TRUE(audit.contains("preempt 1:0") && audit.contains("preempt 1:1"));
  EXPECT_TRUE(std::filesystem::is_empty(shared + "/attempts")) << "what was saved goes with success";
}

// Such a program ran again from the start.
TEST(PolicyLive, AProgramThatIgnoresTheRequestToLeaveAndSucceedsIsDone) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  cluster.start_worker("w1", {"--slots", "1", "--checkpoints", scratch.at("shared")});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto low = session->submit(of_project("low", ""),
                                   commands(1, "trap '' TERM; echo run >> " + scratch.at("runs") + "; while [ ! -e " +
                                                   scratch.at("asked") + " ]; do sleep 0.02; done"));
  ASSERT_TRUE(low.has_value()) << to_string(low.error());
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(scratch.at("runs")); })) << cluster.log_of("supervisor");
  JobSpec high = of_project("high", "");
  high.priority = 10;
  const auto important = session->submit(high, commands(1, "true"));
  ASSERT_TRUE(important.has_value()) << to_string(important.error());
  ASSERT_TRUE(wait_until([&] { return rows(*session, "audit", "order").contains("preempt 1:0"); }));
  scratch.write("asked", "");
  EXPECT_EQ(wait_for_end(*session, important->job), JobState::Succeeded);
  EXPECT_EQ(wait_for_end(*session, low->job), JobState::Succeeded);
  EXPECT_EQ(scratch.read("runs"), "run\n");
}

// Found by an acceptance test: the saved progress of jobs that never ran again stayed on shared storage for ever.
TEST(PolicyLive, WhatCancelledAndFailedJobsHaveSavedGoesWithThem) {
  const ScratchDirectory scratch;
  ClusterProcesses cluster{{"--config", preempting(scratch), "--no-state"}};
  const std::string attempts = scratch.at("shared") + "/attempts";
  cluster.start_worker("w1", {"--slots", "1", "--checkpoints", scratch.at("shared")});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto saved = [&] { return count_files_below(attempts); };
  const auto low = session->submit(of_project("low", ""),
                                   commands(1, "trap 'touch $PENSTOCK_CHECKPOINT_DIR/saved; exit 0' TERM; touch " +
                                                   scratch.at("began") + "; while :; do sleep 0.02; done"));
  ASSERT_TRUE(low.has_value()) << to_string(low.error());
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(scratch.at("began")); })) << cluster.log_of("supervisor");
  JobSpec high = of_project("high", "");
  high.priority = 10;
  const auto failing = session->submit(high, commands(1, "touch $PENSTOCK_CHECKPOINT_DIR/saved; while [ ! -e " +
                                                             scratch.at("fail") + " ]; do sleep 0.02; done; exit 3"));
  ASSERT_TRUE(failing.has_value()) << to_string(failing.error());
  EXPECT_TRUE(wait_until([&] { return saved() == 2; })) << "one waits and may go on, one runs";
  ASSERT_TRUE(session->ask("cancel", {"low"}).has_value());
  EXPECT_EQ(wait_for_end(*session, low->job), JobState::Cancelled);
  EXPECT_TRUE(wait_until([&] { return saved() == 1; })) << saved();
  scratch.write("fail", "");
  EXPECT_EQ(wait_for_end(*session, failing->job), JobState::Failed);
  EXPECT_TRUE(wait_until([&] { return std::filesystem::is_empty(attempts); }));
}

// Levels of service, limits and holds, from the configuration file to the jobs that run.
TEST(PolicyLive, ALimitHoldsAJobAndAnOperatorAnotherOne) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[policy]\nperiod = \"50ms\"\n"
                                           "[[policy.pool]]\nname = \"all\"\npreset = \"multifactor\"\n"
                                           "[policy.pool.factors]\nfair_share = 0\n"
                                           "[[policy.qos]]\nname = \"expedite\"\nusers = [\"ann\"]\n"
                                           "[[policy.user]]\nname = \"ann\"\nrunning_jobs_max = 1\n");
  ClusterProcesses cluster{{"--config", config, "--no-state", "--insecure"}};
  cluster.start_worker("w1", {"--slots", "4"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto submit = [&](const std::string& name, const std::string& owner, const std::string& script) {
    JobSpec spec = of_project(name, "");
    spec.owner = owner;
    spec.policy.qos = "expedite";
    return session->submit(spec, commands(1, script));
  };
  const auto refused = submit("refused", "bob", "true");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(to_string(refused.error()).find("is not granted to user 'bob'"), std::string::npos);
  const std::string until_told =
      "touch " + scratch.at("began") + "; until [ -e " + scratch.at("end") + " ]; do sleep 0.02; done";
  const auto first = submit("first", "ann", until_told);
  ASSERT_TRUE(first.has_value()) << to_string(first.error());
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(scratch.at("began")); }));
  const auto second = submit("second", "ann", "true");
  ASSERT_TRUE(second.has_value()) << to_string(second.error());
  const auto held_by = [&](const std::string& job) {
    const Value row = rows(*session, "queue", "name")[job];
    const std::string* text = row["held_by"].text();
    return text == nullptr ? std::string{} : *text;
  };
  EXPECT_TRUE(wait_until([&] {
    return held_by("second") == "running_jobs_max of user 'ann' is 1, and 1 run or come before it";
  })) << held_by("second");
  EXPECT_EQ(rows(*session, "queue", "name")["second"]["terms"]["qos"], Value{250000.0});
  ASSERT_TRUE(session->ask("set", {"qos", "second", "standby"}).has_value());
  ASSERT_TRUE(session->ask("hold", {"second"}).has_value());
  scratch.write("end", "");
  EXPECT_EQ(wait_for_end(*session, first->job), JobState::Succeeded);
  EXPECT_TRUE(wait_until([&] { return held_by("second").find("on hold") != std::string::npos; })) << held_by("second");
  EXPECT_TRUE(wait_until([&] { return rows(*session, "queue", "name")["second"]["terms"]["qos"] != Value{250000.0}; }));
  ASSERT_TRUE(session->ask("release", {"second"}).has_value());
  EXPECT_EQ(wait_for_end(*session, second->job), JobState::Succeeded);
}

}  // namespace
}  // namespace penstock
