// SupervisorCore: levels of service, queues, limits and holds of jobs that run.
#include <gtest/gtest.h>

#include "supervisor/policy/snapshot.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

SupervisorConfig site(const std::string& preset = "multifactor") {
  SupervisorConfig config = policed(preset);
  config.policy.accounts = {{.name = "lab"}, {.name = "ann", .parent = "lab"}, {.name = "bob"}};
  config.policy.qos = {{.name = "expedite", .factor = 1000, .open = false, .users = {"ann"}},
                       {.name = "standby", .factor = 0, .exempt = true, .usage_factor = 500}};
  config.policy.queues = {{.name = "short", .priority = 4}, {.name = "long", .priority = 1, .users = {"ann"}}};
  return config;
}

JobSpec of(const std::string& owner, const std::string& name, JobPolicy policy = {}) {
  JobSpec spec;
  spec.name = name;
  spec.owner = owner;
  spec.policy = std::move(policy);
  return spec;
}

Graph many() { return GraphBuilder{}.sources(40).build(); }

class PolicyRulesLive : public testing::Test {
 protected:
  void begin(const SupervisorConfig& config, std::uint32_t slots = 4) {
    supervisor.emplace(config);
    supervisor->join({.slots = slots});
  }
  ~PolicyRulesLive() override {
    if (supervisor) supervisor->ignore();
  }
  std::string answer(const std::string& command, const std::vector<std::string>& words) {
    const Result<Value> result = supervisor->ask(command, words);
    return result.has_value() ? "done" : to_string(result.error());
  }
  Value field(const std::string& question, std::size_t index, const std::string& name) {
    const Result<Value> result = supervisor->ask(question);
    EXPECT_TRUE(result.has_value());
    return result.has_value() && index < result->list()->size() ? (*result->list())[index][name] : Value{};
  }
  std::string held_by(const std::string& job, const char* field = "held_by") {
    const Result<Value> result = supervisor->ask("explain", {job});
    EXPECT_TRUE(result.has_value());
    const std::string* text = result.has_value() ? (*result)[field].text() : nullptr;
    return text == nullptr ? "" : *text;
  }

  bool was_ordered(const std::string& order) {
    const Result<Value> history = supervisor->ask("audit");
    return history.has_value() && std::any_of(history->list()->begin(), history->list()->end(),
                                              [&](const Value& row) { return row["order"] == Value{order}; });
  }

  std::optional<PolicedSupervisor> supervisor;
};

TEST_F(PolicyRulesLive, UnknownOrForbiddenNamesAreRefusedWhenAJobIsSubmitted) {
  begin(site());
  supervisor->submit(many(), of("bob", "a", {.qos = "gold"}));
  EXPECT_NE(to_string(supervisor->refusal()).find("qos 'gold': is not known"), std::string::npos);
  supervisor->submit(many(), of("bob", "a", {.qos = "expedite"}));
  EXPECT_NE(to_string(supervisor->refusal()).find("is not granted to user 'bob'"), std::string::npos);
  supervisor->submit(many(), of("bob", "a", {.queue = "long"}));
  EXPECT_NE(to_string(supervisor->refusal()).find("queue 'long': is not for user 'bob'"), std::string::npos);
  supervisor->submit(many(), of("ann", "a", {.user_factor = 1001}));
  EXPECT_NE(to_string(supervisor->refusal()).find("user_factor"), std::string::npos);
  supervisor->submit(many(), of("ann", "a", {.qos = "expedite", .queue = "long", .user_factor = 500}));
  EXPECT_EQ(supervisor->job(1).spec.policy.queue, "long");
}

TEST_F(PolicyRulesLive, TheSumHasATermForEachOfThem) {
  begin(site());
  supervisor->submit(many(), of("bob", "b", {.qos = "standby", .user_factor = 250}));
  supervisor->submit(many(), of("ann", "a", {.qos = "expedite", .queue = "long"}));
  supervisor->settle(2);
  EXPECT_EQ(field("queue", 0, "job"), Value{"job-2"}) << "it came later";
  EXPECT_EQ(field("queue", 0, "qos"), Value{"expedite"});
  EXPECT_EQ(field("queue", 0, "queue"), Value{"long"});
  const Value terms = field("queue", 0, "terms");
  EXPECT_EQ(terms["qos"], Value{250000.0});
  EXPECT_EQ(terms["queue"], Value{2500.0});
  EXPECT_EQ(terms["user"], Value{1000.0});
  EXPECT_EQ(terms["size"], Value{1000.0}) << "it could use all there is";
  const Value standby = field("queue", 1, "terms");
  EXPECT_EQ(standby["qos"], Value{0.0});
  EXPECT_EQ(standby["user"], Value{250.0});
}

