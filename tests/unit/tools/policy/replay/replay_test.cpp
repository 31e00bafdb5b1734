#include "tools/policy/replay/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "supervisor/policy/parts.hpp"
#include "tools/policy/replay/replay_site.hpp"

namespace penstock::policy {
namespace {

ReplayTrace trace_of(std::vector<ReplayJob> jobs, std::vector<Band> bands) {
  return {std::move(bands), {"a", "b"}, std::move(jobs)};
}

/// Projects are equals.
ReplayOptions under(std::string_view preset, const ReplayTrace& trace, std::int64_t period_s = 10) {
  ReplayOptions options;
  options.supervisor.policy = policy_of_equals(trace, {.name = "all", .preset = std::string{preset}});
  options.supervisor.policy.period = std::chrono::seconds{period_s};
  return options;
}

/// A part of time: runs begin 5 ms after a change, where the trace has them begin at once.
constexpr double kSettles = 0.01;

TEST(Replay, WhoFindsNoRoomWaitsForAnEnd) {
  const ReplayTrace trace = trace_of({{.name = "first", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 2},
                                      {.name = "second", .project = 1, .arrives_s = 10, .runs_s = 50, .devices = 2}},
                                     equal_trace_bands(1, 2));
  for (const char* name : {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"}) {
    const ReplayReport report = replay(trace, under(name, trace, 1));
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
  ReplayOptions options = under("priority", trace);
  options.supervisor.policy.pools[0].preemption = true;
  const ReplayReport report = replay(trace, options);
  EXPECT_EQ(report.preemptions, 1);
  EXPECT_EQ(report.moves, 0);
  EXPECT_EQ(report.ended_s, 150);          // No second of work is done twice.
  EXPECT_EQ(report.jobs[0].waited_s, 50);  // Also after it has started.
  EXPECT_EQ(report.projects[0].max_s, 50);
  EXPECT_EQ(report.projects[1].max_s, 0);
}

TEST(Replay, TimeEndsWithTheLastEndWhateverThePeriod) {
  const ReplayTrace trace = trace_of({{.name = "x", .project = 0, .arrives_s = 0, .runs_s = 1, .devices = 1},
                                      {.name = "large", .project = 1, .arrives_s = 500, .runs_s = 1, .devices = 2}},
                                     equal_trace_bands(1, 1));
  for (const Preset* each = presets(); !each->name.empty(); ++each)
    for (const std::int64_t period_s : {1, 10, 3600}) {
      const ReplayReport report = replay(trace, under(each->name, trace, period_s));
      EXPECT_EQ(report.ended_s, 1) << each->name << " each " << period_s;
      EXPECT_NEAR(report.mean.used, 1, kSettles) << each->name << " each " << period_s;
      EXPECT_FALSE(report.while_arriving) << each->name << " each " << period_s;
    }
}

TEST(Replay, ARefusedJobNeverStartsAndWaitsForNothing) {
  const ReplayTrace trace =
      trace_of({{.name = "x", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 2},
                {.name = "too much", .project = 1, .arrives_s = 10, .runs_s = 1, .devices = 2, .priority = 100},
                {.name = "too large", .project = 1, .arrives_s = 20, .runs_s = 1, .devices = 3, .priority = 100}},
               equal_trace_bands(1, 2));
  // Each project is guaranteed one device, and a larger job that may not be preempted is refused.
  const ReplayReport report = replay(trace, under("quota", trace, 60));
  EXPECT_EQ(report.ended_s, 100);
  EXPECT_EQ(report.projects[1].never_started, 2);
  EXPECT_EQ(report.projects[1].jobs, 2);
  EXPECT_DOUBLE_EQ(report.projects[1].mean_s, 0);
  EXPECT_EQ(report.jobs[1].waited_s, 0);
  EXPECT_EQ(report.jobs[2].waited_s, 0);
}

TEST(Replay, AGangThatHasToLeaveIsOnePreemptionUnderEveryPreset) {
  const ReplayTrace trace = trace_of(
      {{.name = "gang", .project = 0, .arrives_s = 0, .runs_s = 100, .members = 3, .devices = 1, .priority = 40},
       {.name = "high", .project = 0, .arrives_s = 10, .runs_s = 50, .devices = 2, .priority = 60}},
      equal_trace_bands(1, 3));
  for (const char* name : {"priority", "quota"}) {
    ReplayOptions options = under(name, trace);
    options.supervisor.policy.pools[0].preemption = true;
    const ReplayReport report = replay(trace, options);
    EXPECT_EQ(report.preemptions, 1) << name;
    EXPECT_EQ(report.jobs[0].preempted_s, std::vector<std::int64_t>{10}) << name;
  }
}

TEST(Replay, PartsOfADeviceRunSideBySideUnderEveryPreset) {
  const ReplayTrace trace =
      trace_of({{.name = "x", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 1, .device_share = 460},
                {.name = "y", .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 1, .device_share = 500}},
               equal_trace_bands(1, 1));
  for (const Preset* each = presets(); !each->name.empty(); ++each)
    EXPECT_EQ(replay(trace, under(each->name, trace)).all.max_s, 0) << each->name;
}

TEST(Replay, APartIsOneOfASingleDevice) {
  // Two fifths are free of each of two devices: together four, and nobody can use more than two of one.
  std::vector<ReplayJob> jobs;
  for (const char* name : {"x", "y", "z"})
    jobs.push_back({.name = name, .project = 0, .arrives_s = 0, .runs_s = 100, .devices = 1, .device_share = 600});
  const ReplayTrace trace = trace_of(std::move(jobs), equal_trace_bands(1, 2));
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    const ReplayReport report = replay(trace, under(each->name, trace));
    EXPECT_EQ(report.all.max_s, 100) << each->name;
    EXPECT_EQ(report.ended_s, 200) << each->name;
  }
}

/// As many jobs as there are devices run at a time; all figures can be told beforehand.
TEST(Replay, JobsThatComeTogetherAreMeasuredToTheEnd) {
  std::vector<ReplayJob> jobs;
  for (int i = 0; i < 100; ++i)
    jobs.push_back({.name = "j" + std::to_string(i),
                    .project = static_cast<std::uint32_t>(i % 2),
                    .arrives_s = 0,
                    .runs_s = 100,
                    .devices = 1});
  const ReplayTrace trace = trace_of(std::move(jobs), equal_trace_bands(1, 2));
  for (const char* name : {"fair_share_max_min", "priority", "quota", "multifactor"}) {
    const ReplayReport report = replay(trace, under(name, trace));
    EXPECT_EQ(report.ended_s, 5000) << name;
    EXPECT_NEAR(report.mean.used, 1, kSettles) << name;
    EXPECT_NEAR(report.mean.waiting, 49, kSettles) << name;  // 98, 96, ... 0
    EXPECT_FALSE(report.while_arriving) << name;
    EXPECT_GE(report.samples.size(), 200U) << name;
    EXPECT_LE(report.samples.size(), 400U) << name;
    for (const ReplaySample& each : report.samples) EXPECT_NEAR(each.used, 1, kSettles) << name;
  }
}

TEST(Replay, FiguresAreWeightedByTime) {
  // 10 s on one of two devices, 90 s on nothing, 100 s on both.
  const ReplayTrace trace = trace_of({{.name = "x", .project = 0, .arrives_s = 0, .runs_s = 10, .devices = 1},
                                      {.name = "y", .project = 1, .arrives_s = 100, .runs_s = 100, .devices = 2}},
                                     equal_trace_bands(1, 2));
  const ReplayReport report = replay(trace, under("priority", trace));
  EXPECT_NEAR(report.mean.used, (10 * 0.5 + 100) / 200, kSettles);
  ASSERT_TRUE(report.while_arriving);
  EXPECT_NEAR(report.while_arriving->used, 0.05, kSettles);
  double used = 0;
  for (const ReplaySample& each : report.samples) used += each.used / 200;
  EXPECT_NEAR(used, 105.0 / 200, kSettles);  // One each second.
}

TEST(Replay, AGangHasAllOfItsPlacesOrNone) {
  std::vector<ReplayJob> jobs{
      {.name = "too-large", .project = 0, .arrives_s = 0, .runs_s = 10, .members = 9, .devices = 1}};
  for (int i = 1; i <= 20; ++i)
    jobs.push_back({.name = "s" + std::to_string(i), .project = 1, .arrives_s = 10 * i, .runs_s = 10, .devices = 1});
  const ReplayTrace behind = trace_of(std::move(jobs), equal_trace_bands(1, 8));
  const ReplayTrace two =
      trace_of({{.name = "A", .project = 0, .arrives_s = 0, .runs_s = 100, .members = 6, .devices = 1},
                {.name = "B", .project = 1, .arrives_s = 50, .runs_s = 100, .members = 6, .devices = 1},
                {.name = "C", .project = 0, .arrives_s = 3000, .runs_s = 10, .devices = 1}},
               equal_trace_bands(1, 8));
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    const ReplayReport first = replay(behind, under(each->name, behind));
    EXPECT_EQ(first.all.never_started, 1) << each->name;
    EXPECT_EQ(first.never_fits, 1) << each->name;
    EXPECT_EQ(first.projects[1].max_s, 0) << each->name;
    const ReplayReport second = replay(two, under(each->name, two));
    EXPECT_EQ(second.all.never_started, 0) << each->name;
    EXPECT_EQ(second.never_ended, 0) << each->name;
    EXPECT_EQ(second.jobs[2].started_s, 3000) << each->name;
    EXPECT_LE(std::max(second.jobs[0].ended_s, second.jobs[1].ended_s), 400) << each->name;
  }
}

TEST(Replay, NobodyWaitsForOrIsJudgedByWhatNoBandCouldHold) {
  const ReplayTrace trace = trace_of({{.name = "large", .project = 0, .arrives_s = 0, .runs_s = 9, .devices = 9},
                                      {.name = "x", .project = 1, .arrives_s = 0, .runs_s = 100, .devices = 8}},
                                     equal_trace_bands(1, 8));
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    const ReplayReport report = replay(trace, under(each->name, trace));
    EXPECT_EQ(report.never_fits, 1) << each->name;
    EXPECT_NEAR(report.mean.fairness, 1, kSettles) << each->name;
    EXPECT_NEAR(report.mean.waiting, 0, kSettles) << each->name;
  }
}

TEST(Replay, NoBandIsOverItsProcessorsOrMemoryUnderAnyPreset) {
  std::vector<ReplayJob> light;
  std::vector<ReplayJob> with_devices;
  for (int i = 0; i < 50; ++i) {
    light.push_back({.name = "p" + std::to_string(i), .arrives_s = 0, .runs_s = 100, .cpu_milli = 32'000});
    with_devices.push_back(
        {.name = "d" + std::to_string(i), .arrives_s = 0, .runs_s = 100, .devices = 1, .memory_mib = 24 << 10});
  }
  // 96 processors hold three, and nine tenths of half of 128 GiB two beside each other.
  const ReplayTrace processors = trace_of(std::move(light), equal_trace_bands(1, 6));
  const ReplayTrace memory = trace_of(std::move(with_devices), [] {
    std::vector<Band> bands = equal_trace_bands(2, 8);
    for (Band& each : bands) each.capacity.memory = std::int64_t{128} << 30;
    return bands;
  }());
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    EXPECT_EQ(replay(processors, under(each->name, processors)).ended_s, 1700) << each->name;  // 17 times 3.
    EXPECT_EQ(replay(memory, under(each->name, memory)).ended_s, 1300) << each->name;          // 13 times 4.
  }
}

/// The holders, recomputed from what is told of each job: no host over anything, at any time. Its processors count for
/// jobs with devices and for those without, each apart.
TEST(Replay, WhatIsToldOfJobsAddsUp) {
  const TraceText text = generate_trace({.seed = 3, .jobs = 150, .bands = 6, .load_percent = 120});
  const auto bands = read_trace_bands(text.nodes);  // tidy: foreign
  ASSERT_TRUE(bands);
  const auto trace = read_trace(text.pods, *bands);  // tidy: foreign
  ASSERT_TRUE(trace) << to_string(trace.error());
  for (const char* name : {"priority", "quota", "multifactor"}) {
    const ReplayReport report = replay(*trace, under(name, *trace, 60));
    double used = 0;
    for (std::size_t i = 0; i < trace->jobs.size(); ++i) {
      const ReplayJob& job = trace->jobs[i];
      const ReplayOutcome& outcome = report.jobs[i];
      ASSERT_GE(outcome.started_s, job.arrives_s) << name;
      if (outcome.preempted_s.empty()) {
        EXPECT_EQ(outcome.ended_s, outcome.started_s + job.runs_s) << name;
      }
      ASSERT_EQ(outcome.bands.size(), 1U) << name;
      used += static_cast<double>(job.runs_s * job.devices * job.device_share);
      Resources sum;  // Of all that begin where this one does, and have not ended.
      for (std::size_t k = 0; k < trace->jobs.size(); ++k)
        if (report.jobs[k].bands == outcome.bands && report.jobs[k].preempted_s.empty() &&
            (trace->jobs[k].devices > 0) == (job.devices > 0) && report.jobs[k].started_s <= outcome.started_s &&
            outcome.started_s < report.jobs[k].ended_s)
          sum += {trace->jobs[k].cpu_milli, trace->jobs[k].memory_mib << 20,
                  trace->jobs[k].devices * trace->jobs[k].device_share};
      EXPECT_TRUE(sum.within(trace->bands[outcome.bands.front()].capacity)) << name << " " << job.name;
    }
    double capacity = 0;
    for (const Band& band : trace->bands) capacity += static_cast<double>(band.capacity.gpu);
    const auto span = static_cast<double>(report.ended_s - trace->jobs.front().arrives_s);
    EXPECT_NEAR(report.mean.used, used / capacity / span, kSettles) << name;
  }
}

TEST(Replay, WhoNeverFitsIsCounted) {
  const ReplayTrace trace =
      trace_of({{.name = "large", .project = 0, .arrives_s = 0, .runs_s = 1, .devices = 9}}, equal_trace_bands(1, 8));
  for (const char* name : {"fair_share", "priority", "quota", "multifactor"})
    EXPECT_EQ(replay(trace, under(name, trace)).all.never_started, 1) << name;
}

TEST(Replay, EveryPresetPlaysTheGeneratedTrace) {
  const TraceText text = generate_trace({.seed = 7, .jobs = 100, .bands = 14});
  const auto bands = read_trace_bands(text.nodes);  // tidy: foreign
  ASSERT_TRUE(bands);
  const auto trace = read_trace(text.pods, *bands);  // tidy: foreign
  ASSERT_TRUE(trace) << to_string(trace.error());
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    const ReplayReport report = replay(*trace, under(each->name, *trace, 60));
    EXPECT_EQ(report.all.jobs, 100) << each->name;
    EXPECT_EQ(report.all.never_started, 0) << each->name;
    EXPECT_GT(report.mean.used, 0) << each->name;
    for (const ReplaySample& sample : report.samples) {
      EXPECT_LE(sample.used, 1) << each->name;
      EXPECT_GE(sample.fairness, 0) << each->name;
      EXPECT_LE(sample.fairness, 1 + 1e-9) << each->name;
      EXPECT_GE(sample.fragmented, 0) << each->name;
      EXPECT_LE(sample.fragmented, 1 + 1e-9) << each->name;
    }
  }
}

/// 40 jobs of each project, for 10 s on one device, all at once.
ReplayTrace many_of_both(std::int64_t devices) {
  std::vector<ReplayJob> jobs;
  for (int i = 0; i < 80; ++i)
    jobs.push_back({.name = "j" + std::to_string(i),
                    .project = static_cast<std::uint32_t>(i % 2),
                    .arrives_s = 0,
                    .runs_s = 10,
                    .devices = 1});
  return trace_of(std::move(jobs), equal_trace_bands(1, devices));
}

/// How many of a project's jobs had started by then.
std::int64_t started_by(const ReplayTrace& trace, const ReplayReport& report, std::uint32_t project,
                        std::int64_t at_s) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i)
    count += trace.jobs[i].project == project && report.jobs[i].started_s <= at_s ? 1 : 0;
  return count;
}

