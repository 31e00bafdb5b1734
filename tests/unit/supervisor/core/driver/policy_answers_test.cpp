// SupervisorCore: what operators ask about policy, and what they change of it.
#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

class PolicyQueries : public testing::Test {
 protected:
  explicit PolicyQueries(const std::string& preset = "fair_share_max_min")
      : supervisor(policed(preset, {{.name = "a"}, {.name = "b"}})) {
    supervisor.join({.slots = 4});
    for (const char* name : {"a", "b"}) {
      JobSpec spec;
      spec.name = std::string{"job of "} + name;
      spec.policy.project = name;
      supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
    }
    supervisor.settle(3);
  }
  ~PolicyQueries() override { supervisor.ignore(); }

  Value row(const std::string& command, std::size_t index) {
    const Result<Value> answer = supervisor.ask(command);
    EXPECT_TRUE(answer.has_value()) << to_string(answer.error());
    return answer.has_value() && index < answer->list()->size() ? (*answer->list())[index] : Value{};
  }
  std::string refused(const std::string& command, const std::vector<std::string>& words) {
    const Result<Value> answer = supervisor.ask(command, words);
    return answer.has_value() ? "done" : to_string(answer.error());
  }

  PolicedSupervisor supervisor;
};

TEST_F(PolicyQueries, PoolsProjectsAndTheQueueAreTold) {
  EXPECT_EQ(row("pools", 0)["slots"], Value{4});
  EXPECT_EQ(row("pools", 0)["entitled"], Value{4});
  EXPECT_EQ(row("pools", 0)["contended"], Value{true});
  EXPECT_EQ(row("projects", 1)["project"], Value{"b"});
  EXPECT_EQ(row("projects", 1)["slots"], Value{2});
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-1"});
  EXPECT_EQ(row("queue", 0)["position"], Value{1});
  EXPECT_EQ(row("queue", 1)["slots"], Value{2});
  EXPECT_NE(row("queue", 1)["held_by"].text()->find("fair share"), std::string::npos);
}

// Spec: policy-determined 9.6.
TEST_F(PolicyQueries, APoolTellsHowManyWorkersItsWaitingJobsCallFor) {
  const std::int64_t before = *row("pools", 0)["workers_wanted"].integer();
  JobSpec more;
  more.name = "more";
  supervisor.submit(GraphBuilder{}.sources(8).build(), more);
  supervisor.settle(2);
  EXPECT_EQ(row("pools", 0)["workers_wanted"], Value{before + 2}) << "of four slots each";
}

TEST_F(PolicyQueries, ExplainNamesTheRuleThatHoldsAJob) {
  const Result<Value> answer = supervisor.ask("explain", {"job-2"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ((*answer)["preset"], Value{"fair_share_max_min"});
  EXPECT_EQ((*answer)["slots_held"], Value{2});
  EXPECT_NE((*answer)["held_by"].text()->find("it holds 2 of the 2 slots of its share"), std::string::npos);
}

TEST_F(PolicyQueries, AWeightOrACapChangesWhatIsInForce) {
  EXPECT_EQ(refused("set", {"weight", "job-1", "3"}), "done");
  supervisor.settle(3);
  EXPECT_EQ(supervisor.job(1).spec.policy.weight, 3000U);
  EXPECT_EQ(refused("set", {"cap", "job-2", "1"}), "done");
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:3"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:1"});
  EXPECT_EQ(refused("set", {"cap", "job-2", "none"}), "done");
  EXPECT_EQ(supervisor.job(2).spec.policy.slots_max, 0U);
}

TEST_F(PolicyQueries, WrongOrdersAreRefusedAndChangeNothing) {
  EXPECT_NE(refused("set", {"weight", "job-1", "-1"}).find("no number from 0.001"), std::string::npos);
  EXPECT_NE(refused("set", {"weight", "job-1", "nan"}).find("no number from 0.001"), std::string::npos);
  EXPECT_NE(refused("set", {"cap", "job-1", "0"}).find("no number of slots"), std::string::npos);
  for (const char* factor : {"1.01", "-0.1", "nan", "much", ""})
    EXPECT_NE(refused("set", {"user-factor", "job-1", factor}).find("no number from 0 to 1"), std::string::npos);
  EXPECT_NE(refused("set", {"weight", "job-7", "1"}).find("job 'job-7'"), std::string::npos);
  EXPECT_NE(refused("set", {"colour", "job-1", "1"}).find("no such setting"), std::string::npos);
  EXPECT_NE(refused("set", {"quota", "c", "1"}).find("project 'c'"), std::string::npos);
  EXPECT_NE(refused("set", {"quota", "a", "-3"}).find("guaranteed_slots is negative"), std::string::npos);
  EXPECT_NE(refused("move", {"job-1", "beside", "job-2"}).find("ahead-of|behind"), std::string::npos);
  EXPECT_EQ(refused("set", {"quota", "a", "3"}), "done");
  EXPECT_EQ(row("projects", 0)["guaranteed_slots"], Value{3});
}

