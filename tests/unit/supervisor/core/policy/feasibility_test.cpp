// SupervisorCore: what a job asks for and nobody in its pool has.
#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

/// Pool `first` has worker-1 with 2 slots, `rest` has the others with 4 each.
class FeasibleInPool : public testing::Test {
 protected:
  FeasibleInPool() : supervisor(two_pools()) {
    supervisor.join({.slots = 2});
    supervisor.join({.slots = 4});
    supervisor.join({.slots = 4});
  }
  ~FeasibleInPool() override { supervisor.ignore(); }

  static SupervisorConfig two_pools() {
    SupervisorConfig config;
    config.policy.pools = {{.name = "first", .workers = {"worker-1"}}, {.name = "rest"}};
    return config;
  }
  static JobSpec in(const std::string& pool, std::uint32_t gang = 0) {
    JobSpec spec;
    spec.name = "mine";
    spec.policy.pools = {pool};
    spec.policy.gang = gang;
    return spec;
  }
  std::string refused(Graph graph, const JobSpec& spec) {
    if (supervisor.submit(std::move(graph), spec).valid()) return "accepted";
    return to_string(supervisor.refusal());
  }
  static Graph one(ResourceVector request, BandSelector required = {}) {
    GraphBuilder builder;
    builder.template_at(0).request = request;
    builder.template_at(0).required = std::move(required);
    return builder.add().build();
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  PolicedSupervisor supervisor;
};

TEST_F(FeasibleInPool, ARequiredWorkerOfAnotherPoolIsRefusedWithAllNames) {
  const std::string text = refused(one({.slots = kOneSlot}, {"worker-2", ""}), in("first"));
  for (const char* part : {"subtask '0' of job 'mine'", "requires band 'worker-2'", "pool 'rest'", "of pool 'first'",
                           "submit the job to pool 'rest', or leave the requirement out"})
    EXPECT_TRUE(has(text, part)) << part << " in " << text;
  EXPECT_EQ(supervisor.refusal().code, ErrorCode::NoAvailableBand);
  EXPECT_EQ(refused(one({.slots = kOneSlot}, {"worker-2", ""}), in("rest")), "accepted");
}

TEST_F(FeasibleInPool, ARequestThatFitsNoBandOfThePoolIsRefusedWithTheNearestAndWhoCould) {
  const std::string text = refused(one({.slots = kOneSlot * 3}), in("first"));
  for (const char* part : {"subtask '0' of job 'mine'", "any band of pool 'first'", "the nearest is worker-1/",
                           "of pool 'rest' could have it", "submit the job to pool 'rest'"})
    EXPECT_TRUE(has(text, part)) << part << " in " << text;
  EXPECT_EQ(supervisor.refusal().code, ErrorCode::RequestTooLarge);
  EXPECT_EQ(refused(one({.slots = kOneSlot * 3}), in("rest")), "accepted");
}

TEST_F(FeasibleInPool, WhoWaitsForResourcesIsHeldAndExplained) {
  JobSpec spec = in("first");
  spec.wait_for_resources = true;
  ASSERT_TRUE(supervisor.submit(one({.slots = kOneSlot * 3}), spec).valid());
  JobSpec other = in("first");
  other.name = "other";
  ASSERT_TRUE(supervisor.submit(GraphBuilder{}.sources(1).build(), other).valid());
  supervisor.settle(3);
  const Result<Value> answer = supervisor.ask("explain", {"mine"});
  ASSERT_TRUE(answer.has_value());
  const std::string text = *(*answer)["reason"].text();
  EXPECT_TRUE(has(text, "infeasible: requests more than any band of pool 'first' has")) << text;
  EXPECT_TRUE(has(text, "the nearest is worker-1/")) << text;
  EXPECT_EQ(supervisor.assigned().size(), 1U) << "it starves nobody";
}

TEST_F(FeasibleInPool, AGangLargerThanItsPoolIsRefused) {
  const std::string text = refused(GraphBuilder{}.sources(3).build(), in("first", 3));
  EXPECT_TRUE(has(text, "gang of 3 of job 'mine'")) << text;
  EXPECT_TRUE(has(text, "is larger than pool 'first', which has 2 cpu slots")) << text;
}

// Passes place it on one band or on whole bands of one size.
TEST_F(FeasibleInPool, AGangThatNoPassCouldPlaceIsRefusedWithOneThatFits) {
  const std::string text = refused(GraphBuilder{}.sources(6).build(), in("rest", 6));
  EXPECT_TRUE(has(text, "fits neither one band of pool 'rest', of which the largest has 4 slots")) << text;
  EXPECT_TRUE(has(text, "a gang of 4 does")) << text;
  EXPECT_EQ(refused(GraphBuilder{}.sources(8).build(), in("rest", 8)), "accepted");
}

// The few devices of its one worker are taken one by one.
TEST_F(FeasibleInPool, AGangIsMeasuredByTheKindOfBandThatThePoolHasMoreOf) {
  supervisor.join({.gpus = 1});
  GraphBuilder builder;
  builder.sources(8);
  builder.template_at(1).request = {.slots = kOneSlot, .gpu = MilliGpu{1000}};
  builder.template_at(1).required = {"worker-4", ""};
  builder.add({}, 1);
  const std::string text = refused(builder.build(), in("rest", 12));
  EXPECT_TRUE(has(text, "is larger than pool 'rest', which has 9 cpu slots")) << text;
  GraphBuilder devices;
  devices.template_at(0) = builder.template_at(1);
  const std::string of_devices = refused(devices.sources(8).build(), in("rest", 8));
  EXPECT_TRUE(has(of_devices, "is larger than pool 'rest', which has 1 gpu slots")) << of_devices;
  EXPECT_EQ(refused(builder.build(), in("rest", 8)), "accepted");
}

TEST_F(FeasibleInPool, AGangOnHoldForItsSizeIsExplained) {
  JobSpec spec = in("rest", 6);
  spec.wait_for_resources = true;
  ASSERT_TRUE(supervisor.submit(GraphBuilder{}.sources(6).build(), spec).valid());
  supervisor.settle(3);
  const Result<Value> answer = supervisor.ask("explain", {"mine"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(has(*(*answer)["held_by"].text(), "infeasible: it needs 6 slots at once"))
      << *(*answer)["held_by"].text();
}

TEST_F(FeasibleInPool, APoolWithoutWorkersIsWaitedFor) {
  supervisor.lose(1);
  supervisor.alerts();
  ASSERT_EQ(refused(one({.slots = kOneSlot * 3}), in("first")), "accepted");
  const Result<Value> answer = supervisor.ask("explain", {"mine"});
  EXPECT_EQ(*(*answer)["reason"].text(), "pool 'first' has no worker now");
}

// Bands of another pool must not make a gang take its slots one by one.
TEST_F(FeasibleInPool, SmallBandsOfAnotherPoolLeaveAGangWhole) {
  GraphBuilder builder;
  builder.sources(2).template_at(0).request.slots = kOneSlot * 4;
  ASSERT_TRUE(supervisor.submit(builder.build(), in("rest", 8)).valid());
  supervisor.settle(3);
  EXPECT_FALSE(supervisor.job(1).shares->kinds[0].bound);
  const Result<Value> queue = supervisor.ask("queue");
  ASSERT_TRUE(queue.has_value());
  EXPECT_EQ((*queue->list())[0]["slots"], Value{8});
}

/// A pool where quotas count, and one by shares.
class NeverPreempted : public testing::Test {
 protected:
  ~NeverPreempted() override { supervisor.ignore(); }

  static SupervisorConfig quotas() {
    SupervisorConfig config = policed("quota", {{.name = "vision", .guaranteed_slots = 1},
                                                {.name = "science", .is_department = true, .guaranteed_slots = 2},
                                                {.name = "none-yet", .department = "science"}});
    config.policy.pools.push_back({.name = "shares", .preset = "fair_share", .workers = {"shares-*"}});
    return config;
  }
  std::string submitted(JobPolicy policy, std::uint32_t slots = 1, bool patient = false, Bytes memory = {}) {
    GraphBuilder builder;
    builder.template_at(0).request.slots = kOneSlot * slots;
    builder.template_at(0).request.memory = memory;
    JobSpec spec;
    spec.wait_for_resources = patient;
    spec.name = "mine-" + std::to_string(next_++);
    spec.policy = std::move(policy);
    if (supervisor.submit(builder.sources(subtasks_of(spec)).build(), spec).valid()) return "accepted";
    return to_string(supervisor.refusal());
  }
  static std::uint32_t subtasks_of(const JobSpec& spec) { return std::max(spec.policy.gang, 1U); }
  std::string held(const std::string& job) {
    const Result<Value> answer = supervisor.ask("explain", {job});
    const std::string* text = answer ? (*answer)["held_by"].text() : nullptr;
    return text == nullptr ? "" : *text;
  }

  PolicedSupervisor supervisor{quotas()};
  int next_ = 1;
};

// Found by an acceptance test: the band was said to be nowhere.
TEST(Feasibility, ARequiredBandOfAnotherPoolIsNamedWithItsPoolWhateverItsLabels) {
  SupervisorConfig config = policed("priority");
  config.policy.pools.push_back({.name = "others", .preset = "priority", .workers = {"worker-2"}});
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  supervisor.join({.slots = 4});
  Graph built = GraphBuilder{}.sources(1).build();
  built.templates.front().required.worker = "worker-2";
  built.templates.front().request.slots = MilliSlots{9000};
  JobSpec spec;
  spec.name = "pinned";
  spec.wait_for_resources = true;
  supervisor.submit(built, spec);
  const Result<Value> answer = supervisor.ask("explain", {"pinned"});
  ASSERT_TRUE(answer.has_value());
  ASSERT_NE((*answer)["held_by"].text(), nullptr);
  EXPECT_EQ(*(*answer)["held_by"].text(),
            "infeasible: requires band 'worker-2', which is in pool 'others', and its job is in pool 'all'");
  supervisor.ignore();
}

// Found by an acceptance test: such a job waited for ever.
TEST_F(NeverPreempted, WithoutAProjectIsRefusedWhereQuotasCountWithTheWayOut) {
  EXPECT_EQ(
      submitted({.preemptible = Preemptible::No}),
      "job 'mine-1': is never preempted (preemptible = false) and has no project: in pool 'all' such jobs get only "
      "the guarantee of their project, so it would wait for ever (give it a project (`penstock projects` lists "
      "them), or say preemptible = true)")
      << "also before there is a worker";
  supervisor.join({.slots = 4});
  EXPECT_NE(submitted({.kind = JobKind::Inference}).find("(kind inference)"), std::string::npos);
  EXPECT_EQ(submitted({.kind = JobKind::Interactive, .preemptible = Preemptible::Yes}), "accepted");
  EXPECT_EQ(submitted({.project = "vision", .preemptible = Preemptible::No}), "accepted");
  EXPECT_EQ(submitted({.pools = {"all", "shares"}, .preemptible = Preemptible::No}), "accepted")
      << "it may go where no quotas count";
  JobSpec patient;
  patient.name = "patient";
  patient.wait_for_resources = true;
  patient.policy.preemptible = Preemptible::No;
  EXPECT_TRUE(supervisor.submit(GraphBuilder{}.sources(1).build(), patient).valid());
}

TEST_F(NeverPreempted, WhomAReloadLeavesWithoutAGuaranteeIsHeldAndExplained) {
  supervisor.join({.slots = 4});
  SupervisorConfig shares = quotas();
  shares.policy.pools[0].preset = "fair_share";
  const auto reload = [&](const PolicyConfig& policy) {
    supervisor.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, policy});
  };
  reload(shares.policy);
  ASSERT_EQ(submitted({.preemptible = Preemptible::No}), "accepted");
  reload(quotas().policy);
  supervisor.settle(3);
  EXPECT_NE(held("mine-1").find("guarantee of jobs without a project: a job that is never preempted must fit it"),
            std::string::npos)
      << held("mine-1");
}

// Found by a user's trial: such jobs waited for ever.
TEST_F(NeverPreempted, LargerThanTheGuaranteeIsRefusedWithTheNumberThatWouldDo) {
  supervisor.join({.slots = 4});
  EXPECT_EQ(
      submitted({.project = "vision", .gang = 3, .kind = JobKind::Interactive}),
      "job 'mine-1': is never preempted (kind interactive) and takes 3 slots at once: in pool 'all' such jobs get "
      "only the guarantee of their project, and project 'vision' is guaranteed 1, so it would wait for ever (set "
      "quota vision 3, say preemptible = true, or submit with --wait-for-resources)");
  const std::string one_run = submitted({.project = "vision", .preemptible = Preemptible::No}, 2);
  EXPECT_NE(one_run.find("(preemptible = false) and takes 2 slots at once"), std::string::npos) << one_run;
  EXPECT_EQ(submitted({.project = "vision", .kind = JobKind::Interactive}), "accepted");
  EXPECT_EQ(submitted({.project = "vision", .gang = 3}), "accepted") << "it may be preempted";
  EXPECT_EQ(submitted({.project = "vision", .pools = {"all", "shares"}, .kind = JobKind::Interactive}, 2), "accepted");
  EXPECT_EQ(submitted({.project = "vision", .kind = JobKind::Interactive}, 2, true), "accepted") << "it waits";
}

TEST_F(NeverPreempted, AllOfTheChainMustGuaranteeIt) {
  supervisor.join({.slots = 4});
  const std::string both = submitted({.project = "none-yet", .gang = 3, .kind = JobKind::Interactive});
  EXPECT_NE(both.find("project 'none-yet' is guaranteed 0"), std::string::npos) << both;
  EXPECT_NE(both.find("(set quota none-yet 3; set quota science 3, say"), std::string::npos) << both;
  EXPECT_TRUE(supervisor.ask("set", {"quota", "none-yet", "3"}).has_value());
  const std::string above = submitted({.project = "none-yet", .gang = 3, .kind = JobKind::Interactive});
  EXPECT_NE(above.find("department 'science' is guaranteed 2"), std::string::npos) << above;
  EXPECT_NE(above.find("(set quota science 3, say"), std::string::npos) << above;
}

/// The same pools.
class LimitsOfProjects : public NeverPreempted {};

// Found by a simulated cluster: such jobs waited for ever.
TEST_F(LimitsOfProjects, AJobThatTakesMoreAtOnceIsRefused) {
  SupervisorConfig config = quotas();
  for (ProjectConfig& each : config.policy.projects)
    if (each.name == "vision")
      each.slots_max = 2;
    else if (each.is_department)
      each.slots_max = 3;
  config.policy.pools.push_back({.name = "priorities", .preset = "priority", .workers = {"priorities-*"}});
  supervisor.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config.policy});
  EXPECT_EQ(submitted({.project = "vision"}, 3),
            "job 'mine-1': takes 3 slots at once, and project 'vision' may hold 2, so it would wait for ever (raise "
            "slots_max there, ask for less, or submit with --wait-for-resources)")
      << "also before there is a worker";
  supervisor.join({.slots = 4});
  EXPECT_EQ(submitted({.project = "vision"}, 2), "accepted");
  const std::string gang = submitted({.project = "none-yet", .gang = 4});
  EXPECT_NE(gang.find("takes 4 slots at once, and department 'science' may hold 3"), std::string::npos) << gang;
  const std::string shared = submitted({.project = "vision", .pools = {"all", "shares"}}, 3);
  EXPECT_NE(shared.find("project 'vision' may hold 2"), std::string::npos) << shared;
  EXPECT_EQ(submitted({.project = "vision", .pools = {"all", "priorities"}}, 3), "accepted")
      << "it may go where projects have no limits";
  EXPECT_EQ(submitted({.project = "vision"}, 3, true), "accepted") << "it waits";
}

