#include "tools/policy/replay/replay_requests.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

ReplayTrace trace_of(std::vector<ReplayJob> jobs) { return {equal_trace_bands(2, 8), {"a"}, std::move(jobs)}; }

TEST(ReplayRequests, SlotsAreCountedInTheLargestPartThatAllAreMultiplesOf) {
  const Parts slots = parts_named("priority");
  const ReplayTrace halves = trace_of({{.devices = 1, .device_share = 500}, {.devices = 2}});
  const ReplayRequests by_halves{halves, slots, TypicalRequests{halves}};
  EXPECT_EQ(by_halves.bands()[0].slots, 16);
  EXPECT_EQ(by_halves.members_of(halves.jobs[0])[0].slots, 1);
  EXPECT_EQ(by_halves.members_of(halves.jobs[1])[0].slots, 4);
  const ReplayTrace odd = trace_of({{.devices = 1, .device_share = 460}});
  const ReplayRequests by_twentieths{odd, slots, TypicalRequests{odd}};
  EXPECT_EQ(by_twentieths.bands()[0].slots, 160);
  EXPECT_EQ(by_twentieths.members_of(odd.jobs[0])[0].slots, 10);
  EXPECT_EQ(by_twentieths.demand_of(odd.jobs[0]).part, 500);
  const ReplayRequests exact{odd, parts_named("quota"), TypicalRequests{odd}};
  EXPECT_EQ(exact.demand_of(odd.jobs[0]).part, 460);
}

TEST(ReplayRequests, AGangIsOneMemberWhereSlotsAreCounted) {
  const ReplayTrace trace = trace_of({{.members = 16, .devices = 1, .cpu_milli = 1000}});
  const ReplayRequests slots{trace, parts_named("fair_share"), TypicalRequests{trace}};
  std::vector<Member> members = slots.members_of(trace.jobs[0]);
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0].slots, 16);
  EXPECT_EQ(slots.together_on(trace.jobs[0], 0), 8);
  members[0].places = {{0, 8}, {1, 8}};
  EXPECT_EQ(slots.holdings_of(trace.jobs[0], members).size(), 16U);
  const ReplayRequests quotas{trace, parts_named("quota"), TypicalRequests{trace}};
  EXPECT_EQ(quotas.members_of(trace.jobs[0]).size(), 16U);
}

/// Whole bands of one size are all that a large gang gets where slots are counted.
TEST(ReplayRequests, WhatCouldNeverBePlacedIsPossibleNowhere) {
  const ReplayTrace trace = trace_of({{.members = 12, .devices = 1},
                                      {.members = 16, .devices = 1},
                                      {.members = 17, .devices = 1},
                                      {.devices = 1, .cpu_milli = 128'001},
                                      {.devices = 1, .bands = {1}}});
  const ReplayRequests slots{trace, parts_named("priority"), TypicalRequests{trace}};
  const ReplayRequests quotas{trace, parts_named("quota"), TypicalRequests{trace}};
  const auto both = std::vector<std::uint32_t>{0, 1};
  const auto possible = [](const ReplayRequests& requests, std::size_t job) {
    return requests.possible(requests.kind_of(job));
  };
  EXPECT_TRUE(possible(slots, 0).empty());
  EXPECT_EQ(possible(quotas, 0), both);
  EXPECT_EQ(possible(slots, 1), both);
  EXPECT_TRUE(possible(slots, 2).empty());
  EXPECT_TRUE(possible(quotas, 2).empty());
  EXPECT_TRUE(possible(slots, 3).empty());
  EXPECT_EQ(possible(slots, 4), std::vector<std::uint32_t>{1});
  for (std::size_t job = 0; job < trace.jobs.size(); ++job) {
    EXPECT_EQ(slots.fits_in_parts(slots.kind_of(job)), job == 0) << "12 of 16 devices, on two bands";
    EXPECT_FALSE(quotas.fits_in_parts(quotas.kind_of(job))) << job;
  }
}

}  // namespace
}  // namespace penstock::policy
