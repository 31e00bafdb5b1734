#include "supervisor/policy/replay/replay.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

ReplayTrace trace_of(std::vector<ReplayJob> jobs, std::vector<Band> bands) {
  return {std::move(bands), {"a", "b"}, std::move(jobs)};
}

TEST(Replay, WhoFindsNoRoomWaitsForAnEnd) {
  const ReplayTrace trace = trace_of({{.name = "first", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 2},
                                      {.name = "second", .project = 1, .arrives_s = 10, .runs_s = 50, .devices = 2}},
                                     equal_trace_bands(1, 2));
  for (const char* name : {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"}) {
    const ReplayReport report = replay(trace, {.parts = parts_named(name), .period_s = 1});
    EXPECT_EQ(report.all.never_started, 0) << name;
    EXPECT_EQ(report.projects[0].max_s, 0) << name;
    // `quota` and fair shares may take turns; nobody else does.
    if (report.preemptions == 0) {
      EXPECT_EQ(report.projects[1].max_s, 90) << name;
      EXPECT_EQ(report.ended_s, 150) << name;
    }
  }
}

TEST(Replay, PreemptionGoesOnWhereItWas) {
  const ReplayTrace trace =
      trace_of({{.name = "low", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 2, .priority = 40},
                {.name = "high", .project = 1, .arrives_s = 10, .runs_s = 50, .devices = 2, .priority = 60}},
               equal_trace_bands(1, 2));
  ReplayOptions options{.parts = parts_named("priority"), .period_s = 1};
  options.parts.preemption = true;
  const ReplayReport report = replay(trace, options);
  EXPECT_EQ(report.preemptions, 1);
  EXPECT_EQ(report.moves, 0);
  EXPECT_EQ(report.all.max_s, 0);
  EXPECT_EQ(report.ended_s, 150);  // No second of work is done twice.
}

TEST(Replay, PartsOfADeviceRunSideBySideOnlyUnderThePolicyThatPlacesThem) {
  const ReplayTrace trace =
      trace_of({{.name = "x", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 1, .device_share = 500},
                {.name = "y", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 1, .device_share = 500}},
               equal_trace_bands(1, 1));
  EXPECT_EQ(replay(trace, {.parts = parts_named("quota")}).all.max_s, 0);
  EXPECT_EQ(replay(trace, {.parts = parts_named("priority")}).all.max_s, 100);
}

TEST(Replay, WhoNeverFitsIsCounted) {
  const ReplayTrace trace =
      trace_of({{.name = "large", .project = 0, .arrives_s = 0, .runs_s = 1, .devices = 9}}, equal_trace_bands(1, 8));
  for (const char* name : {"fair_share", "priority", "quota", "multifactor"})
    EXPECT_EQ(replay(trace, {.parts = parts_named(name)}).all.never_started, 1) << name;
}

TEST(Replay, EveryPresetPlaysTheGeneratedTrace) {
  const TraceText text = generate_trace({.seed = 7, .jobs = 300, .bands = 40});
  const auto bands = read_trace_bands(text.nodes);  // tidy: foreign
  ASSERT_TRUE(bands);
  const auto trace = read_trace(text.pods, *bands);  // tidy: foreign
  ASSERT_TRUE(trace) << to_string(trace.error());
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    const ReplayReport report = replay(*trace, {.parts = each->parts, .period_s = 60});
    EXPECT_EQ(report.all.jobs, 300) << each->name;
    EXPECT_EQ(report.all.never_started, 0) << each->name;
    EXPECT_GT(report.used, 0) << each->name;
    for (const ReplaySample& sample : report.samples) {
      EXPECT_LE(sample.used, 1) << each->name;
      EXPECT_GE(sample.fairness, 0) << each->name;
      EXPECT_LE(sample.fairness, 1 + 1e-9) << each->name;
      EXPECT_GE(sample.fragmented, 0) << each->name;
      EXPECT_LE(sample.fragmented, 1 + 1e-9) << each->name;
    }
  }
}

}  // namespace
}  // namespace penstock::policy
