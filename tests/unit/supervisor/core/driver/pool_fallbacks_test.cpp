// SupervisorCore: in which of its pools a job is tried next, and on which workers it may be at all.
#include <gtest/gtest.h>

#include <algorithm>

#include "supervisor/policy/snapshot.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"
#include "tests/support/pool_fallback_harness.hpp"

namespace penstock::supervisor {
namespace {

// The list had two pools with other numbers: what was told belonged to the one, and what would help to the other.
TEST(PoolFallbackTest, WhatHoldsItAndWhatWouldFreeItAreOfThePoolWhereItIs) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 3});
  it.submit({.pools = {"first"}}, 2);
  it.submit({.pools = {"second"}}, 2);
  const JobId job = it.submit({.pools = {"first", "second"}}, 1, 2);
  const Result<Value> said = it.cluster.ask("explain", {to_string(job)});
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ((*said)["pool"], Value{"first"});
  EXPECT_EQ(*(*said)["held_by"].text(), "no room: it needs 2, and the roomiest place has 0");
  ASSERT_NE((*said)["freed_by"].list(), nullptr);
  ASSERT_EQ((*said)["freed_by"].list()->size(), 1U);
  EXPECT_EQ(*(*(*said)["freed_by"].list())[0]["of"].text(), "job-1");
  const supervisor_action::RunPass* tried_in_second = nullptr;
  std::vector<supervisor_action::RunPass> passes;
  for (int i = 0; tried_in_second == nullptr && i < 4000; ++i) {
    it.cluster.tick_after(std::chrono::milliseconds{1});
    passes = it.cluster.take_passes();
    if (passes.empty()) continue;
    if (it.pools_of(job)[1] == "second here")
      tried_in_second = &passes.front();
    else
      it.cluster.handle(PolicedSupervisor::run(passes.front()));
  }
  ASSERT_NE(tried_in_second, nullptr);
  std::size_t kept = 0;
  for (const policy::Workload& each : tried_in_second->snapshot.workloads) kept += each.keeps_place ? 1 : 0;
  EXPECT_EQ(kept, 1U) << "its place in the first pool";
}

// Found by a review: while it was tried in the second pool others passed it in the first.
TEST(PoolFallbackTest, ItsPlaceInTheFirstPoolIsKeptWhileItIsTriedInTheSecond) {
  SupervisorConfig config = three_pools("multifactor");
  for (PoolConfig& pool : config.policy.pools) pool.time_limit = std::chrono::hours{1};
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 2});
  it.submit({.pools = {"first"}}, 1);
  it.submit({.pools = {"second"}}, 2);
  it.cluster.assigned();
  const JobId job = it.submit({.pools = {"first", "second"}}, 1, 2);
  for (int i = 0; i < 3; ++i) it.submit({.pools = {"first"}}, 1);
  it.cluster.settle(6);
  EXPECT_EQ(it.cluster.assigned(), Lines{}) << "they would delay its reserved start";
  it.cluster.succeed(1, 0);
  it.cluster.settle(6);
  const Lines assigned = it.cluster.assigned();
  ASSERT_FALSE(assigned.empty());
  EXPECT_EQ(assigned.front(), to_string(job).substr(4) + ":0 to w1");
}

/// Lets time pass until the job has its turn in the pool at that place of its list, and no pass is under way.
void wait_for_fallback(PoolFallbackHarness& it, JobId job, std::size_t place) {
  const auto is_there = [&] { return it.pools_of(job)[place].find(" here") != std::string::npos; };
  for (int ms = 0; ms < 2000; ++ms) {
    for (const supervisor_action::RunPass& order : it.cluster.take_passes())
      it.cluster.handle(PolicedSupervisor::run(order));
    if (is_there()) return;
    it.cluster.tick_after(std::chrono::milliseconds{1});
  }
  FAIL() << "it never has its turn there";
}

/// For how many milliseconds no pass is ordered.
int until_next_pass(PoolFallbackHarness& it) {
  int ms = 0;
  for (; ms < 2000; ++ms) {
    const std::vector<supervisor_action::RunPass> orders = it.cluster.take_passes();
    for (const supervisor_action::RunPass& order : orders) it.cluster.handle(PolicedSupervisor::run(order));
    if (!orders.empty()) break;
    it.cluster.tick_after(std::chrono::milliseconds{1});
  }
  return ms;
}

