// How pools that count slots divide them on a live cluster.
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

TEST(LiveShares, FairShareDividesByDemandAndWeight) {
  for (const bool weighted : {false, true}) {
    LiveCluster cluster{config_of("fair_share")};
    cluster.join(cpu_worker("w1", 4));
    cluster.join(cpu_worker("w2", 4));
    const JobId a = submit(cluster, {.name = "a", .subtasks = 10, .weight = weighted ? 3000 : 1000});
    const JobId b = submit(cluster, {.name = "b", .subtasks = 30, .weight = 1000});
    cluster.advance(30s);
    EXPECT_EQ(running(cluster, a), weighted ? 4U : 2U);
    EXPECT_EQ(running(cluster, b), weighted ? 4U : 6U);
  }
}

TEST(LiveShares, ProjectsDivideBeforeTheirJobsDo) {
  SupervisorConfig config = config_of("fair_share");
  config.policy.projects.push_back({.name = "many", .weight = 1000});
  config.policy.projects.push_back({.name = "one", .weight = 1000});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 8));
  std::vector<JobId> many;
  for (int i = 0; i < 8; ++i)
    many.push_back(submit(cluster, {.name = "m" + std::to_string(i), .subtasks = 8, .project = "many"}));
  const JobId one = submit(cluster, {.name = "one", .subtasks = 8, .project = "one"});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, one), 4U);
  EXPECT_EQ(cluster.runs().size(), 8U);
}

TEST(LiveShares, WeightsOfDepartmentsProjectsAndUsersCountAtTheirLevel) {
  SupervisorConfig config = config_of("fair_share_max_min");
  config.policy.projects.push_back({.name = "science", .is_department = true, .weight = 3000});
  config.policy.projects.push_back({.name = "vision", .department = "science", .weight = 2000});
  config.policy.projects.push_back({.name = "speech", .department = "science"});
  config.policy.projects.push_back({.name = "sales"});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 12));
  cluster.join(cpu_worker("w2", 12));
  const JobId ada = submit(cluster, {.name = "ada1", .subtasks = 40, .project = "vision", .owner = "ada"});
  const JobId ada2 = submit(cluster, {.name = "ada2", .subtasks = 40, .project = "vision", .owner = "ada"});
  const JobId bob = submit(cluster, {.name = "bob", .subtasks = 40, .project = "vision", .owner = "bob"});
  const JobId speech = submit(cluster, {.name = "speech", .subtasks = 40, .project = "speech"});
  const JobId sales = submit(cluster, {.name = "sales", .subtasks = 40, .project = "sales"});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, ada) + running(cluster, ada2), 6U) << "12 of vision, half of them";
  EXPECT_EQ(running(cluster, ada), 3U);
  EXPECT_EQ(running(cluster, bob), 6U);
  EXPECT_EQ(running(cluster, speech), 6U) << "a third of 18";
  EXPECT_EQ(running(cluster, sales), 6U) << "a quarter of 24";
}

TEST(LiveShares, LimitsOfProjectsLeaveTheirSlotsToTheOthers) {
  // With a job that may use one worker only, the reach of each job counts.
  for (const bool labelled : {false, true}) {
    SupervisorConfig config = config_of("fair_share");
    config.policy.projects.push_back({.name = "d", .is_department = true, .slots_max = 3});
    config.policy.projects.push_back({.name = "a", .department = "d", .slots_max = 1});
    config.policy.projects.push_back({.name = "b", .department = "d"});
    LiveCluster cluster{config};
    cluster.join(cpu_worker("w1", 4));
    cluster.join(cpu_worker("w2", 4));
    const JobId a = submit(cluster, {.name = "a", .subtasks = 8, .project = "a"});
    const JobId b = submit(cluster, {.name = "b", .subtasks = 8, .project = "b"});
    cluster.advance(10s);
    EXPECT_EQ(running(cluster, a), 1U) << "also while others leave slots idle";
    EXPECT_EQ(running(cluster, b), 2U);
    std::vector<std::string> labels;
    if (labelled) labels = {"w1"};
    const JobId rest = submit(cluster, {.name = "rest", .subtasks = 8, .labels = labels});
    cluster.advance(30s);
    EXPECT_EQ(running(cluster, a), 1U) << labelled;
    EXPECT_EQ(running(cluster, b), 2U) << labelled;
    // No run is moved to make room: on one worker the others may hold three slots.
    EXPECT_GE(running(cluster, rest), labelled ? 1U : 5U);
  }
}

