// SupervisorCore: the cluster as a pass of the policy sees it.
#include <gtest/gtest.h>

#include <algorithm>

#include "supervisor/policy/snapshot.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

TEST(PolicySnapshot, ShowsBandsOwnersAndWhatEachJobCouldUse) {
  SupervisorConfig config = policed("quota", {{.name = "science", .is_department = true, .guaranteed_slots = 3},
                                              {.name = "vision", .department = "science", .guaranteed_slots = 2}});
  config.policy.accounts = {{.name = "all"}, {.name = "ann", .parent = "all", .shares = 3}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  JobSpec spec;
  spec.priority = 5;
  spec.policy = {.project = "vision", .account = "ann", .slots_max = 3};
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  const policy::Snapshot& seen = passes[0].snapshot;
  ASSERT_EQ(seen.bands.size(), 1U);
  EXPECT_EQ(seen.bands[0].slots, 4000) << "where quotas count, in thousandths";
  ASSERT_EQ(seen.projects.size(), 6U) << "two and none, for each kind of band";
  EXPECT_EQ(seen.projects[1].parent, 0U);
  EXPECT_EQ(seen.projects[1].shares[2].guaranteed, 2000);
  EXPECT_EQ(seen.projects[4].parent, 3U);
  EXPECT_EQ(seen.projects[4].shares[2].guaranteed, 0) << "of device bands nothing is guaranteed";
  ASSERT_EQ(seen.accounts.size(), 3U) << "both, and the root above them";
  EXPECT_FALSE(seen.accounts[0].user);
  EXPECT_TRUE(seen.accounts[1].user);
  ASSERT_EQ(seen.workloads.size(), 1U);
  EXPECT_EQ(seen.workloads[0].project, 1U);
  EXPECT_EQ(seen.workloads[0].account, 1U);
  EXPECT_EQ(seen.workloads[0].priority, (std::int64_t{50} << 32U) + 5) << "behind that of its kind";
  EXPECT_EQ(seen.members.size(), 3U) << "its cap";
  supervisor.ignore();
}

TEST(PolicySnapshot, NoMoreMembersThanConfigured) {
  SupervisorConfig config = policed("fair_share");
  config.policy.members_max = 16;
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 30});
  supervisor.submit(GraphBuilder{}.sources(40).build());
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  EXPECT_EQ(passes[0].snapshot.members.size(), 16U);
  supervisor.ignore();
}

// Found by a property: without it the next pass divides what has become free in another way, and takes it back again.
TEST(PolicySnapshot, WhatIsBoundToABandHasAClaimToThePlaceThatItWasPromised) {
  PolicedSupervisor supervisor{policed("fair_share")};
  for (int i = 0; i < 2; ++i) supervisor.join({.slots = 2});
  supervisor.submit(GraphBuilder{}.sources(4).build());
  supervisor.settle(2);
  for (const std::string& line : supervisor.assigned())
    supervisor.say(line.back() == '1' ? 1 : 2, static_cast<std::uint32_t>(line[0] - '0'), Outcome::Started);
  GraphBuilder bound;
  bound.template_at(0).required = {"worker-1", ""};
  supervisor.submit(bound.sources(2).build());
  supervisor.settle(1);
  const auto promised = [&] { return supervisor.job(2).shares->kinds[0].promised; };
  for (int passes = 0; passes < 5 && promised().empty(); ++passes) supervisor.settle(1);
  ASSERT_FALSE(promised().empty());
  const std::size_t count = promised().size();
  std::vector<supervisor_action::RunPass> orders;
  for (int tries = 0; tries < 1000 && orders.empty(); ++tries) {
    supervisor.tick_after(std::chrono::milliseconds{1});
    orders = supervisor.take_passes();
  }
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].snapshot.carried.size(), count);
  supervisor.ignore();
}

// Found by the simulator (seed 4442): a part of a gang waited for its rest, which nobody was told of.
TEST(PolicySnapshot, AGangIsShownWholeOrNotAtAll) {
  SupervisorConfig config = policed("quota");
  config.policy.members_max = 16;
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 30});
  JobSpec spec;
  spec.policy.gang = 20;
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  supervisor.submit(GraphBuilder{}.sources(40).build());
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  EXPECT_EQ(passes[0].snapshot.members.size(), 20U);
  supervisor.ignore();
}