TEST_F(PolicyRulesLive, SetQosChangesTheOrderAndIsCheckedAsWhenItIsSubmitted) {
  begin(site());
  supervisor->submit(many(), of("ann", "first"));
  supervisor->submit(many(), of("ann", "second"));
  supervisor->settle(2);
  ASSERT_EQ(field("queue", 0, "job"), Value{"job-1"});
  EXPECT_EQ(answer("set", {"qos", "second", "expedite"}), "done");
  EXPECT_EQ(answer("set", {"queue", "second", "short"}), "done");
  supervisor->settle(2);
  EXPECT_EQ(field("queue", 0, "job"), Value{"job-2"});
  EXPECT_EQ(supervisor->job(2).spec.policy.queue, "short");
  EXPECT_NE(answer("set", {"qos", "second", "gold"}).find("qos 'gold': is not known"), std::string::npos);
  EXPECT_EQ(supervisor->job(2).spec.policy.qos, "expedite");
  EXPECT_EQ((*supervisor->ask("set", {"queue", "second", "none"}))["queue"], Value{}) << "null in JSON";
  EXPECT_EQ((*supervisor->ask("set", {"queue", "second", "none"}))["was"], Value{});
  EXPECT_EQ(supervisor->job(2).spec.policy.queue, "");
}

// `set priority` was answered as done, and nothing came of it.
TEST_F(PolicyRulesLive, WhereASumRulesAPriorityIsRefused) {
  begin(site());
  supervisor->submit(many(), of("ann", "first"));
  supervisor->settle(2);
  EXPECT_NE(answer("set", {"priority", "first", "7"}).find("go by the sum of their factors"), std::string::npos);
  EXPECT_NE(answer("priority", {"first", "7"}).find("go by the sum of their factors"), std::string::npos);
  EXPECT_EQ(supervisor->job(1).spec.priority, 0);
}

// Found by an acceptance test: so it was where all have shares.
TEST_F(PolicyRulesLive, APriorityIsRefusedWhereNoPoolOfTheJobLooksAtIt) {
  SupervisorConfig config = site("fair_share");
  config.policy.pools[0].name = "shares";
  config.policy.pools.push_back({.name = "urgent", .preset = "priority", .workers = {"u-*"}});
  config.policy.pools.push_back(
      {.name = "line", .workers = {"l-*"}, .ordering = "fcfs", .sharing = "none", .backfill = "easy"});
  config.policy.pools.push_back({.name = "max", .preset = "fair_share_max_min", .workers = {"m-*"}});
  begin(config);
  const auto set_in = [&](const std::string& name, const std::vector<std::string>& pools) {
    supervisor->submit(many(), of("ann", name, {.pools = pools}));
    return answer("set", {"priority", name, "7"});
  };
  EXPECT_EQ(set_in("a", {"shares"}),
            "job-1: is in pool 'shares', where all have their shares at once, whatever their priorities (`set weight` "
            "changes its share)");
  EXPECT_EQ(supervisor->job(1).spec.priority, 0);
  EXPECT_NE(set_in("b", {"line", "shares"}).find("jobs go by age"), std::string::npos);
  EXPECT_NE(set_in("c", {"max"}).find("all have their shares at once"), std::string::npos);
  EXPECT_EQ(set_in("d", {"shares", "urgent"}), "done") << "it may go there";
  EXPECT_EQ(supervisor->job(4).spec.priority, 7);
}

TEST_F(PolicyRulesLive, WhoseGrantIsRevokedFallsToNormal) {
  SupervisorConfig config = site();
  begin(config);
  supervisor->submit(many(), of("ann", "a", {.qos = "expedite"}));
  supervisor->settle(2);
  config.policy.qos[0].users = {"dora"};
  supervisor->handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, config.policy});
  supervisor->settle(2);
  EXPECT_EQ(field("queue", 0, "qos"), Value{"normal"});
  EXPECT_EQ(field("queue", 0, "terms")["qos"], Value{125000.0});
}

// Spec: policy-flux 6: at times what is not worth much is charged less.
TEST_F(PolicyRulesLive, ALevelSaysHowMuchOfItsUseIsCharged) {
  begin(site());
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("bob", "b", {.qos = "standby"}));
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("ann", "a"));
  supervisor->settle(2);
  supervisor->succeed(1, 0, {}, 1);
  supervisor->succeed(1, 0, {}, 2);
  const double bob = *field("shares", 2, "usage_slot_s").number();
  const double ann = *field("shares", 1, "usage_slot_s").number();
  EXPECT_GT(ann, 0);
  EXPECT_NEAR(bob, ann / 2, 1e-9);
}