// The pass in which that was found out was followed by the next period's.
TEST(PoolFallbackTest, RoomThatIsKnownInAPoolItLikesBetterIsTakenAtOnce) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1});
  it.submit({.pools = {"first"}}, 1);
  it.submit({.pools = {"second"}}, 1);
  const JobId job = it.submit({.pools = {"first", "second"}}, 1);
  it.submit({.pools = {"first"}}, 1);  // With it they want more than is there: a pass gives it.
  it.cluster.assigned();
  wait_for_fallback(it, job, 1);
  it.cluster.succeed(1, 0, {}, 1);
  until_next_pass(it);
  EXPECT_EQ(it.pools_of(job)[0], "first here") << "there it saw room";
  EXPECT_LT(until_next_pass(it), 50) << "a period is 200";
}

// Before, it was the pool with the lowest number.
TEST(PoolFallbackTest, OfSeveralPoolsWithRoomItGoesToTheOneItLikesBest) {
  PoolFallbackHarness it{three_pools("multifactor")};
  for (int i = 0; i < 3; ++i) it.cluster.join({.slots = 1});
  for (const char* pool : {"first", "second", "rest"}) it.submit({.pools = {pool}}, 1);
  const JobId job = it.submit({.pools = {"second", "first", "rest"}}, 1);
  it.cluster.assigned();
  wait_for_fallback(it, job, 2);
  it.cluster.succeed(1, 0, {}, 1);
  it.cluster.succeed(2, 0, {}, 2);
  it.cluster.settle(3);
  EXPECT_EQ(it.cluster.assigned(), Lines{"4:0 to w2"});
}

// The places that it kept in the first pool were more than a pass tells apart, and came before the jobs after it.
TEST(PoolFallbackTest, PlacesKeptLeaveNobodyOutWhoMayStart) {
  SupervisorConfig config = three_pools("multifactor");
  config.policy.members_max = 8;
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 16});
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 1});
  it.submit({.pools = {"first"}}, 1, 16);
  it.submit({.pools = {"second"}}, 1, 4);
  it.submit({.pools = {"first", "second"}}, 20);
  it.submit({.pools = {"rest"}}, 1);
  int kept = 0;
  for (int ms = 0; ms < 2000 && kept < 3; ++ms) {
    for (const supervisor_action::RunPass& order : it.cluster.take_passes()) {
      const auto& jobs = order.snapshot.workloads;
      std::vector<bool> seen(jobs.size(), false);
      for (const policy::Member& member : order.snapshot.members) seen[member.workload] = true;
      const auto keeps = [](const policy::Workload& each) { return each.keeps_place; };
      const auto first_kept = std::find_if(jobs.begin(), jobs.end(), keeps);
      if (first_kept != jobs.end()) ++kept;
      for (std::size_t i = 0; first_kept != jobs.end() && i < jobs.size(); ++i)
        EXPECT_TRUE(seen[i] || jobs[i].keeps_place) << jobs[i].name;
      it.cluster.handle(PolicedSupervisor::run(order));
    }
    it.cluster.tick_after(std::chrono::milliseconds{1});
  }
  EXPECT_EQ(kept, 3);
}

// Spec: policy-runai 10.
TEST(PoolFallbackTest, WhoFindsNoRoomInOnePoolGetsItInTheNext) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 2});
  it.submit({.pools = {"first"}}, 2);
  EXPECT_EQ(it.cluster.assigned(), (Lines{"0 to w1", "1 to w1"}));
  JobId job;
  PENSTOCK_EXPECT_COVERAGE_MARK("a job is tried in the next of its pools",
                                job = it.submit(JobPolicy{.pools = Texts({"first", "second"})}, 2));
  Lines assigned = it.cluster.assigned();
  std::sort(assigned.begin(), assigned.end());
  EXPECT_EQ(assigned, (Lines{"2:0 to w2", "2:1 to w2"}));
  EXPECT_EQ(it.pools_of(job), (Lines{"first: no room: it needs 1, and the roomiest place has 0", "second here"}));
}

TEST(PoolFallbackTest, AListOfItsProjectIsUsedWhereTheJobHasNone) {
  SupervisorConfig config = three_pools("multifactor");
  config.policy.projects = {{.name = "a", .pools = {"second", "first"}}};
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1});
  for (int i = 0; i < 2; ++i) it.submit({.project = "a"}, 1);
  EXPECT_EQ(it.cluster.assigned(), (Lines{"0 to w2", "2:0 to w1"}));
}