TEST_F(PolicyQueries, WhatIsSetOfAProjectIsToldWithWhatWasThere) {
  const Result<Value> gpus = supervisor.ask("set", {"gpu-quota", "a", "2"});
  ASSERT_TRUE(gpus.has_value()) << to_string(gpus.error());
  EXPECT_EQ((*gpus)["guaranteed_gpu_slots"], Value{2});
  EXPECT_EQ((*gpus)["was"], Value{0});
  EXPECT_EQ(refused("set", {"memory-quota", "a", "8GiB"}), "done");
  EXPECT_EQ(refused("set", {"project-weight", "b", "2.5"}), "done");
  EXPECT_EQ(row("projects", 0)["guaranteed_gpu_slots"], Value{2});
  EXPECT_EQ(row("projects", 0)["guaranteed_memory"], Value{std::int64_t{8} << 30});
  EXPECT_EQ(row("projects", 1)["weight"], Value{2.5});
  const Result<Value> unsaid = supervisor.ask("set", {"project-weight", "b", "none"});
  ASSERT_TRUE(unsaid.has_value());
  EXPECT_EQ((*unsaid)["weight"], Value{});
  EXPECT_EQ((*unsaid)["was"], Value{2.5});
  EXPECT_EQ(row("projects", 1)["weight"], Value{});
  EXPECT_NE(refused("set", {"memory-quota", "a", "much"}).find("no amount of memory"), std::string::npos);
  EXPECT_NE(refused("set", {"memory-quota", "a", "999999999GiB"}), "done");
  EXPECT_NE(refused("set", {"gpu-quota", "a", "-1"}).find("guaranteed_gpu_slots is negative"), std::string::npos);
  EXPECT_NE(refused("set", {"gpu-quota", "c", "1"}).find("project 'c'"), std::string::npos);
  EXPECT_NE(refused("set", {"project-weight", "a", "-1"}).find("no number from 0.001"), std::string::npos);
}

// A program that reads `queue` and `projects` compares what it finds there with what it was answered.
TEST_F(PolicyQueries, NumbersInAnswersAreWhatTheQueriesHave) {
  const auto answer = [this](std::vector<std::string> words) {
    const Result<Value> found = supervisor.ask("set", std::move(words));
    EXPECT_TRUE(found.has_value()) << to_string(found.error());
    return found ? *found : Value{};
  };
  EXPECT_EQ(answer({"weight", "job-1", "2.5"}),
            (Value{Value::Record{{"job", "job-1"}, {"weight", 2.5}, {"was", 1.0}}}));
  EXPECT_EQ(row("queue", 0)["weight"], Value{2.5});
  EXPECT_EQ(answer({"cap", "job-1", "3"}), (Value{Value::Record{{"job", "job-1"}, {"cap", 3}, {"was", Value{}}}}));
  EXPECT_EQ(answer({"cap", "job-1", "none"}), (Value{Value::Record{{"job", "job-1"}, {"cap", Value{}}, {"was", 3}}}));
  EXPECT_EQ(answer({"user-factor", "job-1", "0.5"}),
            (Value{Value::Record{{"job", "job-1"}, {"user_factor", 0.5}, {"was", 1.0}}}));
  EXPECT_EQ(answer({"memory-quota", "a", "8GiB"})["guaranteed_memory"], Value{std::int64_t{8} << 30});
  EXPECT_EQ(answer({"project-weight", "a", "2"})["weight"], Value{2.0});
}

