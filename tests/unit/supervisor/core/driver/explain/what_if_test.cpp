// WhatIf: the next pass, and the same pass with something otherwise.
#include "supervisor/core/driver/explain/what_if.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "supervisor/policy/snapshot.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::supervisor {
namespace {

using policy::MemberState;
using policy::parts_named;
using policy::PolicyBuilder;

/// A pass over what was built, carried out: job 1 is the first.
LastPass passed(PolicyBuilder& builder, const policy::Parts& parts) {
  LastPass last;
  for (std::uint32_t i = 0; i < builder.snapshot.workloads.size(); ++i)
    last.pass.subjects.push_back({JobId{i + 1}, BandKind::Cpu, false, builder.snapshot.workloads[i].pool, false});
  last.plan = policy::PolicyEngine{{parts}}.pass(builder.snapshot);
  last.snapshot = builder.snapshot;
  return last;
}

WhatIf asked(const LastPass& last, const policy::Parts& parts, JobId job) {
  return WhatIf{last, {parts}, 0, job, last.snapshot.now, [](JobId) { return false; }};
}

TEST(WhatIfTest, TheNextPassSeesWhatTheLastOneStarted) {
  PolicyBuilder builder;
  builder.band(2);
  builder.workload("first");
  builder.waiting(2);
  builder.workload("second");
  builder.waiting(1);
  const policy::Parts parts = parts_named("priority");
  const LastPass last = passed(builder, parts);
  WhatIf what_if = asked(last, parts, JobId{2});
  ASSERT_TRUE(what_if.is_shown());
  EXPECT_EQ(what_if.next().members[0].state, MemberState::Running);
  EXPECT_FALSE(what_if.helps(what_if.next()));
  policy::Snapshot changed = what_if.next();
  end_workloads({0}, changed);
  EXPECT_TRUE(what_if.helps(changed));
}

TEST(WhatIfTest, VictimsLeaveAndWaitAnew) {
  PolicyBuilder builder;
  builder.band(2);
  builder.workload("low", 50);
  builder.running(2, 0);
  builder.workload("high", 1);
  builder.waiting(2);
  policy::Parts parts = parts_named("priority");
  parts.preemption = true;
  const LastPass last = passed(builder, parts);
  ASSERT_EQ(last.plan.preemptions.size(), 1U);
  policy::Snapshot next = last.snapshot;
  carry_out(last.plan, next);
  ASSERT_EQ(next.members.size(), 3U);
  EXPECT_EQ(next.members[0].state, MemberState::Leaving);
  EXPECT_EQ(next.members[2].state, MemberState::Pending);
  EXPECT_EQ(next.members[2].workload, 0U);
  ASSERT_EQ(next.carried.size(), 1U);
  EXPECT_EQ(next.carried[0].member, 1U);
  // The promised place counts as given: the same pass once more is no remedy.
  WhatIf what_if = asked(last, parts, JobId{2});
  const std::optional<policy::Plan> plan = what_if.pass(what_if.next());
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(what_if.given(what_if.next(), *plan), 2000);
  EXPECT_FALSE(what_if.helps(what_if.next()));
}

TEST(WhatIfTest, OtherPoolsAndJobsThatAreGoneAreLeftOut) {
  PolicyBuilder builder;
  builder.band(2);
  builder.workload("gone");
  builder.running(2, 0);
  builder.workload("elsewhere").pool = 1;
  builder.waiting(1);
  builder.workload("waits");
  builder.waiting(2);
  const policy::Parts parts = parts_named("fair_share");
  LastPass last = passed(builder, parts);
  const WhatIf hidden{last, {parts}, 0, JobId{2}, last.snapshot.now, [](JobId) { return false; }};
  EXPECT_FALSE(hidden.is_shown());
  WhatIf what_if{last, {parts}, 0, JobId{3}, last.snapshot.now, [](JobId job) { return job == JobId{1}; }};
  ASSERT_TRUE(what_if.is_shown());
  EXPECT_EQ(what_if.subjects().size(), 1U);
  const std::optional<policy::Plan> plan = what_if.pass(what_if.next());
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(what_if.given(what_if.next(), *plan), 2000) << "the place of the job that is gone";
  last.snapshot = {};
  EXPECT_FALSE(asked(last, parts, JobId{3}).is_shown()) << "the pass gave no snapshot back";
}

TEST(WhatIfTest, OnlySoManyPassesAreTried) {
  PolicyBuilder builder;
  builder.band(1);
  builder.workload("waits");
  builder.waiting(2);
  const policy::Parts parts = parts_named("priority");
  const LastPass last = passed(builder, parts);
  WhatIf what_if = asked(last, parts, JobId{1});
  for (std::size_t i = 0; i < kPassesTriedMax; ++i) EXPECT_TRUE(what_if.pass(what_if.next()).has_value());
  EXPECT_FALSE(what_if.gave_up());
  PENSTOCK_EXPECT_COVERAGE_MARK("explain has tried as many passes as it may",
                                EXPECT_FALSE(what_if.pass(what_if.next()).has_value()));
  EXPECT_TRUE(what_if.gave_up());
  what_if.begin();
  EXPECT_TRUE(what_if.pass(what_if.next()).has_value()) << "for another question";
}

TEST(WhatIfTest, OfALargePoolFewerPassesAreTried) {
  PolicyBuilder builder;
  builder.band(1);
  builder.workload("waits");
  builder.waiting(2, static_cast<int>(kMembersTriedMax / 2));
  const policy::Parts parts = parts_named("priority");
  const LastPass last = passed(builder, parts);
  WhatIf what_if = asked(last, parts, JobId{1});
  EXPECT_TRUE(what_if.pass(what_if.next()).has_value());
  EXPECT_TRUE(what_if.pass(what_if.next()).has_value());
  EXPECT_FALSE(what_if.pass(what_if.next()).has_value());
}

}  // namespace
}  // namespace penstock::supervisor