// Found by the simulator (seed 678 of eight jobs): the places promised to the rest of the gang were gone.
TEST(PolicySnapshot, TheRestOfAGangIsShownHoweverManyOthersWait) {
  SupervisorConfig config = policed("quota");
  config.policy.members_max = 4;
  PolicedSupervisor supervisor{config};
  for (int i = 0; i < 2; ++i) supervisor.join({.slots = 2});
  JobSpec spec;
  spec.policy.gang = 4;
  supervisor.submit(GraphBuilder{}.sources(4).build(), spec);
  supervisor.settle(2);
  for (const std::string& line : supervisor.assigned())
    supervisor.say(line.back() == '1' ? 1 : 2, static_cast<std::uint32_t>(line[0] - '0'), Outcome::Started);
  JobSpec urgent;
  urgent.name = "urgent";
  urgent.priority = 5;
  supervisor.submit(GraphBuilder{}.sources(9).build(), urgent);
  supervisor.lose(2);
  std::vector<supervisor_action::RunPass> passes;
  for (int tries = 0; tries < 1000 && passes.empty(); ++tries) {
    supervisor.tick_after(std::chrono::milliseconds{1});
    passes = supervisor.take_passes();
  }
  ASSERT_EQ(passes.size(), 1U);
  const policy::Snapshot& seen = passes[0].snapshot;
  const auto of_gang = std::count_if(seen.members.begin(), seen.members.end(), [&](const policy::Member& each) {
    return seen.workloads[each.workload].name == "job-1";
  });
  EXPECT_GT(seen.members.size(), 4U);
  EXPECT_EQ(of_gang, 4);
  supervisor.ignore();
}

// Spec: policy-runai 1 and 5.
TEST(PolicySnapshot, WhereQuotasCountTheKindOfAJobComesBeforeItsPriority) {
  for (const char* preset : {"quota", "priority"}) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.slots = 8});
    std::int32_t priority = 9;
    for (const JobPolicy& wishes : {JobPolicy{.kind = JobKind::Training},
                                    JobPolicy{.kind = JobKind::Interactive, .preemptible = Preemptible::Yes},
                                    JobPolicy{.kind = JobKind::Interactive}, JobPolicy{.kind = JobKind::Inference}}) {
      JobSpec spec;
      spec.name = "job of " + std::to_string(priority);
      spec.priority = priority--;
      spec.policy = wishes;
      supervisor.submit(GraphBuilder{}.sources(2).build(), spec);
    }
    supervisor.tick_after(std::chrono::milliseconds{5});
    const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
    ASSERT_EQ(passes.size(), 1U);
    std::vector<std::int64_t> priorities;
    for (const policy::Workload& seen : passes[0].snapshot.workloads) priorities.push_back(seen.priority);
    const bool rises = std::is_sorted(priorities.begin(), priorities.end());
    EXPECT_EQ(rises, std::string{preset} == "quota");
    supervisor.ignore();
  }
}

// Spec: policy-runai 10.
TEST(PolicySnapshot, AGuaranteeIsShownInOnePoolOnly) {
  SupervisorConfig config = policed("quota", {{.name = "a", .guaranteed_slots = 2, .guaranteed_memory = kGiB}});
  config.policy.pools.push_back({.name = "other", .preset = "quota", .workers = {"worker-2"}});
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  supervisor.join({.slots = 4});
  for (const char* pool : {"all", "other"}) {
    JobSpec spec;
    spec.name = pool;
    spec.policy = {.project = "a", .pools = {pool}};
    supervisor.submit(GraphBuilder{}.sources(2).build(), spec);
  }
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  const policy::Snapshot& seen = passes[0].snapshot;
  ASSERT_EQ(seen.workloads.size(), 2U);
  EXPECT_EQ(seen.projects[seen.workloads[0].project].name, "a");
  EXPECT_EQ(seen.projects[seen.workloads[0].project].shares[2].guaranteed, 2000);
  EXPECT_EQ(seen.projects[seen.workloads[0].project].shares[1].guaranteed, kGiB.value());
  EXPECT_EQ(seen.projects[seen.workloads[1].project].name, "a");
  EXPECT_EQ(seen.projects[seen.workloads[1].project].shares[2].guaranteed, 0);
  EXPECT_EQ(seen.projects[seen.workloads[1].project].shares[1].guaranteed, policy::kUnlimited)
      << "where nobody is guaranteed memory it is not divided";
  supervisor.ignore();
}