// Found by a user's trial: a pool of single parts was called fair_share.
TEST(PolicyPools, APoolThatGoesOtherwiseThanItsPresetIsCalledByItsParts) {
  SupervisorConfig config;
  config.policy.pools = {{.name = "own", .workers = {"own-*"}, .ordering = "priority", .sharing = "none"},
                         {.name = "quotas", .preset = "quota", .workers = {"q-*"}, .fitting = "spread"},
                         {.name = "rest", .preset = "priority"}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  const Result<Value> pools = supervisor.ask("pools");
  ASSERT_TRUE(pools.has_value());
  std::vector<std::string> presets;
  for (const Value& row : *pools->list()) presets.push_back(*row["preset"].text());
  EXPECT_EQ(presets, (std::vector<std::string>{"parts", "quota", "priority"}));
  JobSpec spec;
  spec.name = "mine";
  spec.wait_for_resources = true;
  spec.policy.pools = {"own"};
  ASSERT_TRUE(supervisor.submit(GraphBuilder{}.sources(1).build(), spec).valid());
  EXPECT_EQ((*supervisor.ask("explain", {"mine"}))["preset"], Value{"parts"});
  supervisor.ignore();
}

TEST_F(PolicyQueries, ErrorsNameTheRange) {
  EXPECT_NE(refused("set", {"cap", "job-1", "few"}).find("from 1 to 1000000000, nor `none`"), std::string::npos);
  EXPECT_NE(refused("set", {"priority", "job-1", "high"}).find("from -2147483648 to 2147483647"), std::string::npos);
  EXPECT_NE(refused("set", {"quota", "a", "half"}).find("from 0 to 1000000000"), std::string::npos);
}

// A project's weight is that of its jobs together.
TEST_F(PolicyQueries, AProjectsWeightMovesTheSharesOfItsJobs) {
  EXPECT_EQ(refused("set", {"project-weight", "a", "3"}), "done");
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:3"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:1"});
}

// Spec: policy-determined 5.5.
TEST(PolicyMoves, WherePositionsDoNotCountAMoveIsRefusedWithWhatDoes) {
  for (const auto& [preset, expected] : {std::pair{"fair_share", "all have their shares at once"},
                                         {"quota", "by the need of their projects"},
                                         {"multifactor", "by the sum of their factors"}}) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.slots = 2});
    for (int i = 0; i < 2; ++i) supervisor.submit(GraphBuilder{}.sources(8).build(), {});
    const std::int64_t before = supervisor.job(2).shares->position;
    const Result<Value> moved = supervisor.ask("move", {"job-2", "ahead-of", "job-1"});
    ASSERT_FALSE(moved.has_value()) << preset;
    EXPECT_EQ(moved.error().code, ErrorCode::WrongState);
    EXPECT_NE(moved.error().message.find(expected), std::string::npos) << moved.error().message;
    EXPECT_EQ(supervisor.job(2).shares->position, before);
    supervisor.ignore();
  }
  SupervisorConfig config = policed("multifactor");
  config.policy.pools[0].ordering = "fcfs";
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 2});
  for (int i = 0; i < 2; ++i) supervisor.submit(GraphBuilder{}.sources(8).build(), {});
  const Result<Value> moved = supervisor.ask("move", {"job-2", "ahead-of", "job-1"});
  ASSERT_FALSE(moved.has_value());
  EXPECT_NE(moved.error().message.find("jobs go by age"), std::string::npos);
  supervisor.ignore();
}

/// Two jobs in a pool that orders jobs by priority and position.
class PolicyMovesByPosition : public PolicyQueries {
 protected:
  PolicyMovesByPosition() : PolicyQueries("priority") {}
};

TEST_F(PolicyMovesByPosition, AJobMovesAheadOfAnother) {
  const Result<Value> moved = supervisor.ask("move", {"job-2", "ahead-of", "job-1"});
  ASSERT_TRUE(moved.has_value()) << to_string(moved.error());
  EXPECT_EQ((*moved)["position"], Value{1}) << "as `queue` has it";
  EXPECT_EQ((*moved)["priority"], Value{0});
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-2"});
  EXPECT_EQ(refused("move", {"job-2", "behind", "job-1"}), "done");
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-1"});
}

// Spec: policy-determined 5.5 and 5.6.
TEST_F(PolicyMovesByPosition, WhoMovesBesideAnotherTakesItsPriorityAndANewPriorityForgetsTheMove) {
  EXPECT_EQ(refused("move", {"job-2", "ahead-of", "job-1"}), "done");
  EXPECT_EQ(refused("set", {"priority", "job-2", "7"}), "done");
  EXPECT_EQ(refused("set", {"priority", "job-2", "0"}), "done");
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-1"}) << "it stands where it was submitted";
  EXPECT_EQ(refused("set", {"priority", "job-1", "7"}), "done");
  EXPECT_EQ(refused("move", {"job-2", "ahead-of", "job-1"}), "done");
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-2"});
  EXPECT_EQ(row("queue", 0)["priority"], Value{7});
}

TEST_F(PolicyMovesByPosition, WhoIsMovedWhereHeStandsStays) {
  EXPECT_EQ(refused("move", {"job-1", "behind", "job-1"}), "done");
  EXPECT_EQ(refused("move", {"job-2", "behind", "job-1"}), "done");
  EXPECT_EQ(row("queue", 0)["job"], Value{"job-1"});
}