/// The slots of each job, under limits of users and accounts, when all want as many as that.
std::vector<std::size_t> slots_under(SupervisorConfig config, const std::vector<Wish>& wishes) {
  LiveCluster cluster{std::move(config)};
  cluster.join(cpu_worker("w1", 8));
  std::vector<JobId> jobs;
  for (const Wish& wish : wishes) jobs.push_back(submit(cluster, wish));
  cluster.advance(30s);
  const std::uint64_t before = preemptions(cluster);
  cluster.advance(30s);
  EXPECT_EQ(preemptions(cluster), before);
  std::vector<std::size_t> slots;
  for (const JobId job : jobs) slots.push_back(running(cluster, job));
  return slots;
}

// docs/policy.md, Fair share, Limits of users. A limit made the demand smaller by which its user shares, and gave all
// of the limit to the first of the user's jobs.
TEST(LiveShares, LimitsOfUsersLeaveTheirSlotsToOthersByTheirShares) {
  const std::vector<Wish> two{{.name = "a", .subtasks = 30, .owner = "ada"},
                              {.name = "b", .subtasks = 10, .owner = "bob"}};
  SupervisorConfig config = config_of("fair_share");
  EXPECT_EQ(slots_under(config, two), (std::vector<std::size_t>{6, 2}));
  config.policy.users = {{.name = "ada", .limits = {.slots_max = 4}}};
  EXPECT_EQ(slots_under(config, two), (std::vector<std::size_t>{4, 4}));
  const std::vector<Wish> four{{.name = "a1", .subtasks = 10, .owner = "ada"},
                               {.name = "a2", .subtasks = 30, .owner = "ada"},
                               {.name = "b", .subtasks = 10, .owner = "bob"},
                               {.name = "c", .subtasks = 30, .owner = "carl"}};
  EXPECT_EQ(slots_under(config, four), (std::vector<std::size_t>{1, 3, 1, 3}));
  config.policy.users[0].limits.slots_max = 2;
  EXPECT_EQ(slots_under(config, four), (std::vector<std::size_t>{1, 1, 2, 4})) << "by 10 to 30, and at least one each";
}

TEST(LiveShares, LimitsOfAccountsHoldForAllOfTheirUsers) {
  SupervisorConfig config = config_of("fair_share_max_min");
  config.policy.accounts = {
      {.name = "lab", .limits = {.slots_max = 3}}, {.name = "ada", .parent = "lab"}, {.name = "bob", .parent = "lab"}};
  EXPECT_EQ(slots_under(config, {{.name = "a", .subtasks = 8, .owner = "ada"},
                                 {.name = "b", .subtasks = 8, .owner = "bob"},
                                 {.name = "c", .subtasks = 8, .owner = "carl"}}),
            (std::vector<std::size_t>{2, 1, 5}));
}

TEST(LiveShares, ALimitOfAUserThatIsSmallerThanTheShareIsTold) {
  SupervisorConfig config = config_of("fair_share");
  config.policy.users = {{.name = "ada", .limits = {.slots_max = 2}}};
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 8));
  const JobId job = submit(cluster, {.name = "a", .subtasks = 9, .owner = "ada"});
  submit(cluster, {.name = "b", .subtasks = 9, .owner = "bob"});
  cluster.advance(5s);
  EXPECT_EQ(running(cluster, job), 2U);
  const Result<Value> said = cluster.ask("explain", {to_string(job)});
  ASSERT_TRUE(said.has_value());
  const Value::List& holds = *(*said)["holds"].list();
  ASSERT_FALSE(holds.empty());
  EXPECT_EQ(holds.front()["rule"], Value{"slots_max"});
  EXPECT_EQ(holds.front()["subject"], Value{"user 'ada'"});
}