// Found by an explorer: all users that charged one account had one factor. Spec: policy-flux 3, 5.1.
TEST_F(PolicyRulesLive, WhoHasUsedLessOfAnAccountComesBeforeItsOthers) {
  begin(site());
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("heavy", "h1", {.account = "lab"}));
  supervisor->settle(2);
  supervisor->succeed(1, 0);
  supervisor->submit(many(), of("ann", "a"));
  supervisor->submit(many(), of("heavy", "h2", {.account = "lab"}));
  supervisor->submit(many(), of("light", "l", {.account = "lab"}));
  supervisor->settle(3);
  const auto fair_share = [&](const std::string& name) {
    const Result<Value> queue = supervisor->ask("queue");
    for (const Value& row : *queue->list())
      if (row["name"] == Value{name}) return *row["terms"]["fair_share"].number();
    ADD_FAILURE() << name;
    return -1.0;
  };
  EXPECT_LT(fair_share("h2"), fair_share("l"));
  EXPECT_EQ(field("shares", 0, "account"), Value{"lab"});
  EXPECT_GT(*field("shares", 0, "usage_slot_s").number(), 0) << "all below it is its own";
  EXPECT_EQ(field("shares", 1, "user"), Value{"heavy"});
  EXPECT_EQ(field("shares", 2, "user"), Value{"light"});
  EXPECT_EQ(field("shares", 1, "usage_part"), Value{1.0});
  EXPECT_LT(*field("shares", 1, "factor").number(), *field("shares", 2, "factor").number());
}

// Spec: policy-flux 5.
TEST_F(PolicyRulesLive, SetSharesChangesTheFactorsOfAllBesideAndBelow) {
  begin(site());
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("bob", "b"));
  supervisor->settle(2);
  supervisor->succeed(1, 0);
  const double before = *field("shares", 2, "factor").number();
  const Result<Value> set = supervisor->ask("set", {"shares", "bob", "7"});
  ASSERT_TRUE(set.has_value()) << to_string(set.error());
  EXPECT_EQ(*set, (Value{Value::Record{{"account", "bob"}, {"shares", 7}, {"was", 1}}}));
  EXPECT_EQ(field("shares", 2, "share_part"), Value{0.875});
  EXPECT_GT(*field("shares", 2, "factor").number(), before);
  EXPECT_NE(answer("set", {"shares", "eve", "1"}).find("account 'eve': is not known"), std::string::npos);
  for (const char* wrong : {"-1", "1.5", "much", "1000000001"})
    EXPECT_NE(answer("set", {"shares", "bob", wrong}).find("from 0 to 1000000000"), std::string::npos) << wrong;
  EXPECT_EQ(field("shares", 2, "shares"), Value{7});
}

// Spec: policy-flux 8.
TEST_F(PolicyRulesLive, OneJobMoreThanMayRunIsHeldUntilAnotherHasEnded) {
  for (const char* preset : {"multifactor", "fair_share", "priority", "quota"}) {
    SupervisorConfig config = site(preset);
    config.policy.users = {{.name = "bob", .limits = {.running_jobs_max = 1}}};
    begin(config, 8);
    supervisor->submit(GraphBuilder{}.sources(2).build(), of("bob", "first"));
    supervisor->submit(GraphBuilder{}.sources(2).build(), of("bob", "second"));
    supervisor->submit(GraphBuilder{}.sources(2).build(), of("ann", "other"));
    PENSTOCK_EXPECT_COVERAGE_MARK("a limit keeps a job from slots", supervisor->settle(3));
    EXPECT_EQ(supervisor->entitlements(1), Lines{"w1:2"}) << preset;
    EXPECT_NE(supervisor->entitlements(3), Lines{}) << "of another user, " << preset;
    EXPECT_EQ(held_by("second"), "running_jobs_max of user 'bob' is 1, and 1 run or come before it") << preset;
    supervisor->succeed(1, 0);
    supervisor->succeed(1, 1);
    supervisor->settle(3);
    EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:2"}) << preset;
    EXPECT_EQ(held_by("second"), "") << preset;
    supervisor->ignore();
  }
}

// Spec: policy-flux 8, sizes of a job and its time; standby is exempt.
TEST_F(PolicyRulesLive, AJobOfTheWrongSizeOrTimeIsRefusedWithTheLimit) {
  SupervisorConfig config = site();
  config.policy.queues[0].limits = {.job_slots_min = 2, .job_slots_max = 3, .time_max = 1h};
  begin(config, 8);
  const auto refusal = [&](std::uint32_t slots, Duration time_limit, JobPolicy wishes = {.queue = "short"}) {
    GraphBuilder graph;
    graph.sources(1).template_at(0).request.slots = kOneSlot * slots;
    graph.template_at(0).time_limit = time_limit;
    static int number = 0;
    const std::string name = "sized" + std::to_string(++number);
    const JobId id = supervisor->submit(graph.build(), of("ann", name, std::move(wishes)));
    return id.valid() ? "accepted" : supervisor->refusal().message;
  };
  EXPECT_EQ(refusal(2, 1h), "accepted");
  EXPECT_EQ(refusal(1, 1h), "needs 1 slots at once, and job_slots_min of user 'ann' in queue 'short' is 2");
  EXPECT_EQ(refusal(4, 1h), "needs 4 slots at once, and user 'ann' in queue 'short' may have 3");
  EXPECT_EQ(refusal(2, 2h),
            "template 'template-0' has a time limit of 2h, and time_max of user 'ann' in queue 'short' is 1h");
  EXPECT_EQ(refusal(2, Duration{0}),
            "template 'template-0' has no time limit, and time_max of user 'ann' in queue 'short' is 1h");
  EXPECT_EQ(refusal(4, 2h, {.qos = "standby", .queue = "short"}), "accepted");
}