TEST(PoolFallbackTest, AllOfAGangIsInOnePool) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 4});
  it.submit({.pools = {"first"}}, 2);
  it.submit({.pools = {"second"}}, 2);
  it.cluster.assigned();
  const JobId gang = it.submit({.pools = {"first", "second"}, .gang = 4}, 4);
  EXPECT_EQ(it.cluster.assigned(), Lines{}) << "two slots of either pool are free";
  for (std::uint32_t i = 0; i < 2; ++i) it.cluster.succeed(2, i, {}, 2);
  it.cluster.settle(4);
  EXPECT_EQ(it.cluster.assigned(), (Lines{"3:0 to w2", "3:1 to w2", "3:2 to w2", "3:3 to w2"}));
  EXPECT_EQ(it.pools_of(gang).back(), "second here");
}

// A job that waits is at the head of its list: there it takes what becomes free as if it had named no other pool.
TEST(PoolFallbackTest, WhoWaitsEverywhereWaitsAtTheHeadOfItsList) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1});
  it.submit({.pools = {"first"}}, 1);
  it.submit({.pools = {"second"}}, 1);
  const JobId job = it.submit({.pools = {"second", "first"}}, 1);
  it.cluster.assigned();
  EXPECT_EQ(it.pools_of(job), (Lines{"second here", "first: no room: it needs 1, and the roomiest place has 0"}));
  it.cluster.succeed(1, 0, {}, 1);
  it.cluster.settle(4);
  EXPECT_EQ(it.cluster.assigned(), Lines{"3:0 to w1"});
}

// A pool where somebody waits, though not in this very pass, is not free for all between two passes.
TEST(PoolFallbackTest, AJobThatIsTriedElsewhereStillCountsAsWaiting) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 2});
  it.submit({.pools = {"first"}}, 20);
  it.submit({.pools = {"second"}}, 20);
  it.submit({.pools = {"first", "second"}}, 2);
  it.cluster.settle(4);
  it.cluster.entitlements(1);
  for (int i = 0; i < 6; ++i) {
    it.cluster.settle(1);
    EXPECT_EQ((it.cluster.take<EntitlementBatch>().size()), 0U) << "nothing has changed";
  }
}

// The job must run on the second worker: it has no tentative placements in the first pool, and all of them in the
// second.
TEST(PoolFallbackTest, APoolThatCouldNotHoldItIsPassedOver) {
  PoolFallbackHarness it{three_pools()};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 4});
  it.submit({.pools = {"first", "second"}}, 2, 1, {"worker-2", ""});
  EXPECT_EQ(it.cluster.assigned(), (Lines{"0 to w2", "1 to w2"}));
  const JobId large = it.submit({.pools = {"first", "second"}}, 1, 4);
  EXPECT_EQ(it.pools_of(large).front(), "first: no band there could hold all of it");
  EXPECT_NE(it.refused({.pools = {"first", "second"}}, 5).find("nor can any other of its 2 pools hold it"),
            std::string::npos);
}

// Else the pass over the second pool, which is none, would order the next one, and so on.
TEST(PoolFallbackTest, WhereNoOtherPoolWillDoTheNextRoundWaitsForItsTime) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 2});
  it.cluster.join({.slots = 1});
  it.submit({.pools = {"first"}}, 2);
  it.submit({.pools = {"first", "second"}}, 1, 2);
  it.cluster.settle(1);
  it.cluster.take_passes();
  int passes = 0;
  for (int ms = 0; ms < 400; ++ms) {
    it.cluster.tick_after(std::chrono::milliseconds{1});
    for (supervisor_action::RunPass& order : it.cluster.take_passes()) {
      it.cluster.handle(PolicedSupervisor::run(order));
      ++passes;
    }
  }
  EXPECT_LE(passes, 3);
}

// Found by a review: where a job is only tried it took any place there was, and the job that was there left it for
// nothing.
TEST(PoolFallbackTest, NobodyLeavesAPlaceThatWhoIsTriedThereCouldNotUse) {
  SupervisorConfig config = policed("priority");
  config.policy.pools = {{.name = "first", .preset = "priority", .workers = {"worker-1"}, .preemption = true},
                         {.name = "rest", .preset = "priority", .preemption = true}};
  PoolFallbackHarness it{config};
  for (int i = 0; i < 3; ++i) it.cluster.join({.slots = 1});
  it.submit({.pools = {"rest"}, .kind = JobKind::Interactive}, 1, 1, {"worker-3", ""});
  it.submit({.pools = {"rest"}}, 1, 1, {"worker-2", ""});
  ASSERT_EQ(it.cluster.assigned(), (Lines{"0 to w3", "2:0 to w2"}));
  it.cluster.say(3, 0, Outcome::Started, 1);
  it.cluster.say(2, 0, Outcome::Started, 2);
  JobSpec urgent;
  urgent.name = "urgent";
  urgent.priority = 5;
  urgent.policy.pools = {"first", "rest"};
  GraphBuilder builder;
  builder.template_at(0).required = {"worker-3", ""};
  it.cluster.submit(builder.sources(1).build(), urgent);
  it.cluster.settle(3);
  EXPECT_EQ(it.cluster.take<CancelBatch>().size(), 0U);
}

