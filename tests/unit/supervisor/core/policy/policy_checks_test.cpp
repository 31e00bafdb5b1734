#include "supervisor/core/policy/policy_checks.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/pool_parts.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

/// One pool where quotas count, a department with one project, and one account.
class PolicyChecksTest : public ::testing::Test {
 protected:
  PolicyChecksTest() {
    event.out = &out;
    policy.config.pools = {{.name = "everything", .preset = "quota"}};
    policy.config.projects = {{.name = "research", .is_department = true},
                              {.name = "vision", .department = "research"}};
    policy.config.accounts = {{.name = "lab"}};
    policy.config.grace_max = 60s;
  }
  /// Why a job of ada's with these wishes is refused; an empty error if it is not.
  Error refusal(const JobPolicy& wishes, std::int32_t priority = 0, Duration grace = Duration{0}) {
    policy.parts = parts_in_force(policy.config);
    JobSpec spec;
    spec.name = "job";
    spec.owner = "ada";
    spec.priority = priority;
    spec.policy = wishes;
    spec.grace = grace;
    const Result<void> checked = checks.check_policy_of(spec);
    return checked ? Error{} : checked.error();
  }
  void add_worker(std::int64_t slots) {
    Register description;
    description.bands.emplace_back().capacity.slots = kOneSlot * slots;
    const WorkerId id{workers.worker_slots() + 1};
    workers.add(id, Incarnation{id.value()}, description);
    policy.pool_of_band.push_back(0);
  }
  /// The warnings of an answer. Each of them must be in the log, too.
  std::vector<std::string> warnings() {
    policy.tree = project_tree(policy.config);
    policy.parts = parts_in_force(policy.config);
    Value::Record answer;
    checks.add_warnings(answer);
    std::vector<std::string> told;
    std::vector<std::string> logged;
    for (const auto& [name, value] : answer)
      for (const Value& each : *value.list()) told.push_back(*each.text());
    for (const SupervisorAction& action : out)
      logged.push_back(std::get<supervisor_action::Alert>(action).error.message);
    EXPECT_EQ(logged, told);
    EXPECT_EQ(answer.empty(), told.empty()) << "without warnings there is no such field";
    out.clear();
    return told;
  }
  using Texts = std::vector<std::string>;

  Actions<SupervisorAction> out;
  EventContext event;
  JobTable jobs;
  WorkerTable workers;
  Eligibility eligibility{workers};
  PolicyState policy;
  JobIndices indices;
  PolicyView view{jobs, workers, eligibility, policy, indices};
  AllocationUnits units{jobs, workers, policy, view};
  LimitRules rules{jobs, workers, policy, indices, view, units};
  PolicyChecks checks{event, workers, policy, view, rules};
};

TEST_F(PolicyChecksTest, WithoutAPolicyOnlyTheFormOfNamesAndTheGraceAreChecked) {
  policy.config.pools.clear();
  EXPECT_EQ(refusal({.project = "unknown", .account = "unknown", .pools = {"unknown"}, .qos = "unknown"}), Error{});
  EXPECT_EQ(refusal({.pools = {"a", "a"}}).subject, "job 'job'");
  EXPECT_EQ(refusal({.labels = {"a", "a"}}).subject, "job 'job'");
  EXPECT_EQ(refusal({}, 0, 60s), Error{});
  EXPECT_EQ(refusal({}, 0, 61s).subject, "grace of 61 s");
}

TEST_F(PolicyChecksTest, WishesOfAGangNeedAGang) {
  EXPECT_EQ(refusal({.gang = 2, .gang_max = 2, .together = "host"}), Error{});
  EXPECT_EQ(refusal({.gang_max = 2}).message, "has gang_max, and is no gang");
  EXPECT_EQ(refusal({.together = "host"}).message, "has together, and is no gang");
  EXPECT_EQ(refusal({.gang = 3, .gang_max = 2}).message, "has a gang_max of 2, below its gang of 3");
  const Error too_large = refusal({.slots_max = 5, .gang = 3, .gang_max = 6});
  EXPECT_EQ(too_large.subject + " " + too_large.message,
            "gang_max of 6 is larger than slots_max of its job, which is 5");
}