// No subtask can run for longer than its job, whatever its template says.
TEST_F(PolicyRulesLive, AJobWithALimitOfItsOwnIsComparedByThat) {
  SupervisorConfig config = site();
  config.policy.queues[0].limits = {.time_max = 1h};
  begin(config, 8);
  const auto refusal = [&](Duration limit, Duration of_template, JobPolicy wishes = {.queue = "short"}) {
    GraphBuilder graph;
    graph.sources(1).template_at(0).time_limit = of_template;
    static int number = 0;
    JobSpec spec = of("ann", "timed" + std::to_string(++number), std::move(wishes));
    spec.time_limit = limit;
    return supervisor->submit(graph.build(), spec).valid() ? "accepted" : to_string(supervisor->refusal());
  };
  EXPECT_EQ(refusal(1h, Duration{0}), "accepted");
  EXPECT_EQ(refusal(1h, 2h), "accepted");
  EXPECT_EQ(refusal(2h, 1h),
            "job 'timed3': has a time_limit of 2h, and time_max of user 'ann' in queue 'short' is 1h (give it a "
            "time_limit of at most that)");
  EXPECT_EQ(refusal(2h, Duration{0}, {.qos = "standby", .queue = "short"}), "accepted");
  EXPECT_EQ(answer("set", {"qos", "timed4", "normal"}).substr(0, 33), "job 'timed4': has a time_limit of")
      << "as at first";
}

// Spec: policy-flux 8: moving a pending job to another account re-checks permission, active and running limits.
TEST_F(PolicyRulesLive, AJobThatWaitsIsChargedToAnotherAccountUnderTheLimitsThere) {
  SupervisorConfig config = site();
  config.policy.accounts[2].limits = {.active_jobs_max = 2, .running_jobs_max = 1};
  begin(config, 8);
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("ann", "first"));
  supervisor->settle(2);
  EXPECT_EQ(answer("set", {"account", "first", "bob"}),
            "job-1: has begun, and its use is charged already (only a job that waits can change its account)");
  supervisor->submit(many(), of("ann", "second"));
  EXPECT_EQ(answer("hold", {"second"}), "done");
  EXPECT_EQ(answer("set", {"account", "second", "nobody"}),
            "account 'nobody': is not known (`penstock shares` lists them)");
  config.policy.accounts[2].enabled = false;
  supervisor->handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, config.policy});
  EXPECT_NE(answer("set", {"account", "second", "bob"}).find("name another account"), std::string::npos);
  config.policy.accounts[2].enabled = true;
  supervisor->handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, config.policy});
  EXPECT_EQ(answer("set", {"account", "second", "bob"}), "done");
  EXPECT_EQ(supervisor->job(2).spec.policy.account, "bob");
  EXPECT_EQ(supervisor->job(2).shares->account, 2U);
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("bob", "third"));
  supervisor->settle(2);
  supervisor->submit(many(), of("ann", "fourth"));
  EXPECT_EQ(answer("hold", {"fourth"}), "done");
  EXPECT_NE(answer("set", {"account", "fourth", "bob"}).find("running_jobs_max is 1"), std::string::npos);
  EXPECT_EQ(answer("cancel", {"third"}), "done");
  EXPECT_EQ(supervisor->job(4).spec.policy.account, "");
}

// A job that a limit holds has its place in the order: turns are taken in it.
TEST_F(PolicyRulesLive, WhoIsHeldKeepsItsPriorityAndIsNextByIt) {
  SupervisorConfig config = site();
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1}}};
  begin(config);
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("ann", "first"));
  supervisor->settle(2);
  supervisor->submit(many(), of("ann", "second"));
  supervisor->submit(many(), of("ann", "third"));
  supervisor->settle(2);
  EXPECT_EQ(answer("set", {"qos", "third", "expedite"}), "done");
  supervisor->settle(2);
  EXPECT_EQ(field("queue", 0, "job"), Value{"job-3"});
  EXPECT_EQ(field("queue", 0, "terms")["qos"], Value{250000.0});
  EXPECT_EQ(field("queue", 0, "terms")["size"], Value{1000.0});
  supervisor->succeed(1, 0);
  supervisor->settle(3);
  EXPECT_EQ(supervisor->entitlements(3), Lines{"w1:4"});
  EXPECT_EQ(held_by("second"), "running_jobs_max of user 'ann' is 1, and 1 run or come before it");
}