// A subtask that must not run twice is never preempted: nobody may count on its slots.
TEST(PolicySnapshot, WhatMustNotRunTwiceIsShownAsWhatStays) {
  for (const bool mixed : {false, true}) {
    PolicedSupervisor supervisor{policed("priority")};
    supervisor.join({.slots = 3});
    GraphBuilder builder;
    builder.template_at(0).retryable = false;
    builder.sources(2);
    if (mixed) builder.add({}, 1);
    supervisor.submit(builder.build());
    supervisor.settle(2);
    supervisor.say(1, 0, Outcome::Started);
    supervisor.tick_after(std::chrono::milliseconds{300});
    const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
    ASSERT_FALSE(passes.empty());
    std::size_t staying = 0;
    for (const policy::Member& member : passes.back().snapshot.members) staying += member.preemptible ? 0 : 1;
    EXPECT_EQ(staying, mixed ? 1U : 2U) << "the one that runs, or all of a job that has no others";
    supervisor.ignore();
  }
}

TEST(PolicySnapshot, PartsThatMustNotRunTwiceAreShownAsWhatStays) {
  PolicedSupervisor supervisor{policed("quota")};
  supervisor.join({.bands = 0, .gpus = 1});
  GraphBuilder builder;
  for (std::uint32_t i = 0; i < 2; ++i)
    builder.template_at(i).request = {.slots = MilliSlots{250}, .gpu = MilliGpu{250}};
  builder.template_at(0).retryable = false;
  supervisor.submit(builder.sources(2).add({}, 1).add({}, 1).build());
  supervisor.settle(2);
  for (const std::uint32_t subtask : {0U, 1U, 2U}) supervisor.say(1, subtask, Outcome::Started);
  supervisor.tick_after(std::chrono::milliseconds{300});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_FALSE(passes.empty());
  std::size_t staying = 0;
  for (const policy::Member& member : passes.back().snapshot.members) staying += member.preemptible ? 0 : 1;
  EXPECT_EQ(passes.back().snapshot.members.size(), 4U);
  EXPECT_EQ(staying, 2U);
  supervisor.ignore();
}

// Spec: policy-runai 2, for memory as for slots: a project without a weight has its guarantee of it as one.
TEST(PolicySnapshot, WhatIsBeyondGuaranteesOfMemoryGoesByThem) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a", .guaranteed_slots = 1, .guaranteed_memory = kGiB * 3},
                                                 {.name = "b", .guaranteed_slots = 2, .guaranteed_memory = kGiB}})};
  supervisor.join({.slots = 4});
  supervisor.submit(GraphBuilder{}.sources(2).build());
  supervisor.tick_after(std::chrono::milliseconds{5});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  const std::vector<policy::Project>& seen = passes[0].snapshot.projects;
  EXPECT_EQ(seen[0].shares[1].weight, 3 * seen[1].shares[1].weight);
  EXPECT_EQ(2 * seen[0].shares[2].weight, seen[1].shares[2].weight);
  supervisor.ignore();
}

/// Of the first subtask of job 1.
JobReports report_of(Outcome outcome, std::uint32_t run_us) {
  JobReports reports;
  reports.job = JobId{1};
  AttemptReport report;
  report.subtask = SubtaskIndex{0};
  report.attempt = Attempt{1};
  report.outcome = outcome;
  report.run_us = run_us;
  reports.attempts = {report};
  return reports;
}