TEST(LiveShares, AGangKeepsAWholeShareBesideSingleOnes) {
  for (const bool gang : {true, false}) {
    LiveCluster cluster{config_of("fair_share")};
    cluster.join(cpu_worker("w1", 8));
    const JobId whole = submit(
        cluster, {.name = "whole", .subtasks = gang ? 4U : 1U, .milli = gang ? 1000 : 4000, .gang = gang ? 4U : 0U});
    cluster.advance(1s);
    EXPECT_EQ(running(cluster, whole), gang ? 4U : 1U);
    const JobId single = submit(cluster, {.name = "single", .subtasks = 8});
    cluster.advance(30s);
    EXPECT_EQ(running(cluster, whole), gang ? 4U : 1U);
    EXPECT_EQ(running(cluster, single), 4U);
    EXPECT_EQ(preemptions(cluster), 0U);
  }
}

TEST(LiveShares, AWholeDeviceIsKeptBesideQuarters) {
  LiveCluster cluster{config_of("fair_share")};
  cluster.join(gpu_worker("w1", 2));
  const JobId whole = submit(cluster, {.name = "whole", .on_gpu = true});
  cluster.advance(1s);
  const JobId quarters = submit(cluster, {.name = "quarters", .subtasks = 8, .milli = 250, .on_gpu = true});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, whole), 1U);
  EXPECT_EQ(running(cluster, quarters), 4U);
  EXPECT_EQ(preemptions(cluster), 0U);
}

TEST(LiveShares, AGangOfWhichTheShareIsTooSmallHasItsTurn) {
  SupervisorConfig config = config_of("fair_share");
  config.policy.starvation_after = 60s;
  config.policy.projects.push_back({.name = "p", .preempt_min_runtime = 90s});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 8));
  const JobId many = submit(cluster, {.name = "many", .subtasks = 200, .project = "p"});
  const JobId gang = submit(cluster, {.name = "gang", .subtasks = 4, .project = "p", .gang = 4});
  cluster.advance(70s);
  EXPECT_EQ(running(cluster, gang), 0U) << "the others have not run for their minimum";
  cluster.advance(40s);
  EXPECT_EQ(running(cluster, gang), 4U);
  EXPECT_EQ(running(cluster, many), 4U);
  EXPECT_EQ(preemptions(cluster), 4U);
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, gang), 4U) << "a turn lasts as long as the wait for it";
  cluster.advance(50s);
  EXPECT_EQ(running(cluster, gang), 0U);
  EXPECT_EQ(running(cluster, many), 8U);
  cluster.advance(70s);
  EXPECT_EQ(running(cluster, gang), 4U) << "and comes again";
}

// Seen in a user's trial, with 20 preemptions a second: the share was rounded up to a gang while that held nothing, and
// was half of the gang once it held all.
TEST(LiveShares, AnElasticGangBesideAJobOfItsProjectIsAtRest) {
  SupervisorConfig config = config_of("fair_share");
  config.policy.projects = {{.name = "pa"}, {.name = "pb"}};
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 4));
  const JobId f = submit(cluster, {.name = "f", .subtasks = 6, .project = "pa"});
  const JobId e = submit(cluster, {.name = "e", .subtasks = 8, .project = "pb", .gang = 2, .gang_max = 6});
  const JobId s = submit(cluster, {.name = "s", .subtasks = 3, .project = "pb"});
  cluster.advance(20s);
  const std::uint64_t before = preemptions(cluster);
  cluster.advance(20s);
  EXPECT_EQ(preemptions(cluster), before);
  EXPECT_EQ(running(cluster, f), 2U);
  EXPECT_EQ(running(cluster, e) + running(cluster, s), 2U);
}