// Found by the simulator (policy, seed 50): the job came back beside the one that had begun meanwhile.
TEST_F(PolicyRulesLive, WhoHasNothingToRunLeavesItsTurnAndWaitsForItAgain) {
  SupervisorConfig config = site();
  config.policy.period = 1ms;
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1}}};
  begin(config);
  supervisor->submit(GraphBuilder{}.sources(2).build(), of("ann", "first"));
  supervisor->settle(2);
  supervisor->succeed(1, 0);
  supervisor->fail(1, 1, FailureClass::Transport);
  supervisor->settle(3);
  supervisor->submit(many(), of("ann", "second"));
  supervisor->settle(5);
  EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:4"}) << "the first waits before it tries again";
  supervisor->tick_after(1min);
  supervisor->settle(3);
  EXPECT_EQ(supervisor->entitlements(1), Lines{"w1:0"});
  EXPECT_EQ(held_by("first"), "running_jobs_max of user 'ann' is 1, and 1 run or come before it");
  for (std::uint32_t i = 0; i < 40; ++i) supervisor->succeed(1, i, {}, 2);
  supervisor->settle(3);
  EXPECT_EQ(held_by("first"), "");
}

TEST_F(PolicyRulesLive, SlotsOfAnAccountAreLimitedForAllBelowIt) {
  for (const char* preset : {"multifactor", "fair_share", "priority", "quota"}) {
    SupervisorConfig config = site(preset);
    config.policy.accounts[0].limits.slots_max = 3;
    begin(config, 8);
    supervisor->submit(many(), of("ann", "first", {.slots_max = 2}));
    supervisor->submit(many(), of("dora", "second", {.account = "lab"}));
    supervisor->settle(4);
    const bool shares = std::string{preset} == "fair_share";  // By demands of 2 and 8.
    EXPECT_EQ(supervisor->entitlements(1), Lines{shares ? "w1:1" : "w1:2"}) << preset;
    EXPECT_EQ(supervisor->entitlements(2), Lines{shares ? "w1:2" : "w1:1"}) << preset;
    const std::string rest = shares ? "which its jobs share" : "and others have 2 of them or come before it";
    EXPECT_EQ(held_by("second"), "slots_max of account 'lab' is 3, " + rest) << preset;
    EXPECT_EQ(field("limits", 0, "whom"), Value{"account 'lab'"});
    EXPECT_EQ(field("limits", 0, "slots"), Value{3});
    EXPECT_EQ(field("limits", 0, "slots_max"), Value{3});
    EXPECT_EQ(field("limits", 0, "running_jobs"), Value{2});
    supervisor->ignore();
  }
}

// Found by the simulator (seed 130004725): another job took the slot of a limit while a part of a gang moved.
TEST_F(PolicyRulesLive, WhatMovesOfAGangCountsAsWhatTheGangHolds) {
  SupervisorConfig config = site("quota");
  config.policy.users = {{.name = "ann", .limits = {.slots_max = 3}}};
  begin(config, 2);
  supervisor->join({.slots = 2});
  supervisor->submit(many(), of("ann", "gang", {.gang = 3}));
  supervisor->settle(2);
  JobSpec urgent = of("ann", "urgent");
  urgent.priority = 5;
  supervisor->submit(many(), urgent);
  const auto next_pass = [this] {
    std::vector<supervisor_action::RunPass> passes;
    for (int tries = 0; tries < 1000 && passes.empty(); ++tries) {
      supervisor->tick_after(1ms);
      passes = supervisor->take_passes();
    }
    EXPECT_EQ(passes.size(), 1U);
    return passes.at(0);
  };
  const supervisor_action::RunPass before = next_pass();
  const std::vector<policy::Member>& members = before.snapshot.members;
  const auto moved = static_cast<std::uint32_t>(
      std::find_if(members.begin(), members.end(),
                   [](const policy::Member& each) { return each.state == policy::MemberState::Running; }) -
      members.begin());
  ASSERT_LT(moved, members.size());
  policy::Plan plan;
  plan.preemptions = {{moved, policy::PreemptionReason::Consolidation, policy::kNone}};
  plan.reservations = {{moved, members[moved].places, {}, kNever}};
  supervisor->handle(supervisor_event::PassEnded{before.number, plan, {}, {}});
  ASSERT_EQ(supervisor->job(1).shares->kinds[0].promised.size(), 1U);
  const supervisor_action::RunPass after = next_pass();
  std::map<std::string, int> shown;
  for (const policy::Member& each : after.snapshot.members) ++shown[after.snapshot.workloads[each.workload].name];
  EXPECT_EQ(shown["job-1"], 3);
  EXPECT_EQ(shown["job-2"], 0);
}

