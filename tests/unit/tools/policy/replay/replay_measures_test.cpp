#include "tools/policy/replay/replay_measures.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr Instant kBegins = instant_at(1000s);

ReplayTrace two_projects() {
  ReplayTrace trace;
  trace.bands = equal_trace_bands(1, 4);
  trace.projects = {"a", "b"};
  trace.jobs = {{.name = "x", .project = 0, .arrives_s = 7, .members = 2, .devices = 1},
                {.name = "y", .project = 1, .arrives_s = 7, .devices = 1, .device_share = 500}};
  return trace;
}

TEST(ReplayMeasures, WhatRunsIsUsedAndHeldAgainstEqualShares) {
  const ReplayTrace trace = two_projects();
  ReplayMeasures measures{trace, kBegins, 10};
  for (const ReplayJob& job : trace.jobs) measures.job_came(job);
  measures.add_waiting(2);
  for (int i = 0; i < 2; ++i) measures.run_begun(trace.jobs[0]);
  measures.add_waiting(-1);
  measures.pass_time(kBegins + 10s);
  measures.run_begun(trace.jobs[1]);
  measures.add_waiting(-1);
  measures.pass_time(kBegins + 20s);
  measures.go_on();
  ReplayReport report;
  measures.report(report);
  EXPECT_DOUBLE_EQ(report.mean.used, (0.5 + 0.625) / 2);
  EXPECT_DOUBLE_EQ(report.mean.waiting, 0.5);
  EXPECT_DOUBLE_EQ(report.mean.fairness, (0.5 + 1) / 2) << "one of two has all, then both have what they want";
  EXPECT_EQ(report.ended_s, 27);
}

TEST(ReplayMeasures, TimeAfterTheLastEventIsNoPartOfAReplay) {
  const ReplayTrace trace = two_projects();
  ReplayMeasures measures{trace, kBegins, 10};
  measures.job_came(trace.jobs[0]);
  measures.pass_time(kBegins + 4s);
  measures.job_came(trace.jobs[1]);
  measures.pass_time(kBegins + 8500ms);
  measures.go_on();
  measures.pass_time(kBegins + 3600s);
  ReplayReport report;
  measures.report(report);
  EXPECT_EQ(report.ended_s, 15) << "rounded down";
  EXPECT_EQ(report.samples.size(), 9U);
  ASSERT_TRUE(report.while_arriving);
  EXPECT_EQ(measures.second_of(measures.last()), 15);
}

}  // namespace
}  // namespace penstock::policy
