// SupervisorCore: what the audit history says of policy.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

JobSpec named(const std::string& name, JobPolicy policy = {}) {
  JobSpec spec;
  spec.name = name;
  spec.policy = std::move(policy);
  return spec;
}

Graph many() { return GraphBuilder{}.sources(400).build(); }

Lines history(PolicedSupervisor& supervisor) {
  Lines lines;
  const Result<Value> audit = supervisor.ask("audit");
  EXPECT_TRUE(audit.has_value());
  if (audit)
    for (const Value& row : *audit->list()) lines.push_back(*row["order"].text() + ": " + *row["outcome"].text());
  return lines;
}

/// How many lines begin so and have that part.
std::int64_t told(PolicedSupervisor& supervisor, const std::string& start, const std::string& part) {
  const Lines all = history(supervisor);
  return std::count_if(all.begin(), all.end(), [&](const std::string& line) {
    return line.starts_with(start) && line.find(part) != std::string::npos;
  });
}

/// The first job: it runs on that many slots.
void run(PolicedSupervisor& supervisor, const JobSpec& job, std::uint32_t slots) {
  supervisor.submit(many(), job);
  supervisor.settle(2);
  ASSERT_GE(supervisor.assigned().size(), slots);
  for (std::uint32_t i = 0; i < slots; ++i) supervisor.say(1, i, Outcome::Started);
}

TEST(PolicyAudit, WhoMayHoldLessBecauseOthersComeIsToldWithRuleAndNumber) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 4});
  supervisor.submit(many(), named("a", {.weight = 3000}));
  supervisor.settle(2);
  EXPECT_EQ(history(supervisor), Lines{}) << "nothing is limited yet";
  supervisor.submit(many(), named("b"));
  supervisor.settle(4);
  EXPECT_EQ(history(supervisor),
            (Lines{"entitle job-1: it gets 3 of the 4 slots that it wants in pool 'all'; its share is 3",
                   "hold job-2: no room: it needs 1, and the roomiest place has 0",
                   "start job-2: it gets 1 of the 4 slots that it wants in pool 'all'; fair share: it holds 1 of the 1 "
                   "slots of its share"}));
  supervisor.ignore();
}

TEST(PolicyAudit, WhatAnOperatorHoldsLeavesByHisOrder) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 2});
  run(supervisor, named("a"), 2);
  supervisor.submit(many(), named("b"));
  ASSERT_TRUE(supervisor.ask("hold", {"a"}).has_value());
  supervisor.settle(4);
  EXPECT_EQ(told(supervisor, "preempt 1:", ": it is on hold by an operator"), 2)
      << testing::PrintToString(history(supervisor));
  supervisor.ignore();
}

TEST(PolicyAudit, WhatALowerLimitTakesBackIsToldWithIt) {
  SupervisorConfig config = policed("priority");
  config.policy.users = {{.name = "ann", .limits = {.slots_max = 4}}};
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  JobSpec mine = named("a");
  mine.owner = "ann";
  run(supervisor, mine, 4);
  supervisor.submit(many(), named("b"));
  supervisor.client_says(AdminRequest{9, "reload", {}, "ann@home"});
  const auto reloads = supervisor.take_actions<supervisor_action::ReloadPolicy>();
  ASSERT_EQ(reloads.size(), 1U);
  config.policy.users.front().limits.slots_max = 2;
  supervisor.handle(supervisor_event::PolicyRead{reloads[0].client, reloads[0].request, config.policy});
  supervisor.settle(3);
  EXPECT_EQ(told(supervisor, "preempt 1:", ": slots_max of user 'ann' is 2"), 2)
      << testing::PrintToString(history(supervisor));
  supervisor.ignore();
}

// Found by a trial: the reason of the last plan that took something from the job was told.
TEST(PolicyAudit, WhatMayNotBeOnItsWorkerAnyMoreLeavesByItsLabels) {
  SupervisorConfig config =
      policed("quota", {{.name = "p", .guaranteed_slots = 3}, {.name = "q", .guaranteed_slots = 1}});
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  run(supervisor, named("a", {.project = "p"}), 4);
  supervisor.submit(many(), named("b", {.project = "q"}));
  supervisor.settle(4);
  EXPECT_EQ(told(supervisor, "preempt 1:", ": another project is below its entitlement"), 1);
  config.policy.projects[0].training_labels = {"slow"};
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann"}, config.policy});
  supervisor.settle(4);
  EXPECT_EQ(told(supervisor, "preempt 1:", ": its pools or its labels exclude worker-1 now"), 3)
      << testing::PrintToString(history(supervisor));
  supervisor.ignore();
}

TEST(PolicyAudit, WhoIsMovedAheadHasNoHigherPriority) {
  PolicedSupervisor supervisor{policed("priority")};
  supervisor.join({.slots = 2});
  run(supervisor, named("a"), 2);
  supervisor.submit(many(), named("b"));
  supervisor.settle(2);
  ASSERT_TRUE(supervisor.ask("move", {"b", "ahead-of", "a"}).has_value());
  supervisor.settle(3);
  EXPECT_EQ(told(supervisor,
                 "preempt 1:", ": a job of the same priority that is before it in the queue needs the place: job-2"),
            2)
      << testing::PrintToString(history(supervisor));
  supervisor.ignore();
}