TEST_F(LimitsOfProjects, AJobWithASubtaskOfMoreMemoryIsRefused) {
  SupervisorConfig config = quotas();
  for (ProjectConfig& each : config.policy.projects)
    if (each.is_department) each.memory_max = Bytes{1 << 30};
  config.policy.pools.push_back({.name = "shares", .preset = "fair_share", .workers = {"shares-*"}});
  supervisor.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config.policy});
  supervisor.join({.slots = 4});
  constexpr Bytes kMore{(1LL << 30) + 1};
  const std::string refusal = submitted({.project = "none-yet"}, 1, false, kMore);
  EXPECT_NE(refusal.find("requests 1073741825B of memory, and department 'science' may hold 1GiB"), std::string::npos)
      << refusal;
  EXPECT_EQ(submitted({.project = "none-yet"}, 1, false, Bytes{1 << 30}), "accepted");
  EXPECT_EQ(submitted({.project = "none-yet", .pools = {"shares"}}, 1, false, kMore), "accepted")
      << "only quotas count memory";
  EXPECT_EQ(submitted({.project = "none-yet", .gang = 2}, 1, false, kMore), "accepted")
      << "its slots are counted alone";
  EXPECT_EQ(submitted({.project = "none-yet"}, 1, true, kMore), "accepted") << "it waits";
}