// Found by an acceptance test: the job that was due a share went on to the next of its pools meanwhile, and the job
// that had left took its place again.
TEST(PoolFallbackTest, WhoIsDueAShareWaitsWhereItIsBeingLeftForIt) {
  SupervisorConfig config = policed("fair_share");
  config.policy.pools = {{.name = "main", .preset = "fair_share", .workers = {"worker-1"}},
                         {.name = "side", .preset = "fair_share"}};
  PoolFallbackHarness it{config};
  for (int i = 0; i < 2; ++i) it.cluster.join({.slots = 2});
  it.submit({.pools = {"main"}, .preemptible = Preemptible::No}, 2);
  it.submit({.pools = {"side"}}, 2);
  ASSERT_EQ(it.cluster.assigned().size(), 4U);
  for (const std::uint32_t subtask : {0U, 1U}) it.cluster.say(1, subtask, Outcome::Started, 1);
  for (const std::uint32_t subtask : {0U, 1U}) it.cluster.say(2, subtask, Outcome::Started, 2);
  const JobId job = it.submit({.pools = {"main", "side"}}, 1);
  it.cluster.settle(4);
  const auto told = it.cluster.take<CancelBatch>();
  ASSERT_EQ(told.size(), 1U) << "once";
  EXPECT_EQ(it.pools_of(job).back(), "side here");
  it.cluster.say(2, told[0].second.attempts[0].subtask.value(), Outcome::Returned, 2);
  it.cluster.settle(1);
  const Lines given = it.cluster.assigned();
  EXPECT_NE(std::find(given.begin(), given.end(), "3:0 to w2"), given.end());
  EXPECT_EQ(it.cluster.take<CancelBatch>().size(), 0U);
  it.cluster.ignore();
}

TEST(PoolFallbackTest, AListIsRefusedByTheNameThatIsWrong) {
  PoolFallbackHarness it{three_pools()};
  it.cluster.join();
  EXPECT_NE(it.refused({.pools = {"first", "secund"}}).find("pool 'secund': is not known"), std::string::npos);
  EXPECT_NE(it.refused({.pools = {"first", "second", "first"}}).find("lists pool 'first' twice"), std::string::npos);
  EXPECT_NE(it.refused({.pools = Texts(kPoolsListedMax + 1, "first")}).find("lists more than 64 pools"),
            std::string::npos);
}

TEST(PoolFallbackTest, WhoWasPreemptedBeginsAtTheHeadAgain) {
  SupervisorConfig config = three_pools("priority");
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1});
  it.submit({.pools = {"first"}, .kind = JobKind::Interactive}, 1);
  const JobId job = it.submit({.pools = {"first", "second"}}, 1);
  ASSERT_EQ(it.cluster.assigned(), (Lines{"0 to w1", "2:0 to w2"}));
  it.cluster.say(2, 0, Outcome::Started, 2);
  JobSpec urgent;
  urgent.name = "urgent";
  urgent.priority = 5;
  urgent.policy.pools = {"second"};
  it.cluster.submit(GraphBuilder{}.sources(1).build(), urgent);
  it.cluster.settle(4);
  EXPECT_EQ(it.pools_of(job).back(), "second here") << "it has not left yet";
  it.cluster.say(2, 0, Outcome::Returned, 2);
  it.cluster.settle(4);
  EXPECT_EQ(it.cluster.assigned(), Lines{"3:0 to w2"});
  EXPECT_EQ(it.pools_of(job).front(), "first here");
}

TEST(PoolFallbackTest, QueueAndPoolsShowWhereItIsAndMayGo) {
  PoolFallbackHarness it{three_pools("multifactor")};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1});
  it.submit({.pools = {"second", "first"}}, 1);
  const Result<Value> queue = it.cluster.ask("queue");
  ASSERT_TRUE(queue.has_value());
  EXPECT_EQ((*queue->list())[0]["pool"], Value{"second"});
  EXPECT_EQ((*queue->list())[0]["pools"], Value{"second,first"});
  const Result<Value> pools = it.cluster.ask("pools");
  ASSERT_TRUE(pools.has_value());
  EXPECT_EQ((*pools->list())[0]["jobs_elsewhere"], Value{std::uint64_t{1}});
  EXPECT_EQ((*pools->list())[1]["jobs_elsewhere"], Value{std::uint64_t{0}});
}