TEST(LiveShares, WorkersThatTheHeadCannotUseAreNotIdle) {
  LiveCluster cluster{config_of("priority")};
  cluster.join(cpu_worker("w1", 4));
  cluster.join(cpu_worker("w2", 4));
  const JobId busy = submit(cluster, {.name = "busy", .subtasks = 4, .labels = {"w1"}});
  cluster.advance(1s);
  const JobId head = submit(cluster, {.name = "head", .subtasks = 4, .priority = 5, .labels = {"w1"}});
  cluster.advance(1s);
  const JobId other = submit(cluster, {.name = "other", .subtasks = 4});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, busy), 4U);
  EXPECT_EQ(running(cluster, head), 0U);
  EXPECT_EQ(running(cluster, other), 4U);
  // An end that nobody knows is no estimate.
  const Result<Value> answer = cluster.ask("explain", {to_string(head)});
  ASSERT_TRUE(answer);
  const Value& start = (*answer)["start"];
  EXPECT_EQ(start["kind"], Value{"unknown"});
  ASSERT_NE(start["why"].text(), nullptr);
  EXPECT_NE(start["why"].text()->find(to_string(busy)), std::string::npos) << *start["why"].text();
}

TEST(LiveShares, AGangThatWaitsIsNotPassedForEver) {
  for (const char* preset : {"priority", "quota", "fair_share"}) {
    LiveCluster cluster{config_of(preset)};
    cluster.join(cpu_worker("w1", 8));
    std::vector<JobId> small;
    for (int i = 0; i < 8; ++i) small.push_back(submit(cluster, {.name = "s" + std::to_string(i)}));
    cluster.advance(1s);
    const JobId gang = submit(cluster, {.name = "gang", .subtasks = 8, .gang = 8});
    cluster.advance(1s);
    for (int round = 0; round < 200 && running(cluster, gang) == 0; ++round) {
      cluster.advance(10s);
      cluster.end({small[0], SubtaskIndex{0}});
      small.erase(small.begin());
      small.push_back(submit(cluster, {.name = "n" + std::to_string(round)}));
    }
    EXPECT_EQ(running(cluster, gang), 8U) << preset;
    if (std::string_view{preset} == "fair_share") continue;  // There the others have their turns as well.
    const std::uint64_t left = preemptions(cluster);
    cluster.advance(900s);
    EXPECT_EQ(preemptions(cluster), left) << preset << ": the younger ones wait";
    EXPECT_EQ(running(cluster, gang), 8U) << preset;
  }
}

// A level of service takes slots from the one that it names, whatever the priorities, keeps them, and is served first.
TEST(LiveShares, ALevelPreemptsTheLevelsThatItNames) {
  SupervisorConfig config = config_of("priority");
  config.policy.pools[0].preemption = true;
  config.policy.qos.push_back({.name = "urgent", .factor = 1000, .preempts = {"standby"}});
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 4));
  const JobId standby = submit(cluster, {.name = "standby", .subtasks = 2, .priority = 5, .qos = "standby"});
  const JobId normal = submit(cluster, {.name = "normal", .subtasks = 2, .priority = 6});
  cluster.settle();
  EXPECT_EQ(running(cluster, standby), 2U);
  const JobId urgent = submit(cluster, {.name = "urgent", .subtasks = 3, .priority = 1, .qos = "urgent"});
  cluster.settle();
  EXPECT_EQ(running(cluster, urgent), 2U) << "it does not name the level of the others";
  EXPECT_EQ(running(cluster, normal), 2U);
  EXPECT_EQ(running(cluster, standby), 0U);
  const std::uint64_t left = preemptions(cluster);
  EXPECT_EQ(left, 2U);
  const Result<Value> audit = cluster.ask("audit");
  ASSERT_TRUE(audit.has_value());
  const auto names_levels = [](const Value& row) {
    return *row["outcome"].text() ==
           "a job of level 'urgent', which takes slots from level 'standby', needs the place: job-3";
  };
  EXPECT_TRUE(std::any_of(audit->list()->begin(), audit->list()->end(), names_levels));
  cluster.advance(30s);
  EXPECT_EQ(preemptions(cluster), left) << "standby waits, and takes nothing back";
  EXPECT_EQ(running(cluster, urgent), 2U);
  cluster.end({normal, SubtaskIndex{0}});
  cluster.settle();
  EXPECT_EQ(running(cluster, urgent), 3U);
  EXPECT_EQ(running(cluster, standby), 0U);
  cluster.end({normal, SubtaskIndex{1}});
  cluster.settle();
  EXPECT_EQ(running(cluster, standby), 1U);
  EXPECT_EQ(preemptions(cluster), left);
}