// A long attempt is charged while it runs, by its own slots, and once: what it says at its end is not added to that.
// Spec: policy-flux 6.
TEST(PolicySnapshot, UseIsChargedWhileAnAttemptRuns) {
  SupervisorConfig config = policed("multifactor");
  config.policy.accounts = {{.name = "ann"}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 2});
  JobSpec spec;
  spec.owner = "ann";
  Graph graph = GraphBuilder{}.sources(9).add({}, 1).build();
  graph.templates[1].request.slots = kOneSlot * 2;  // Waits behind the others.
  supervisor.submit(std::move(graph), spec);
  supervisor.settle(2);
  const auto usage = [&] { return *(*supervisor.ask("shares")->list())[0]["usage_slot_s"].number(); };
  supervisor.report(1, report_of(Outcome::Started, 2'000'000));
  for (int i = 0; i < 50; ++i) {
    supervisor.tick_after(std::chrono::milliseconds{200});
    supervisor.settle(1);
  }
  EXPECT_NEAR(usage(), 12, 0.5) << "2 s before it was reported as running, 10 s since";
  const double so_far = usage();
  supervisor.report(1, report_of(Outcome::Succeeded, 12'500'000));
  supervisor.settle(1);
  supervisor.tick_after(std::chrono::milliseconds{300});
  supervisor.settle(1);
  EXPECT_NEAR(usage(), so_far, 0.3);
  supervisor.ignore();
}

// The time of attempts is charged to the account of their job, and fades.
TEST(PolicySnapshot, UseIsChargedAndFadesByHalves) {
  SupervisorConfig config = policed("multifactor");
  config.policy.accounts = {{.name = "ann"}};
  config.policy.usage_half_life = std::chrono::seconds{100};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 2});
  JobSpec spec;
  spec.owner = "ann";
  supervisor.submit(GraphBuilder{}.sources(9).build(), spec);
  supervisor.settle(2);
  supervisor.report(1, report_of(Outcome::Succeeded, 8'000'000));
  supervisor.settle(1);
  supervisor.tick_after(std::chrono::milliseconds{300});
  const auto usage = [&] { return *(*supervisor.ask("shares")->list())[0]["usage_slot_s"].number(); };
  EXPECT_NEAR(usage(), 8, 0.1);
  supervisor.take_passes();
  supervisor.tick_after(std::chrono::seconds{100});
  supervisor.settle(1);
  EXPECT_NEAR(usage(), 4, 0.2);
  supervisor.ignore();
}

// Seeds 500030820 and 500179446 of the simulator with a policy: members that left without having been asked to had no
// grace to end by, and kept the promised places from all others.
TEST(PolicySnapshot, AGangGivesItsPromisedPlacesBackAlsoWhereQuotasCount) {
  SupervisorConfig config = policed("quota", {{.name = "a", .guaranteed_slots = 3}, {.name = "b"}});
  config.policy.gang_wait = std::chrono::seconds{2};
  config.policy.grace = std::chrono::seconds{1};
  PolicedSupervisor supervisor{config};
  JobSpec low;
  low.policy = {.project = "b"};
  JobSpec high;
  high.policy = {.project = "a", .gang = 2};
  supervisor.join({.slots = 3});
  supervisor.submit(GraphBuilder{}.sources(2).build(), low);
  supervisor.settle(2);
  for (const std::uint32_t subtask : {0U, 1U}) supervisor.say(1, subtask, Outcome::Started);
  supervisor.submit(GraphBuilder{}.sources(2).build(), high);
  supervisor.settle(2);
  const auto promises_after = [&](Duration passed) {
    supervisor.tick_after(passed);
    const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
    EXPECT_EQ(passes.size(), 1U);
    if (passes.empty()) return std::size_t{99};
    supervisor.handle(PolicedSupervisor::run(passes[0]));
    return passes[0].snapshot.carried.size();
  };
  EXPECT_EQ(promises_after(std::chrono::seconds{1}), 2U) << "each member has its promise";
  EXPECT_EQ(promises_after(std::chrono::milliseconds{999}), 2U);
  EXPECT_EQ(promises_after(std::chrono::seconds{1}), 0U) << "and then none";
  EXPECT_EQ(promises_after(std::chrono::seconds{1}), 2U) << "it is promised places anew";
  supervisor.ignore();
}