TEST(PoolFallbackTest, ANextLifeFindsItInThePoolWhereItWas) {
  JournalHarness cluster{three_pools("multifactor")};
  cluster->join({.slots = 1});
  cluster->join({.slots = 1});
  for (const Texts& pools : {Texts{"first"}, Texts{"first", "second"}}) {
    JobSpec spec;
    spec.name = "job " + pools.back();
    spec.policy.pools = pools;
    cluster->submit(GraphBuilder{}.sources(3).build(), spec);
    run_passes(cluster);
  }
  for (std::uint32_t prepared = 0; prepared < 3; ++prepared) cluster->say(1, prepared, Outcome::Returned, 2);
  run_passes(cluster);
  ASSERT_EQ(cluster->job(2).shares->pool.name, "second");
  cluster.restart_for_claims();
  EXPECT_EQ(cluster->job(2).shares->pool.name, "second");
  EXPECT_EQ(cluster->job(2).shares->pool.fallback.pools(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(cluster->job(1).shares->pool.name, "first");
  cluster->ignore();
}

// Where it is placed is written down, but perhaps not before its workers have heard of it.
TEST(PoolFallbackTest, WorkClaimedInAnotherPoolOfItsListKeepsItThere) {
  const SupervisorConfig config = three_pools("multifactor");
  JournalHarness cluster{config};
  cluster->join({.slots = 1});
  cluster->join({.slots = 1});
  JobSpec spec;
  spec.name = "job";
  spec.policy.pools = {"first", "second"};
  cluster->submit(GraphBuilder{}.sources(2).add({0}).build(), spec);
  cluster.write_all();
  ASSERT_EQ(cluster->job().shares->pool.name, "first");
  cluster.restart_for_claims();
  cluster->come_back(2,
                     {.jobs = {{JobId{1}, {{SubtaskIndex{0}, Attempt{1}, BandIndex{0}, ClaimedStage::Running}}, {}}}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a job stays in the pool where its work was claimed", cluster->come_back(1, {}));
  EXPECT_EQ(cluster->job().shares->pool.name, "second");
  EXPECT_EQ(cluster->job().shares->pool.fallback.pool(), 1U);
  cluster->ignore();
}

/// Job 1 runs in the second pool. Job 2 may be in either and ran in the first; the worker of that pool was not back in
/// time after a restart of the supervisor.
class LateClaims {
 public:
  explicit LateClaims(bool retryable) : cluster{config()} {
    cluster->join({.slots = 1});
    cluster->join({.slots = 1});
    for (const Texts& pools : {Texts{"second"}, Texts{"first", "second"}}) {
      GraphBuilder builder;
      builder.template_at(0).retryable = retryable;
      JobSpec spec;
      spec.name = "job " + pools.front();
      spec.policy.pools = pools;
      // With an edge it is no bag, which would hold slots in both pools.
      cluster->submit((pools.size() == 1 ? builder.sources(1) : builder.sources(6).add({0})).build(), spec);
      run();
    }
    EXPECT_EQ(cluster->job(2).shares->pool.name, "first");
    cluster.restart_for_claims();
    cluster->come_back(2, {.jobs = {claim(1, 0, ClaimedStage::Running)}});
    while (cluster->core().reclaiming()) {
      cluster->tick_after(std::chrono::seconds{1});
      while (cluster.waiting() > 0) cluster.write_one();
    }
    cluster->alerts();
    run();
    cluster->ignore();
  }
  ~LateClaims() { cluster->ignore(); }
  LateClaims(const LateClaims&) = delete;
  LateClaims& operator=(const LateClaims&) = delete;

  void run() { run_passes(cluster); }
  void begin_in_second() {
    cluster->succeed(2, 0);
    run();
    EXPECT_EQ(cluster->phase(0, 2), SubtaskPhase::Assigned);
    EXPECT_EQ(cluster->phase(5, 2), SubtaskPhase::Placeable);
    EXPECT_EQ(cluster->job(2).shares->pool.name, "second");
  }
  void come_late(ClaimedStage stage) { cluster->come_back(1, {.jobs = {claim(2, 5, stage)}}); }
  std::vector<AttemptRef> fenced() {
    std::vector<AttemptRef> all;
    for (const auto& [worker, batch] : cluster->take<CancelBatch>())
      if (worker == WorkerId{1} && batch.alone) all.insert(all.end(), batch.attempts.begin(), batch.attempts.end());
    return all;
  }

  JournalHarness cluster;

 private:
  static SupervisorConfig config() {
    SupervisorConfig config = three_pools("multifactor");
    config.lookahead_subtasks_initial = 1;
    return config;
  }
  static ClaimedJob claim(std::uint32_t job, std::uint32_t subtask, ClaimedStage stage) {
    return {JobId{job}, {{SubtaskIndex{subtask}, Attempt{1}, BandIndex{0}, stage}}, {}};
  }
};

// Spec: policy-runai 10: all of a job is in one pool.
TEST(PoolFallbackTest, WorkThatIsClaimedLateIsFencedWhenItsJobHasBegunInAnotherPool) {
  LateClaims it{true};
  it.begin_in_second();
  PENSTOCK_EXPECT_COVERAGE_MARK("work is claimed late in a pool that its job has left",
                                it.come_late(ClaimedStage::Running));
  EXPECT_EQ(it.fenced(), (std::vector<AttemptRef>{{SubtaskIndex{5}, Attempt{1}}}));
  EXPECT_EQ(it.cluster->phase(5, 2), SubtaskPhase::Placeable) << "it runs again, where the rest of its job is";
  EXPECT_EQ(it.cluster->job(2).shares->pool.name, "second");
  const Result<Value> history = it.cluster->ask("audit");
  ASSERT_TRUE(history.has_value());
  bool told = false;
  for (const Value& row : *history->list())
    told |= *row["outcome"].text() == "worker-1 came back too late: the job goes on in pool 'second'";
  EXPECT_TRUE(told);
}

TEST(PoolFallbackTest, WhatMustNotRunTwiceEndsWhereItWasClaimedLate) {
  LateClaims it{false};
  it.begin_in_second();
  it.come_late(ClaimedStage::Running);
  EXPECT_EQ(it.fenced(), std::vector<AttemptRef>{});
  it.run();
  EXPECT_EQ(it.fenced(), std::vector<AttemptRef>{});
  it.cluster->succeed(1, 5, {}, 2);
  EXPECT_EQ(it.cluster->phase(5, 2), SubtaskPhase::Succeeded);
}

TEST(PoolFallbackTest, WhatMustNotRunTwiceAndHasNotBegunIsFencedWhenItIsClaimedLate) {
  LateClaims it{false};
  it.begin_in_second();
  it.come_late(ClaimedStage::Queued);
  EXPECT_EQ(it.fenced(), (std::vector<AttemptRef>{{SubtaskIndex{5}, Attempt{1}}}));
}

TEST(PoolFallbackTest, AJobThatHasBegunNowhereGoesWhereItsWorkIsClaimedLate) {
  LateClaims it{true};
  ASSERT_EQ(it.cluster->job(2).shares->pool.name, "second") << "it waits there";
  PENSTOCK_EXPECT_COVERAGE_MARK("a job goes where its work is claimed late", it.come_late(ClaimedStage::Running));
  EXPECT_EQ(it.fenced(), std::vector<AttemptRef>{});
  EXPECT_EQ(it.cluster->job(2).shares->pool.name, "first");
  it.run();
  EXPECT_EQ(it.cluster->job(2).shares->pool.name, "first");
  EXPECT_EQ(it.fenced(), std::vector<AttemptRef>{}) << "what runs keeps its place";
}

TEST(PoolFallbackTest, AReloadThatTakesItsPoolAwayMovesItsWorkToTheNext) {
  PoolFallbackHarness it{three_pools()};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1});
  const JobId job = it.submit({.pools = {"first", "second"}}, 3);
  EXPECT_EQ(it.cluster.assigned().front(), "0 to w1");
  PolicyConfig changed = three_pools().policy;
  changed.pools[0] = {.name = "other", .workers = {"worker-1"}};
  it.cluster.handle(supervisor_event::PolicyRead{ClientId::none(), {}, changed});
  for (const std::string& line : it.cluster.steals()) EXPECT_NE(line.find("w1"), std::string::npos);
  it.cluster.succeed(1, 0);
  for (const std::uint32_t prepared : {1U, 2U}) it.cluster.say(1, prepared, Outcome::Returned);
  it.cluster.settle(5);
  EXPECT_EQ(it.pools_of(job), Lines{}) << "one pool is left: no list";
  bool in_second = false;
  for (const std::string& line : it.cluster.assigned()) in_second |= line.find("to w2") != std::string::npos;
  EXPECT_TRUE(in_second);
}

// Spec: policy-runai 7.
TEST(Labels, AJobRunsOnWorkersThatHaveOneOfItsLabels) {
  for (const bool policy : {false, true}) {
    PoolFallbackHarness it{policy ? policed("fair_share_max_min") : SupervisorConfig{}};
    it.cluster.join({.slots = 4});
    it.cluster.join({.slots = 4, .labels = {"a100", "rack-1"}});
    it.cluster.join({.slots = 4, .labels = {"v100"}});
    JobSpec spec;
    spec.policy.labels = {"v100", "t4"};
    it.cluster.submit(GraphBuilder{}.sources(3).build(), spec);
    if (policy) it.cluster.settle(3);
    EXPECT_EQ(it.cluster.assigned(), (Lines{"0 to w3", "1 to w3", "2 to w3"})) << policy;
  }
}

TEST(Labels, WhatAProjectAllowsAndTheJobWantsCountTogether) {
  SupervisorConfig config = policed(
      "quota", {{.name = "a", .guaranteed_slots = 4, .training_labels = {"cheap"}, .interactive_labels = {"near"}}});
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 1, .labels = {"cheap"}});
  it.cluster.join({.slots = 1, .labels = {"cheap", "fast"}});
  it.cluster.join({.slots = 1, .labels = {"near", "fast"}});
  it.submit({.project = "a", .labels = {"fast"}}, 1);
  EXPECT_EQ(it.cluster.assigned(), Lines{"0 to w2"});
  it.submit({.project = "a", .kind = JobKind::Interactive}, 1);
  EXPECT_EQ(it.cluster.assigned(), Lines{"2:0 to w3"});
  it.submit({.project = "a", .labels = {"fast"}, .kind = JobKind::Inference}, 1);
  EXPECT_EQ(it.cluster.assigned(), Lines{}) << "inference counts as interactive, and that worker is taken";
}