TEST_F(PolicyRulesLive, WhatCouldNeverStartOrIsOneTooManyIsRefused) {
  SupervisorConfig config = site();
  config.policy.users = {{.name = "bob", .limits = {.active_jobs_max = 1, .slots_max = 2}}};
  begin(config, 8);
  supervisor->submit(many(), of("bob", "gang", {.gang = 3}));
  EXPECT_EQ(to_string(supervisor->refusal()),
            "job 'gang': needs 3 slots at once, and user 'bob' may have 2 (ask for less, or for the limit "
            "to be raised)");
  supervisor->submit(many(), of("bob", "standby", {.gang = 3, .qos = "standby"}));
  EXPECT_EQ(supervisor->job(1).spec.name, "standby") << "exempt from limits of size";
  EXPECT_NE(answer("set", {"qos", "standby", "normal"}).find("needs 3 slots at once"), std::string::npos);
  EXPECT_EQ(supervisor->job(1).spec.policy.qos, "standby");
  supervisor->submit(many(), of("bob", "one too many"));
  EXPECT_EQ(to_string(supervisor->refusal()),
            "user 'bob': has 1 jobs that have not ended, and active_jobs_max is 1 (submit it again when "
            "one of them has ended)");
  supervisor->lose(1);
  EXPECT_TRUE(supervisor->ask("cancel", {"standby"}).has_value());
  supervisor->submit(many(), of("bob", "the next one"));
  EXPECT_EQ(supervisor->job(2).spec.name, "the next one") << "the first one has ended";
}

TEST_F(PolicyRulesLive, AHeldJobGetsNoSlotsUntilItIsReleased) {
  for (const char* preset : {"multifactor", "fair_share", "priority", "quota"}) {
    begin(site(preset));
    supervisor->submit(many(), of("ann", "a"));
    supervisor->submit(many(), of("bob", "b"));
    supervisor->settle(3);
    EXPECT_EQ(answer("hold", {"a"}), "done");
    supervisor->settle(3);
    EXPECT_EQ(supervisor->entitlements(1), Lines{"w1:0"}) << preset;
    EXPECT_EQ(held_by("a"), "it is on hold by an operator: `release` lets it go");
    EXPECT_EQ(answer("release", {"a"}), "done");
    EXPECT_EQ(answer("hold", {"b"}), "done");
    supervisor->settle(3);
    EXPECT_EQ(supervisor->entitlements(1), Lines{"w1:all"}) << preset;
    EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:0"}) << preset;
    EXPECT_TRUE(was_ordered("hold b")) << preset;
    supervisor->ignore();
  }
}

// The job takes its slots with it until it has gone, and no other one is told that it may have them.
// No other job waits for the slots: the runs end all the same.
TEST_F(PolicyRulesLive, RunsOfAJobThatIsAloneEndWhenItIsHeldOrItsLimitIsLowered) {
  for (const char* preset : {"multifactor", "fair_share", "quota"})
    for (const bool hold : {true, false}) {
      SupervisorConfig config = site(preset);
      config.policy.users = {{.name = "ann", .limits = {.slots_max = 4}}};
      begin(config);
      supervisor->submit(many(), of("ann", "a"));
      supervisor->settle(1);
      for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor->say(1, subtask, Outcome::Started);
      supervisor->tick_after(1s);  // Not a short one.
      supervisor->settle(1);
      EXPECT_EQ(supervisor->core().policy().preemptions, 0U) << preset;
      config.policy.users[0].limits.slots_max = 3;
      if (hold)
        EXPECT_EQ(answer("hold", {"a"}), "done");
      else
        supervisor->handle(
            supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, config.policy});
      supervisor->settle(3);
      EXPECT_EQ(supervisor->core().policy().preemptions, hold ? 4U : 1U) << preset;
      supervisor->ignore();
    }
}

// Also in a pool that does not preempt, and runs of a job that is never preempted.
TEST_F(PolicyRulesLive, AnOperatorEndsTheRunsOfAnyJob) {
  for (const JobKind kind : {JobKind::Training, JobKind::Interactive}) {
    SupervisorConfig config = site("priority");
    config.policy.pools[0].preemption = false;
    begin(config);
    supervisor->submit(many(), of("ann", "a", {.kind = kind}));
    supervisor->settle(1);
    for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor->say(1, subtask, Outcome::Started);
    supervisor->tick_after(1s);  // Not a short one.
    EXPECT_EQ(answer("hold", {"a"}), "done");
    supervisor->settle(3);
    EXPECT_EQ(supervisor->core().policy().preemptions, 4U);
    supervisor->ignore();
  }
}

TEST_F(PolicyRulesLive, RunsAboveALoweredCapEndWhereNoOtherJobWaits) {
  begin(site());
  supervisor->submit(many(), of("ann", "a", {.slots_max = 4}));
  supervisor->settle(1);
  for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor->say(1, subtask, Outcome::Started);
  supervisor->tick_after(1s);  // Not a short one.
  EXPECT_EQ(answer("set", {"cap", "a", "3"}), "done");
  supervisor->settle(3);
  EXPECT_EQ(supervisor->core().policy().preemptions, 1U);
}