// Found by a trial: each job that came or went had one of the gangs preempted for the other.
TEST(LiveShares, TwoGangsDoNotTakeTheirRoomFromEachOtherWhenJobsComeAndGo) {
  for (const auto& [preset, project] :
       {std::pair{"fair_share", ""}, {"fair_share_max_min", ""}, {"fair_share", "gangs"}}) {
    SupervisorConfig config = config_of(preset);
    if (*project != 0)
      config.policy.projects = {{.name = "singles", .weight = 1000}, {.name = "gangs", .weight = 4000}};
    const std::string other = *project != 0 ? "singles" : "";
    LiveCluster cluster{config};
    for (const char* name : {"w1", "w2", "w3"}) cluster.join(cpu_worker(name, 4));
    const JobId large = submit(cluster, {.name = "large", .subtasks = 8, .project = project, .gang = 8});
    const JobId small = submit(cluster, {.name = "small", .subtasks = 4, .project = project, .gang = 4});
    cluster.advance(3s);
    EXPECT_EQ(running(cluster, large) + running(cluster, small), 12U) << preset;
    submit(cluster, {.name = "first", .project = other});
    cluster.advance(3s);
    const std::uint64_t before = preemptions(cluster);
    EXPECT_LE(before, 8U) << preset << ": one gang leaves for the first job";
    for (int i = 0; i < 4; ++i) {
      const JobId second = submit(cluster, {.name = "second" + std::to_string(i), .project = other});
      cluster.advance(3s);
      EXPECT_EQ(running(cluster, second), 1U) << preset;
      cluster.end({second, SubtaskIndex{0}});
      cluster.advance(3s);
    }
    EXPECT_EQ(preemptions(cluster), before) << preset;
  }
}

// Found by a trial: each lost its runs after 3 s, for ever.
TEST(LiveShares, RunsThatAreLongerThanATurnEnd) {
  SupervisorConfig config = config_of("fair_share");
  config.policy.starvation_after = 3s;
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 4));
  std::map<SubtaskId, Instant> begun;
  cluster.set_on_run([&](const LiveRun& run, RunNews news) {
    if (news == RunNews::Begun) begun[run.subtask] = cluster.now();
  });
  submit(cluster, {.name = "single"});
  cluster.advance(1s);
  submit(cluster, {.name = "gang", .subtasks = 4, .gang = 4});
  std::size_t ended = 0;
  for (int i = 0; i < 1200 && ended < 5; ++i) {
    cluster.advance(100ms);
    const std::map<SubtaskId, LiveRun> runs = cluster.runs();
    for (const auto& [subtask, run] : runs)
      if (cluster.now() - begun[subtask] >= 20s) cluster.end(subtask), ++ended;
  }
  EXPECT_EQ(ended, 5U);
}

}  // namespace
}  // namespace penstock::tools