TEST(Labels, NothingIsCountedThatTheyForbid) {
  PoolFallbackHarness it{policed("fair_share_max_min")};
  it.cluster.join({.slots = 4, .labels = {"a"}});
  it.cluster.join({.slots = 4});
  const JobId limited = it.submit({.labels = {"a"}}, 40);
  const JobId other = it.submit({}, 40);
  EXPECT_EQ(it.cluster.entitlements(limited.value()), Lines{"w1:4"});
  EXPECT_EQ(it.cluster.entitlements(other.value()), Lines{"w2:4"});
}

TEST(Labels, LimitsThatLeaveNothingAreRefusedWithBoth) {
  SupervisorConfig config = policed("quota", {{.name = "a", .training_labels = {"cheap"}}});
  PoolFallbackHarness it{config};
  it.cluster.join({.slots = 1, .labels = {"cheap"}});
  it.cluster.join({.slots = 1, .labels = {"fast"}});
  EXPECT_NE(
      it.refused({.project = "a", .labels = {"fast", "new"}})
          .find("it runs on 'fast' or 'new' only, and project 'a' on 'cheap' only, and no worker of pool 'all' has "
                "such labels"),
      std::string::npos)
      << to_string(it.cluster.refusal());
  EXPECT_NE(it.refused({.labels = {"fast"}}, 1, {"worker-1", ""})
                .find("worker-1/numa-0 could have it, but it runs on 'fast' only"),
            std::string::npos)
      << to_string(it.cluster.refusal());
  EXPECT_NE(it.refused({.labels = {"x", "x"}}).find("has the label 'x' twice"), std::string::npos);
  EXPECT_NE(it.refused({.labels = {""}}).find("has a label that is not of 1 to 255 bytes"), std::string::npos);
  EXPECT_NE(it.refused({.labels = Texts(kLabelsMax + 1, "x")}).find("has more than 64 labels"), std::string::npos);
}