TEST(PolicySnapshot, AJobIsTakenToEndByItsOwnLimitFromItsFirstRun) {
  SupervisorConfig config = policed("multifactor");
  config.policy.queues = {{.name = "short", .time_limit = std::chrono::seconds{50}}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 2});
  JobSpec own;
  own.policy.queue = "short";
  own.time_limit = std::chrono::seconds{100};
  supervisor.submit(GraphBuilder{}.sources(1).build(), own);
  JobSpec of_queue;
  of_queue.policy.queue = "short";
  supervisor.submit(GraphBuilder{}.sources(1).build(), of_queue);
  supervisor.settle(2);
  const Instant held = supervisor.now();
  supervisor.tick_after(std::chrono::seconds{30});
  supervisor.settle(1);
  supervisor.say(1, 0, Outcome::Started);
  supervisor.settle(1);
  supervisor.ignore();
  const Instant runs = supervisor.now();
  supervisor.tick_after(std::chrono::seconds{10});
  const std::vector<supervisor_action::RunPass> passes = supervisor.take_passes();
  ASSERT_EQ(passes.size(), 1U);
  const std::vector<policy::Workload>& seen = passes[0].snapshot.workloads;
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].time_limit, std::chrono::seconds{100});
  EXPECT_LE(seen[0].ends_by, runs + std::chrono::seconds{100}) << "since it runs";
  EXPECT_GE(seen[0].ends_by, runs + std::chrono::seconds{98});
  EXPECT_EQ(seen[1].time_limit, std::chrono::seconds{50});
  EXPECT_LE(seen[1].ends_by, held + std::chrono::seconds{50}) << "since it has slots";
  supervisor.ignore();
}

// As a job that was put back into the queue elsewhere.
TEST(PolicySnapshot, APreemptedJobHasItsWholeLimitAgain) {
  PolicedSupervisor supervisor{policed("priority")};
  supervisor.join({.slots = 2});
  JobSpec low;
  low.name = "low";
  low.time_limit = std::chrono::seconds{100};
  supervisor.submit(GraphBuilder{}.sources(2).build(), low);
  supervisor.settle(2);
  for (const std::uint32_t subtask : {0U, 1U}) supervisor.say(1, subtask, Outcome::Started);
  supervisor.tick_after(std::chrono::seconds{60});
  JobSpec high;
  high.name = "high";
  high.priority = 10;
  supervisor.submit(GraphBuilder{}.sources(1).build(), high);
  supervisor.settle(2);
  const auto left = [&] { return (*supervisor.ask("job", {"low"}))["time_left_s"]; };
  const std::uint32_t victim = supervisor.job(1).shares->preempting->contains(SubtaskIndex{0}) ? 0 : 1;
  supervisor.say(1, victim, Outcome::Returned);
  EXPECT_NEAR(*left().number(), 40, 1) << "the other one runs on";
  JobSpec more = high;
  more.name = "more";
  supervisor.submit(GraphBuilder{}.sources(1).build(), more);
  supervisor.settle(2);
  PENSTOCK_EXPECT_COVERAGE_MARK("a time limit begins anew", supervisor.say(1, 1 - victim, Outcome::Returned));
  EXPECT_TRUE(left().is_null());
  supervisor.tick_after(std::chrono::seconds{60});
  EXPECT_FALSE(supervisor.job(1).status.cancelling);
  supervisor.ignore();
}

std::size_t given_to(const Lines& assigned, const std::string& prefix) {
  return static_cast<std::size_t>(std::count_if(assigned.begin(), assigned.end(),
                                                [&](const std::string& line) { return line.starts_with(prefix); }));
}

// A job that waits for another one, slots lent, kept them from it for ever.
TEST(LentSlots, ASlotThatARunHasLentIsForOthersUntilTheRunWantsOne) {
  for (const std::string preset : {"fair_share", "priority", "quota"}) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.slots = 1});
    supervisor.submit(GraphBuilder{}.sources(1).build());
    supervisor.settle(2);
    supervisor.say(1, 0, Outcome::Started);
    supervisor.submit(GraphBuilder{}.sources(1).build());
    supervisor.settle(2);
    EXPECT_EQ(given_to(supervisor.assigned(), "2:"), 0U) << preset;
    supervisor.say(1, 0, Outcome::Lent);
    supervisor.settle(2);
    EXPECT_EQ(supervisor.cancels(), Lines{}) << preset << ": the run goes on";
    EXPECT_EQ(given_to(supervisor.assigned(), "2:"), 1U) << preset;
    supervisor.say(1, 0, Outcome::Started, 2);
    supervisor.say(1, 0, Outcome::Wanted);
    supervisor.settle(2);
    supervisor.succeed(1, 0, {}, 2);
    supervisor.settle(2);
    EXPECT_NE(supervisor.entitlements(1), Lines{"w1:0"}) << preset;
    supervisor.say(1, 0, Outcome::Started);
    EXPECT_EQ(supervisor.job(1).shares->of(BandSlot{0}).started, 1U);
    supervisor.succeed(1, 0);
    EXPECT_EQ(supervisor.state(1), JobState::Succeeded) << preset;
    supervisor.ignore();
  }
}