TEST_F(PolicyChecksTest, GroupsOfAGangStayTogetherAndHaveOneSize) {
  EXPECT_EQ(refusal({.gang = 6, .together = "host", .gang_groups = 3}), Error{});
  EXPECT_EQ(refusal({.gang = 6, .gang_max = 6, .together = "host", .gang_groups = 6}), Error{});
  EXPECT_EQ(refusal({.gang_groups = 2}).message, "has gang_groups, and is no gang");
  EXPECT_EQ(refusal({.gang = 6, .gang_groups = 3}).message, "has gang_groups of 3, and not `together`");
  EXPECT_EQ(refusal({.gang = 6, .together = "host", .gang_groups = 4}).message,
            "has gang_groups of 4, which do not divide its gang of 6 evenly");
  EXPECT_EQ(refusal({.gang = 6, .together = "host", .gang_groups = 7}).message,
            "has gang_groups of 7, which do not divide its gang of 6 evenly");
  EXPECT_EQ(refusal({.gang = 6, .gang_max = 8, .together = "host", .gang_groups = 3}).message,
            "has gang_groups of 3, and a gang_max");
}

TEST_F(PolicyChecksTest, AnUnknownNameIsToldWithTheNearestKnownOne) {
  EXPECT_EQ(refusal({.project = "vision", .account = "lab", .pools = {"everything"}}), Error{});
  const Error project = refusal({.project = "vison"});
  EXPECT_EQ(project.code, ErrorCode::NotFound);
  EXPECT_EQ(project.subject, "project 'vison'");
  EXPECT_EQ(project.remedy, "did you mean 'vision'?");
  EXPECT_EQ(refusal({.project = "language"}).remedy, "`penstock projects` lists them");
  EXPECT_EQ(refusal({.pools = {"everything", "anything"}}).subject, "pool 'anything'");
  EXPECT_EQ(refusal({.account = "home"}).subject, "account 'home'");
}

TEST_F(PolicyChecksTest, ADepartmentHasNoJobsOfItsOwn) {
  const Error error = refusal({.project = "research"});
  EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
  EXPECT_EQ(error.message, "is a department");
}

TEST_F(PolicyChecksTest, APriorityIsOnTheScaleOfAllPoolsOfTheJob) {
  EXPECT_EQ(refusal({}, -7), Error{}) << "any number";
  policy.config.pools[0].priorities = "1-99";
  EXPECT_EQ(refusal({}, 99), Error{});
  EXPECT_EQ(refusal({}, 0), Error{}) << "unset";
  EXPECT_EQ(refusal({}, 100).subject, "priority 100");
  policy.config.pools.insert(policy.config.pools.begin(), PoolConfig{.name = "other", .workers = {"other-*"}});
  EXPECT_EQ(refusal({.pools = {"other"}}, 100), Error{});
  EXPECT_EQ(refusal({.pools = {"other", "everything"}}, 5).subject, "job 'job'") << "two scales";
}

TEST_F(PolicyChecksTest, AGangFitsIntoTheCapOfItsOwnJob) {
  EXPECT_EQ(refusal({.slots_max = 4, .gang = 4}), Error{});
  EXPECT_EQ(refusal({.slots_max = 0, .gang = 4}), Error{}) << "no cap";
  EXPECT_EQ(refusal({.slots_max = 3, .gang = 4}).subject, "gang of 4");
}

TEST_F(PolicyChecksTest, RulesOfTheSiteAreCheckedToo) {
  EXPECT_EQ(refusal({.qos = "unknown"}).code, ErrorCode::NotFound);
  policy.config.users = {{.name = "ada", .limits = {.active_jobs_max = 1}}};
  EXPECT_EQ(refusal({}), Error{});
  indices.limited.add(limits_of(policy.config, "ada", {}));
  EXPECT_EQ(refusal({}).code, ErrorCode::LimitExceeded);
}

TEST_F(PolicyChecksTest, MoreGuaranteesThanThereIsNowAreWarnedOf) {
  policy.config.projects[0].guaranteed_slots = policy.config.projects[1].guaranteed_slots = 3;
  add_worker(2);
  EXPECT_EQ(warnings(), Texts{"pool 'everything' has 2 slots now, and 3 are guaranteed: first come, first served"});
  add_worker(1);
  EXPECT_EQ(warnings(), Texts{}) << "the department speaks for its project";
  policy.config.pools[0].preset = "priority";
  workers.remove(WorkerSlot{0});
  const Texts others = warnings();
  ASSERT_EQ(others.size(), 1U) << "guarantees do not count there";
  EXPECT_NE(others[0].find("have no effect"), std::string::npos) << others[0];
}

}  // namespace
}  // namespace penstock::supervisor