// The neighbour's half-way is that to the next of the same pool.
TEST(PolicyMoves, JobsOfOtherPoolsTakeNoRoom) {
  SupervisorConfig config = policed("priority");
  config.policy.pools.push_back({.name = "other", .preset = "priority", .workers = {"worker-2"}});
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  supervisor.join({.slots = 4});
  for (const auto& [name, pool] : {std::pair{"a", "all"}, {"b", "other"}, {"c", "all"}}) {
    JobSpec spec;
    spec.name = name;
    spec.policy.pools = {pool};
    supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  }
  EXPECT_FALSE(supervisor.ask("move", {"b", "ahead-of", "a"}).has_value());
  const std::int64_t between = (supervisor.job(1).shares->position + supervisor.job(3).shares->position) / 2;
  EXPECT_EQ(supervisor.job(2).shares->position, between);
  JobSpec spec;
  spec.name = "d";
  spec.policy.pools = {"all"};
  supervisor.submit(GraphBuilder{}.sources(40).build(), spec);
  EXPECT_TRUE(supervisor.ask("move", {"d", "behind", "a"}).has_value());
  EXPECT_EQ(supervisor.job(4).shares->position, between);
  supervisor.ignore();
}

// Spec: policy-determined 8.1.
TEST(PolicyCaps, NobodyIsCappedBelowOneOfItsSubtasks) {
  PolicedSupervisor supervisor{policed("fair_share")};
  supervisor.join({.slots = 8});
  GraphBuilder builder;
  builder.template_at(0).request.slots = MilliSlots{3000};
  const Graph graph = builder.sources(4).build();
  JobSpec spec;
  spec.name = "wide";
  spec.wait_for_resources = true;
  spec.policy.slots_max = 2;
  EXPECT_FALSE(supervisor.submit(graph, spec).valid());
  EXPECT_NE(to_string(supervisor.refusal()).find("needs 3 slots, and slots_max of its job is 2"), std::string::npos);
  spec.policy.slots_max = 3;
  EXPECT_TRUE(supervisor.submit(graph, spec).valid());
  const Result<Value> capped = supervisor.ask("set", {"cap", "wide", "2"});
  ASSERT_FALSE(capped.has_value());
  EXPECT_NE(to_string(capped.error()).find("has a subtask of 3 slots"), std::string::npos);
  supervisor.ignore();
}

// One slot of it, but all of the device: nothing else fits beside it.
TEST(PolicyCaps, WhatTakesAWholeDeviceCountsForAllOfItsSlots) {
  PolicedSupervisor supervisor{policed("fair_share")};
  supervisor.join({.slots = 4, .bands = 0, .gpus = 1});
  GraphBuilder builder;
  builder.template_at(0).request.gpu = MilliGpu{1000};
  JobSpec spec;
  spec.name = "device";
  supervisor.submit(builder.sources(4).build(), spec);
  supervisor.settle(2);
  EXPECT_FALSE(supervisor.ask("set", {"cap", "device", "3"}).has_value());
  EXPECT_TRUE(supervisor.ask("set", {"cap", "device", "4"}).has_value());
  supervisor.ignore();
}

// The same, before it is accepted: with fewer it would wait for ever.
TEST(PolicyCaps, WhoseRunTakesMoreOfADeviceThanItsCapIsRefused) {
  for (const char* preset : {"fair_share", "priority", "quota", "multifactor"}) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.slots = 4, .bands = 0, .gpus = 1});
    GraphBuilder builder;
    builder.template_at(0).request.gpu = MilliGpu{500};
    const Graph graph = builder.sources(4).build();
    JobSpec spec;
    spec.name = "half";
    spec.policy.slots_max = 1;
    EXPECT_FALSE(supervisor.submit(graph, spec).valid()) << preset;
    EXPECT_NE(to_string(supervisor.refusal()).find("takes 2 slots of a device band, and slots_max of its job is 1"),
              std::string::npos)
        << to_string(supervisor.refusal());
    spec.policy.slots_max = 3;
    const JobId job = supervisor.submit(graph, spec);
    ASSERT_TRUE(job.valid()) << preset;
    supervisor.settle(3);
    EXPECT_EQ(supervisor.job(job.value()).shares->bands.at(0).planned, 2000U)
        << preset << ": two runs would take 4 slots, above its cap";
    supervisor.ignore();
  }
}