TEST(LentSlots, ARunMayEndWhileItsSlotIsLent) {
  PolicedSupervisor supervisor{policed("fair_share")};
  supervisor.join({.slots = 1});
  supervisor.submit(GraphBuilder{}.sources(2).build());
  supervisor.settle(2);
  supervisor.say(1, 0, Outcome::Started);
  supervisor.say(1, 0, Outcome::Lent);
  supervisor.say(1, 0, Outcome::Lent);
  supervisor.say(1, 1, Outcome::Wanted);
  EXPECT_EQ(supervisor.job(1).shares->of(BandSlot{0}).in_flight, 1U);
  supervisor.succeed(1, 0);
  EXPECT_EQ(supervisor.job(1).shares->of(BandSlot{0}).in_flight, 1U);
  supervisor.succeed(1, 1);
  EXPECT_EQ(supervisor.state(1), JobState::Succeeded);
  supervisor.ignore();
}

void submit_many(PolicedSupervisor& supervisor, const std::string& owner, JobPolicy policy = {}) {
  JobSpec spec;
  spec.owner = owner;
  spec.policy = std::move(policy);
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
}

// Slots that one user may not have go to others by their shares, and the first of its jobs has no more of the limit
// than its share.
TEST(PolicySnapshot, WhereSlotsAreSharedALimitIsDividedWithThem) {
  SupervisorConfig config = policed("fair_share");
  config.policy.users = {{.name = "ann", .limits = {.slots_max = 4}}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 8});
  submit_many(supervisor, "ann");
  submit_many(supervisor, "ann");
  submit_many(supervisor, "bob");
  PENSTOCK_EXPECT_COVERAGE_MARK("a limit is divided with the shares of a pool", supervisor.settle(6));
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:2"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:2"});
  EXPECT_EQ(supervisor.entitlements(3), Lines{"w1:4"});
  const auto held_by = [&](const char* job) { return *(*supervisor.ask("explain", {job}))["held_by"].text(); };
  EXPECT_EQ(held_by("job-1"), "slots_max of user 'ann' is 4, which its jobs share");
  EXPECT_NE(held_by("job-3").find("fair share"), std::string::npos);
  supervisor.ignore();
}

TEST(PolicySnapshot, ADividedLimitOfSlotsBeginsNoMoreJobsThanTheLimitOfTheirNumber) {
  SupervisorConfig config = policed("fair_share");
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 2, .slots_max = 4}}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 8});
  for (int i = 0; i < 4; ++i) submit_many(supervisor, "ann");
  supervisor.settle(6);
  int with_slots = 0;
  for (std::uint32_t job = 1; job <= 4; ++job) with_slots += supervisor.entitlements(job).empty() ? 0 : 1;
  EXPECT_GE(with_slots, 1);
  EXPECT_LE(with_slots, 2);
  supervisor.ignore();
}

// Nothing of the limit is left to the pool that shares for what a job holds in another pool, or for a gang that runs.
TEST(PolicySnapshot, OfALimitThatIsDividedOthersKeepWhatTheyHold) {
  SupervisorConfig config = policed("fair_share");
  config.policy.users = {{.name = "ann", .limits = {.slots_max = 5}}};
  config.policy.pools.push_back({.name = "queue", .preset = "priority", .workers = {"worker-2"}});
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 8});
  supervisor.join({.slots = 2});
  submit_many(supervisor, "ann", {.pools = {"queue"}});
  submit_many(supervisor, "ann", {.gang = 2});
  supervisor.settle(4);
  submit_many(supervisor, "ann");
  submit_many(supervisor, "bob");
  supervisor.settle(6);
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:2"});
  EXPECT_EQ(supervisor.entitlements(3), Lines{"w1:1"}) << "of 5, 2 elsewhere and 2 of the gang";
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