// Found by a trial: the slots were told to be another job's, and were not.
TEST_F(PolicyRulesLive, WithoutPreemptionOthersWaitForRunsAboveALoweredLimit) {
  SupervisorConfig config = site("priority");
  config.policy.pools[0].preemption = false;
  config.policy.users = {{.name = "ann", .limits = {.slots_max = 4}}};
  begin(config);
  supervisor->submit(many(), of("ann", "a"));
  supervisor->settle(1);
  for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor->say(1, subtask, Outcome::Started);
  supervisor->tick_after(1s);  // Not a short one.
  supervisor->submit(many(), of("bob", "b"));
  config.policy.users[0].limits.slots_max = 2;
  supervisor->handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, config.policy});
  supervisor->settle(3);
  EXPECT_EQ(supervisor->core().policy().preemptions, 0U);
  EXPECT_EQ(supervisor->job(2).shares->of(BandSlot{0}).planned, 0U);
  for (std::uint32_t subtask = 0; subtask < 2; ++subtask) supervisor->succeed(1, subtask);
  supervisor->settle(3);
  EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:2"});
}

TEST_F(PolicyRulesLive, SlotsOnWhichAHeldJobStillRunsAreNotGivenAway) {
  for (const char* preset : {"multifactor", "fair_share", "priority"}) {
    SupervisorConfig config = site(preset);
    config.policy.pools[0].preemption = false;
    begin(config);
    supervisor->submit(many(), of("ann", "a"));
    supervisor->settle(1);
    for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor->say(1, subtask, Outcome::Started);
    supervisor->tick_after(1s);  // Not a short one.
    supervisor->submit(many(), of("bob", "b"));
    EXPECT_EQ(answer("hold", {"a"}), "done");
    supervisor->settle(3);
    EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:0"}) << preset;
    EXPECT_EQ((*supervisor->ask("explain", {"a"}))["freed_by"].list()->front()["how"], Value{"release job-1"})
        << preset;
    for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor->succeed(1, subtask);
    supervisor->settle(3);
    EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:all"}) << preset;
    supervisor->ignore();
  }
}

TEST_F(PolicyRulesLive, NobodyGetsIntoAFullQueueByAnOrder) {
  SupervisorConfig config = site();
  config.policy.queues[0].limits.active_jobs_max = 1;
  begin(config);
  supervisor->submit(many(), of("ann", "first", {.queue = "short"}));
  supervisor->submit(many(), of("ann", "second"));
  EXPECT_NE(answer("set", {"queue", "second", "short"}).find("active_jobs_max is 1"), std::string::npos);
  EXPECT_EQ(supervisor->job(2).spec.policy.queue, "");
  EXPECT_EQ(answer("set", {"queue", "first", "short"}), "done") << "it is in it";
}

// A job on hold takes nothing from anybody, so nothing is contended.
TEST_F(PolicyRulesLive, BesideAHeldJobAnotherIsLimitedAsLittleAsAlone) {
  for (const char* preset : {"multifactor", "fair_share", "priority", "quota"}) {
    begin(site(preset));
    supervisor->submit(many(), of("ann", "held"));
    EXPECT_EQ(answer("hold", {"held"}), "done");
    supervisor->submit(many(), of("bob", "alone"));
    supervisor->settle(4);
    EXPECT_EQ(supervisor->entitlements(2), Lines{"w1:all"}) << preset;
    EXPECT_EQ(answer("release", {"held"}), "done");
    supervisor->settle(4);
    EXPECT_NE(supervisor->entitlements(2), Lines{"w1:all"}) << preset;
    supervisor->ignore();
  }
}

// A quarter of a device is a quarter of a slot of its band.
TEST_F(PolicyRulesLive, RunsOnPartsOfDevicesAreLimitedByTheSlotsOfTheseDevices) {
  for (const char* preset : {"multifactor", "fair_share", "priority", "quota"}) {
    SupervisorConfig config = site(preset);
    config.policy.users = {{.name = "ann", .limits = {.gpu_slots_max = 1}}};
    supervisor.emplace(config);
    supervisor->join({.bands = 0, .gpus = 2});
    GraphBuilder quarters;
    quarters.template_at(0).request = {.slots = MilliSlots{250}, .gpu = MilliGpu{250}};
    const Graph graph = quarters.sources(8).build();
    supervisor->submit(graph, of("ann", "first"));
    supervisor->submit(graph, of("ann", "second"));
    supervisor->settle(4);
    EXPECT_EQ(field("limits", 0, "whom"), Value{"user 'ann'"});
    EXPECT_EQ(field("limits", 0, "gpu_slots"), Value{1}) << preset;
    EXPECT_EQ(held_by("second", "gpu_held_by"),
              std::string{preset} == "fair_share"
                  ? "gpu_slots_max of user 'ann' is 1, which its jobs share"
                  : "gpu_slots_max of user 'ann' is 1, and others have 1 of them or come before it")
        << preset;
    supervisor->ignore();
  }
}