TEST(Labels, WhatNoWorkerHasAnyMoreIsExplained) {
  PoolFallbackHarness it{policed("fair_share_max_min")};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1, .labels = {"fast"}});
  const JobId job = it.submit({.labels = {"fast"}}, 1);
  it.cluster.lose(2);
  it.cluster.settle(2);
  const Result<Value> answer = it.cluster.ask("explain", {to_string(job)});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ((*answer)["reason"],
            Value{"infeasible: it runs on 'fast' only, and no worker of pool 'all' has such labels"});
  it.cluster.assigned();
  it.cluster.join({.slots = 1, .labels = {"fast"}});
  it.cluster.settle(3);
  EXPECT_EQ(it.cluster.assigned(), Lines{"0#2 to w3"});
}

// Found by a review: a gang without a worker that has its labels took the slots of all others, where it never ran.
TEST(Labels, AGangThatNoWorkerMayHaveTakesNoSlots) {
  PoolFallbackHarness it{policed("fair_share_max_min")};
  it.cluster.join({.slots = 4});
  it.cluster.join({.slots = 4, .labels = {"fast"}});
  const JobId gang = it.submit({.labels = {"fast"}, .gang = 4}, 4);
  it.cluster.lose(2);
  it.cluster.settle(3);
  EXPECT_EQ(it.cluster.job(gang.value()).shares->of(BandSlot{0}).planned, 0U);
  it.cluster.assigned();
  it.submit({}, 4);
  EXPECT_EQ(it.cluster.assigned().size(), 4U);
}