/// Guarantees in devices, for `a` and `b`, in a department.
ReplayOptions owned(std::string_view preset, const ReplayTrace& trace, std::int64_t first, std::int64_t second) {
  ReplayOptions options = under(preset, trace, 1);
  options.supervisor.policy.projects = {{.name = "all", .is_department = true, .guaranteed_gpu_slots = first + second},
                                        {.name = "a", .department = "all", .guaranteed_gpu_slots = first},
                                        {.name = "b", .department = "all", .guaranteed_gpu_slots = second}};
  return options;
}

TEST(ReplayOwned, GuaranteesOfASiteCount) {
  const ReplayTrace trace = many_of_both(4);
  const ReplayReport report = replay(trace, owned("quota", trace, 3, 1));
  EXPECT_EQ(started_by(trace, report, 0, 0), 3);
  EXPECT_EQ(started_by(trace, report, 1, 0), 1);
  EXPECT_EQ(report.ended_s, 200);
}

TEST(ReplayOwned, WhatIsNeverPreemptedStaysWithinTheGuaranteeOfItsProject) {
  ReplayTrace trace = many_of_both(4);
  for (ReplayJob& job : trace.jobs) job.priority = 100;
  const ReplayReport report = replay(trace, owned("quota", trace, 1, 0));
  EXPECT_EQ(report.projects[0].never_started, 0);
  EXPECT_EQ(report.projects[1].never_started, 40);
  EXPECT_EQ(report.ended_s, 400) << "one at a time";
}