// Found by a review: a pool without devices stood for one where the run takes next to nothing.
TEST(PolicyCaps, APoolWithoutDevicesHidesNoCap) {
  SupervisorConfig config = policed("fair_share");
  config.policy.pools = {{.name = "cpu", .preset = "fair_share", .workers = {"worker-1"}},
                         {.name = "gpu", .preset = "fair_share"}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  supervisor.join({.slots = 4, .bands = 0, .gpus = 1});
  GraphBuilder builder;
  builder.template_at(0).request.gpu = MilliGpu{500};
  JobSpec spec;
  spec.name = "half";
  spec.policy.pools = {"cpu", "gpu"};
  spec.policy.slots_max = 1;
  EXPECT_FALSE(supervisor.submit(builder.sources(4).build(), spec).valid());
  EXPECT_NE(to_string(supervisor.refusal()).find("takes 2 slots of a device band"), std::string::npos)
      << to_string(supervisor.refusal());
  supervisor.ignore();
}

// Two accounts at the top; one has used everything.
TEST(PolicyTerms, WhoHasUsedMoreComesLaterAlsoWithoutAnAccountAboveBoth) {
  SupervisorConfig config = policed("multifactor");
  config.policy.accounts = {{.name = "ann"}, {.name = "bob"}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 2});
  for (const char* owner : {"ann", "bob"}) {
    JobSpec spec;
    spec.name = spec.owner = owner;
    supervisor.submit(GraphBuilder{}.sources(20).build(), spec);
  }
  supervisor.settle(2);
  for (std::uint32_t i = 0; i < 2; ++i) supervisor.succeed(1, i);
  supervisor.settle(3);
  const Result<Value> queue = supervisor.ask("queue");
  ASSERT_TRUE(queue.has_value());
  for (const Value& row : *queue->list())
    EXPECT_EQ(row["terms"]["fair_share"], Value{*row["name"].text() == "ann" ? 25000.0 : 100000.0});
  EXPECT_EQ((*queue->list())[0]["name"], Value{"bob"});
  supervisor.ignore();
}

// Quotas that cannot all be met are in force, and the operator that has ordered it is told. Spec:
// policy-runai 4.1, 13.6.
TEST(PolicyWarnings, AreInTheAnswerTheLogAndTheAudit) {
  PolicedSupervisor supervisor{policed("quota")};
  supervisor.join({.slots = 4});
  SupervisorConfig changed = policed("quota", {{.name = "d", .is_department = true, .guaranteed_slots = 5},
                                               {.name = "a", .department = "d", .guaranteed_slots = 6}});
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, changed.policy});
  Value told;
  for (const AdminAnswer& answer : supervisor.take_for<AdminAnswer>(ClientId{1})) told = answer.value["warnings"];
  const std::string parts = "department 'd' is guaranteed 5 slots, its parts 6: first come, first served among them";
  const std::string all = "pool 'all' has 4 slots now, and 5 are guaranteed: first come, first served";
  EXPECT_EQ(told, (Value{Value::List{parts, all}}));
  EXPECT_EQ(supervisor.alerts().size(), 2U);
  EXPECT_NE((*supervisor.ask("audit")->list()).back()["outcome"].text()->find("; beware: " + parts + "; " + all),
            std::string::npos);
  const Result<Value> set = supervisor.ask("set", {"quota", "d", "6"});
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ((*set)["warnings"],
            Value{Value::List{"pool 'all' has 4 slots now, and 6 are guaranteed: first come, first served"}});
  supervisor.ignore();
}

TEST(PolicyWarnings, TellOfMoreMemoryThanThereIs) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a", .guaranteed_memory = kGiB + Bytes{1}}})};
  supervisor.join({.memory = kGiB});
  const Result<Value> set = supervisor.ask("set", {"quota", "a", "1"});
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ((*set)["warnings"],
            Value{Value::List{"pool 'all' has 1073741824 bytes of memory now, and 1073741825 are guaranteed: "
                              "first come, first served"}});
  supervisor.ignore();
}

TEST(PolicyGangs, NeitherAJobNorAnOperatorCapsThemBelowTheirSize) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 4});
  JobSpec spec;
  spec.name = "gang";
  spec.policy.gang = 4;
  spec.policy.slots_max = 3;
  EXPECT_FALSE(supervisor.submit(GraphBuilder{}.sources(4).build(), spec).valid());
  EXPECT_EQ(supervisor.refusal().code, ErrorCode::InvalidArgument);
  spec.policy.slots_max = 0;
  EXPECT_TRUE(supervisor.submit(GraphBuilder{}.sources(4).build(), spec).valid());
  const Result<Value> capped = supervisor.ask("set", {"cap", "gang", "3"});
  ASSERT_FALSE(capped.has_value());
  EXPECT_NE(to_string(capped.error()).find("gang of 4"), std::string::npos);
  EXPECT_TRUE(supervisor.ask("set", {"cap", "gang", "4"}).has_value());
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