TEST_F(PolicyRulesLive, WrongOrdersToHoldAreRefused) {
  begin(site());
  EXPECT_NE(answer("hold", {"nobody"}).find("job 'nobody'"), std::string::npos);
  supervisor->submit(GraphBuilder{}.sources(1).build(), of("ann", "a"));
  supervisor->settle(1);
  supervisor->succeed(1, 0);
  EXPECT_NE(answer("hold", {"a"}).find("has ended already"), std::string::npos);
  PolicedSupervisor without{SupervisorConfig{}};
  EXPECT_FALSE(without.ask("hold", {"a"}).has_value());
  EXPECT_FALSE(without.ask("limits").has_value());
}

TEST(PolicyRulesKept, LevelQueueAndHoldComeBack) {
  JournalHarness cluster{site()};
  cluster->join({.slots = 4});
  cluster->submit(many(), of("ann", "a", {.qos = "standby", .queue = "long", .user_factor = 300}));
  cluster.write_all();
  for (const auto& words :
       {std::vector<std::string>{"qos", "a", "expedite"}, {"queue", "a", "short"}, {"user-factor", "a", "0.25"}})
    cluster->client_says(AdminRequest{1, "set", words, "ada@desk"});
  cluster->client_says(AdminRequest{1, "hold", {"a"}, "ada@desk"});
  cluster.write_all();
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(cluster->job(1).spec.policy.qos, "expedite") << life;
    EXPECT_EQ(cluster->job(1).spec.policy.queue, "short");
    EXPECT_EQ(cluster->job(1).spec.policy.user_factor, 250U);
    EXPECT_EQ(cluster->job(1).shares->rules.user_factor, 0.25);
    EXPECT_TRUE(cluster->job(1).status.on_hold);
    EXPECT_EQ(cluster->job(1).shares->rules.qos_factor, 1.0);
    cluster.restart();
  }
  cluster->ignore();
}

// Its attempts may still run, on workers that have not come back yet.
TEST(PolicyRulesKept, ALimitCountsWhoHasNotComeBackYet) {
  SupervisorConfig config = site();
  config.policy.users = {{.name = "ann", .limits = {.running_jobs_max = 1}}};
  JournalHarness cluster{config};
  cluster->join({.slots = 4});
  cluster->submit(many(), of("ann", "a"));
  run_passes(cluster);
  EXPECT_GT(cluster->assigned().size(), 0U);
  cluster.restart_for_claims();
  cluster->join({.slots = 4});
  cluster->submit(many(), of("ann", "b"));
  run_passes(cluster);
  ASSERT_TRUE(cluster->core().reclaiming());
  EXPECT_EQ(cluster->assigned().size(), 0U) << "a runs, as far as anybody knows";
  const Result<Value> explained = cluster->ask("explain", {"b"});
  ASSERT_TRUE(explained.has_value());
  EXPECT_EQ((*explained)["held_by"], Value{"running_jobs_max of user 'ann' is 1, and 1 run or come before it"});
  cluster->ignore();
}

// Found by a fresh seed of the simulator: the job left the sight of passes while it might start all that it wanted.
TEST(PolicyRulesKept, AJobThatIsLimitedWhileItsWorkersComeBackIsLimitedByTheNextPlan) {
  SupervisorConfig config = site();
  config.policy.qos[0].limits = {.slots_max = 1};
  config.policy.pass_max = 1h;
  JournalHarness cluster{config};
  cluster->join({.slots = 4});
  cluster->join({.slots = 4});
  cluster->submit(many(), of("ann", "a"));
  run_passes(cluster);
  cluster.restart_for_claims();
  cluster->come_back(1, {.jobs = {{JobId{1}, {}, {}}}, .spec = {.slots = 4}});
  run_passes(cluster);
  ASSERT_FALSE(cluster->job().shares->of(BandSlot{0}).limited());
  cluster->client_says(AdminRequest{1, "set", {"qos", "a", "expedite"}, "ada@desk"});
  std::vector<supervisor_action::RunPass> orders;
  for (int tries = 0; tries < 1000 && orders.empty(); ++tries) {
    cluster.write_all();
    orders = cluster->take_passes();
  }
  ASSERT_EQ(orders.size(), 1U);
  for (int tries = 0; tries < 1000 && cluster->core().reclaiming(); ++tries) {
    cluster->tick_after(100ms);
    cluster.write_all();
  }
  ASSERT_FALSE(cluster->core().reclaiming());
  cluster->handle(PolicedSupervisor::run(orders[0]));
  EXPECT_TRUE(cluster->job().shares->of(BandSlot{0}).limited());
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