TEST_F(NeverPreempted, WhereItsGuaranteeIsNotItIsToldWhereItIs) {
  SupervisorConfig config = quotas();
  config.policy.pools.push_back({.name = "more", .preset = "quota", .workers = {"more-*"}});
  supervisor.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config.policy});
  supervisor.join({.slots = 4});
  const std::string text = submitted({.project = "vision", .pools = {"more"}, .kind = JobKind::Interactive});
  EXPECT_NE(text.find("(guarantees of that project are in pool 'all', say"), std::string::npos) << text;
}

TEST_F(NeverPreempted, OfAProjectWithoutAGuaranteeThatWaitsIsHeldWithTheNameOfItsProject) {
  supervisor.join({.slots = 4});
  ASSERT_NE(submitted({.project = "none-yet", .preemptible = Preemptible::No}), "accepted");
  ASSERT_EQ(submitted({.project = "none-yet", .preemptible = Preemptible::No}, 1, true), "accepted");
  supervisor.settle(3);
  EXPECT_NE(held("mine-2").find("guarantee of project 'none-yet'"), std::string::npos) << held("mine-2");
  EXPECT_TRUE(supervisor.ask("set", {"quota", "none-yet", "1"}).has_value());
  supervisor.settle(3);
  EXPECT_EQ(held("mine-2"), "");
}

}  // namespace
}  // namespace penstock::supervisor