TEST(PolicyAudit, AReservedStartIsToldOnce) {
  SupervisorConfig config = policed("multifactor");
  config.policy.pools.front().time_limit = 60s;
  PolicedSupervisor supervisor{config};
  supervisor.join({.slots = 4});
  supervisor.submit(many(), named("a"));
  supervisor.settle(2);
  GraphBuilder large;
  large.template_at(0).request.slots = kOneSlot * 3;
  supervisor.submit(large.sources(1).build(), named("b"));
  supervisor.settle(2);
  supervisor.submit(many(), named("c"));
  supervisor.settle(2);
  EXPECT_EQ(told(supervisor, "reserve job-2: its start is reserved, within ", ""), 1)
      << testing::PrintToString(history(supervisor));
  supervisor.ignore();
}

// A change in each second for 150 of them.
TEST(PolicyAudit, ANumberThatChangesAllTheTimeIsToldOnceAMinute) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 4});
  supervisor.submit(many(), named("a"));
  supervisor.submit(many(), named("b"));
  supervisor.settle(4);
  const std::size_t before = history(supervisor).size();
  for (int second = 0; second < 150; ++second) {
    ASSERT_TRUE(supervisor.ask("set", {"weight", "a", second % 2 == 0 ? "3" : "1"}).has_value());
    supervisor.tick_after(1s);
    supervisor.settle(2);
    supervisor.ignore();
  }
  std::size_t lines = 0;
  bool counted = false;
  for (const std::string& line : history(supervisor)) {
    lines += line.starts_with("entitle ") || line.starts_with("start ") ? 1 : 0;
    counted = counted || line.find(" changes") != std::string::npos;
  }
  EXPECT_LE(lines, before + 2 * 3);
  EXPECT_GE(lines, 4U);
  EXPECT_TRUE(counted);
  supervisor.ignore();
}

TEST(PolicyAudit, AnOrderIsToldWithWhatWasBefore) {
  PolicedSupervisor supervisor{policed("priority", {{.name = "p", .guaranteed_slots = 1}})};
  supervisor.join({.slots = 4});
  for (const char* name : {"a", "b"}) supervisor.submit(many(), named(name));
  const std::string unused =
      "; beware: weight of job-1 has no effect: pool 'all' does not divide its slots by weights (sharing)";
  const auto outcome = [&](std::vector<std::string> words) {
    const std::string command = words.front();
    words.erase(words.begin());
    supervisor.client_says(AdminRequest{1, command, words, "ann@home"});
    supervisor.ignore();
    const Result<Value> audit = supervisor.ask("audit");
    const Value& last = audit->list()->back();
    return *last["who"].text() + ": " + *last["order"].text() + ": " + *last["outcome"].text();
  };
  EXPECT_EQ(outcome({"set", "weight", "a", "2.5"}), "ann@home: set weight a 2.5: done; it was 1" + unused);
  EXPECT_EQ(outcome({"set", "weight", "a", "3"}), "ann@home: set weight a 3: done; it was 2.5" + unused);
  EXPECT_EQ(outcome({"set", "cap", "a", "3"}), "ann@home: set cap a 3: done; it was none");
  EXPECT_EQ(outcome({"set", "cap", "a", "none"}), "ann@home: set cap a none: done; it was 3");
  EXPECT_TRUE(outcome({"set", "quota", "p", "2"}).starts_with("ann@home: set quota p 2: done; it was 1; beware: "));
  EXPECT_EQ(outcome({"move", "b", "ahead-of", "a"}),
            "ann@home: move b ahead-of a: done; it was number 2 of 2 of priority 0 in pool 'all'");
  EXPECT_EQ(outcome({"set", "priority", "b", "7"}), "ann@home: set priority b 7: done; it was 0");
  supervisor.ignore();
}

TEST(PolicyAudit, AReloadTellsWhatIsDifferentAndWhoIsInAnotherPoolNow) {
  PolicedSupervisor supervisor{policed("fair_share_max_min", {{.name = "p"}})};
  supervisor.join({.slots = 4});
  supervisor.submit(many(), named("a", {.project = "p"}));
  supervisor.settle(2);
  PolicyConfig changed = policed("fair_share_max_min", {{.name = "p", .pools = {"own"}}}).policy;
  changed.pools.push_back({.name = "own", .workers = {"worker-1"}});
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann@home"}, changed});
  supervisor.ignore();
  EXPECT_EQ(history(supervisor), (Lines{"move job-1: from pool 'all' to 'own', as the configuration says now",
                                        "move worker worker-1: from pool 'all' to 'own', as the configuration says now",
                                        "reload: done: pool 'own' is new; project 'p': pools the default -> own"}));
  supervisor.handle(supervisor_event::PolicyRead{ClientId{1}, AdminRequest{9, "reload", {}, "ann@home"}, changed});
  supervisor.ignore();
  EXPECT_EQ(history(supervisor).back(), "reload: done, and nothing is different");
}

TEST(PolicyAudit, OfManyPreemptedAttemptsTheFirstAreNamedAndTheRestCounted) {
  PolicedSupervisor supervisor{policed("priority")};
  supervisor.join({.slots = 20});
  supervisor.submit(GraphBuilder{}.sources(20).build(), named("low"));
  supervisor.settle(2);
  supervisor.assigned();
  for (std::uint32_t subtask = 0; subtask < 20; ++subtask) supervisor.say(1, subtask, Outcome::Started);
  JobSpec high = named("high", {.gang = 20});
  high.priority = 10;
  supervisor.submit(GraphBuilder{}.sources(20).build(), high);
  supervisor.settle(2);
  Lines told;
  for (const std::string& line : history(supervisor))
    if (line.starts_with("preempt ")) told.push_back(line);
  ASSERT_EQ(told.size(), 17U);
  EXPECT_EQ(told[0], "preempt 1:19: a job of higher priority needs the place: job-2, which has 10 before 0");
  EXPECT_EQ(told[16], "preempt 4 more: in the same pass, for the same reasons");
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