TEST(ReplayOwned, LimitsOfASiteCount) {
  const ReplayTrace trace = many_of_both(4);
  ReplayOptions options = under("priority", trace);
  options.supervisor.policy.accounts = {{.name = "a", .limits = {.gpu_slots_max = 1}}, {.name = "b"}};
  const ReplayReport held = replay(trace, options);
  EXPECT_EQ(started_by(trace, held, 0, 0), 1);
  EXPECT_EQ(started_by(trace, held, 1, 0), 3);
  EXPECT_EQ(held.ended_s, 400) << "of `a`, one at a time";
  options.supervisor.policy.accounts[0].limits = {.active_jobs_max = 10};
  const ReplayReport refused = replay(trace, options);
  EXPECT_EQ(refused.refused, 30);
  EXPECT_EQ(refused.never_fits, 0);
  EXPECT_EQ(refused.all.never_started, 30);
  EXPECT_NE(refused.first_refusal.find("active_jobs_max"), std::string::npos) << refused.first_refusal;
}

TEST(ReplayOwned, WeightsOfASiteDivideItsShares) {
  const auto started = [](std::int64_t first, std::int64_t second) {
    ReplayTrace trace = many_of_both(4);
    ReplayOptions options = owned("fair_share_max_min", trace, 0, 0);
    options.supervisor.policy.projects[1].weight = first;
    options.supervisor.policy.projects[2].weight = second;
    const ReplayReport report = replay(trace, options);
    return std::vector{started_by(trace, report, 0, 1), started_by(trace, report, 1, 1)};
  };
  EXPECT_EQ(started(3000, 1000), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(started(1000, 3000), (std::vector<std::int64_t>{1, 3}));
}

TEST(ReplayOwned, SharesOfAccountsOrderJobsBySumsOfFactors) {
  const ReplayTrace trace = many_of_both(1);
  ReplayOptions options = under("multifactor", trace, 1);
  options.supervisor.policy.accounts = {{.name = "a", .shares = 9}, {.name = "b", .shares = 1}};
  options.supervisor.policy.pools[0].factors = {
      .wait = 0, .fair_share = 100'000, .qos = 0, .queue = 0, .size = 0, .user = 0};
  const ReplayReport report = replay(trace, options);
  EXPECT_GT(started_by(trace, report, 0, 190), 3 * started_by(trace, report, 1, 190));
  EXPECT_GT(started_by(trace, report, 1, 190), 0);
}

}  // namespace
}  // namespace penstock::policy