// Found by a review: a running member was shown as if it could be moved anywhere.
TEST(Labels, WhatRunsIsShownWithTheWorkersThatItMayMoveTo) {
  PoolFallbackHarness it{policed("quota", {{.name = "a", .guaranteed_slots = 1}})};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1, .labels = {"fast"}});
  it.submit({.project = "a", .labels = {"fast"}}, 1);
  it.cluster.tick_after(std::chrono::seconds{1});
  const std::vector<supervisor_action::RunPass> passes = it.cluster.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  ASSERT_EQ(passes[0].snapshot.members.size(), 1U);
  EXPECT_EQ(passes[0].snapshot.members[0].state, policy::MemberState::Running);
  ASSERT_EQ(passes[0].snapshot.members[0].band_list, 0U);
  EXPECT_EQ(passes[0].snapshot.band_lists, (std::vector<std::vector<std::uint32_t>>{{1}}));
}

// Found by seed 770 of the simulator: the subtask waited for ever. Between a band's memory and its hard limit a run is
// alone.
TEST(Labels, WhatNeedsMoreThanItsOnlyWorkerSharesOutRunsThereAlone) {
  PoolFallbackHarness it{policed("quota", {{.name = "a", .guaranteed_slots = 1}})};
  it.cluster.join({.slots = 1, .memory = kGiB, .labels = {"first"}});
  it.cluster.join({.slots = 1, .memory = kGiB * 4});
  it.submit({}, 40);
  GraphBuilder builder;
  builder.template_at(0).request.memory = kGiB + kMiB;
  JobSpec spec;
  spec.policy = {.project = "a", .labels = {"first"}};
  const JobId job = it.cluster.submit(builder.sources(1).build(), spec);
  ASSERT_TRUE(job.valid()) << to_string(it.cluster.refusal());
  it.cluster.settle(4);
  EXPECT_EQ(it.cluster.entitlements(job.value()), Lines{"w1:1"});
}

TEST(Labels, AReloadThatLimitsAProjectMovesWhatWaits) {
  PoolFallbackHarness it{policed("fair_share_max_min", {{.name = "a"}})};
  it.cluster.join({.slots = 1});
  it.cluster.join({.slots = 1, .labels = {"fast"}});
  it.submit({.project = "a"}, 40);
  it.cluster.assigned();
  it.cluster.handle(supervisor_event::PolicyRead{
      ClientId::none(), {}, policed("fair_share_max_min", {{.name = "a", .training_labels = {"fast"}}}).policy});
  it.cluster.settle(4);
  EXPECT_EQ(it.cluster.entitlements(1), (Lines{"w1:0", "w2:all"}));
  for (const std::string& line : it.cluster.assigned()) EXPECT_NE(line.find("to w2"), std::string::npos) << line;
}

// Found by a review: all of a job is in one pool, also when it moves while a plan is made.
TEST(PoolFallbackTest, APlanGivesNothingInAPoolThatTheJobHasLeftMeanwhile) {
  LateClaims it{true};
  ASSERT_EQ(it.cluster->job(2).shares->pool.name, "second");
  it.cluster->succeed(2, 0);
  std::vector<supervisor_action::RunPass> passes;
  for (int i = 0; i < 12 && passes.empty(); ++i) {
    it.cluster.write_all();
    passes = it.cluster->take_passes();
  }
  ASSERT_EQ(passes.size(), 1U);
  it.come_late(ClaimedStage::Running);
  ASSERT_EQ(it.cluster->job(2).shares->pool.name, "first");
  PENSTOCK_EXPECT_COVERAGE_MARK("a plan gives slots in a pool that the job has left meanwhile",
                                it.cluster->handle(PolicedSupervisor::run(passes.front())));
  const WorkerTable& workers = it.cluster->core().workers();
  for (std::uint32_t band = 0; band < workers.band_slots(); ++band) {
    const bool in_first = workers.worker_of(BandSlot{band}).description.name == "worker-1";
    EXPECT_TRUE(in_first || it.cluster->job(2).shares->of(BandSlot{band}).planned == 0) << band;
  }
}

}  // namespace
}  // namespace penstock::supervisor
