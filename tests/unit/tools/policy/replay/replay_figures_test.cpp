#include "tools/policy/replay/replay_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::policy {
namespace {

using std::chrono_literals::operator""s;

TEST(ReplayFigures, JainsIndex) {
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
  EXPECT_DOUBLE_EQ(jain_index({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index({1, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({0, 0}), 0);
}

TEST(ReplayFigures, EqualSharesGiveWhatIsLeftToThoseWhoWantMore) {
  EXPECT_EQ(equal_shares({1, 10, 4}, 9), (std::vector<double>{1, 4, 4}));
  EXPECT_EQ(equal_shares({1, 2}, 9), (std::vector<double>{1, 2}));
}

TEST(ReplayFigures, Waits) {
  const ReplayWaits waits = waits_of("p", {{5, 1, 3}, {30, 10}, 5, 2});
  EXPECT_EQ(waits.jobs, 5);
  EXPECT_EQ(waits.never_started, 2);
  EXPECT_DOUBLE_EQ(waits.mean_s, 3);
  EXPECT_EQ(waits.median_s, 3);
  EXPECT_EQ(waits.max_s, 5);
  EXPECT_DOUBLE_EQ(waits.completion.mean_s, 20);
  EXPECT_EQ(waits.completion.median_s, 10);
  EXPECT_EQ(waits.completion.max_s, 30);
}

// The least that so many of a hundred do not exceed.
TEST(ReplayFigures, PercentilesAreNearestRanks) {
  const auto up_to = [](std::int64_t count) {
    std::vector<std::int64_t> waits;
    for (std::int64_t i = 1; i <= count; ++i) waits.push_back(i);
    return times_of(waits);
  };
  EXPECT_EQ(up_to(1).p95_s, 1);
  EXPECT_EQ(up_to(2).p95_s, 2);
  EXPECT_EQ(up_to(20).p95_s, 19);
  EXPECT_EQ(up_to(21).p95_s, 20);
  EXPECT_EQ(up_to(100).p95_s, 95);
  EXPECT_EQ(up_to(4).median_s, 2);
  EXPECT_EQ(up_to(5).median_s, 3);
}

TEST(ReplayFigures, WhatAJobCannotUseIsFragmented) {
  ReplayTrace trace;
  trace.jobs = {{.devices = 1, .device_share = 500}, {.devices = 2}};
  const TypicalRequests requests{trace};
  // Half a device: half of the requests fit; two whole ones: all do.
  EXPECT_DOUBLE_EQ(requests.unusable_part({{0, {500}}}), 0.5);
  EXPECT_DOUBLE_EQ(requests.unusable_part({{2000, {}}}), 0);
  EXPECT_DOUBLE_EQ(requests.unusable_part({{0, {}}}), 0);
}

TEST(ReplayFigures, MemoryThatIsMissingFragmentsToo) {
  ReplayTrace trace;
  trace.jobs = {{.devices = 1, .memory_mib = 100}, {.devices = 1, .memory_mib = 50}};
  const TypicalRequests requests{trace};
  EXPECT_DOUBLE_EQ(requests.unusable_part({{1000, {}, 0, std::int64_t{99} << 20}}), 0.5);
  EXPECT_DOUBLE_EQ(requests.unusable_part({{1000, {}, 0, std::int64_t{49} << 20}}), 1);
  EXPECT_DOUBLE_EQ(requests.unusable_part({{1000, {}, 0, std::int64_t{100} << 20}}), 0);
}

// However many kinds of requests there are, and however seldom each comes.
TEST(ReplayFigures, EveryRequestOfATraceCounts) {
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  ReplayTrace trace;
  for (int i = 0; i < 500; ++i) {
    const bool part = draw(2) == 0;
    trace.jobs.push_back({.devices = part ? 1 : 1 + draw(3),
                          .device_share = part ? 250 * (1 + draw(3)) : 1000,
                          .cpu_milli = draw(100),
                          .memory_mib = draw(100)});
  }
  const TypicalRequests requests{trace};
  for (int i = 0; i < 500; ++i) {
    const BandRest band{1000 * draw(4), {draw(1000), draw(1000)}, draw(110), draw(110) << 20};
    const std::int64_t largest = std::max(band.parts[0], band.parts[1]);
    std::int64_t useless = 0;
    for (const ReplayJob& job : trace.jobs) {
      const bool devices = band.whole >= 1000 * job.devices || (job.device_share < 1000 && largest >= job.device_share);
      if (!devices || job.cpu_milli > band.cpu_milli || job.memory_mib << 20 > band.memory) ++useless;
    }
    const std::int64_t free = band.whole + band.parts[0] + band.parts[1];
    const RestValue value = requests.value_of(band);
    EXPECT_EQ(value.free, free);
    EXPECT_EQ(value.unusable, free * useless);
  }
}

TEST(ReplayFigures, AMeterNeedsNoMoreSpansThanItWasGivenHoweverLongItTakes) {
  ReplayMeter meter{100, 4};
  meter.hold({.used = 1, .fairness = 0.5, .judged = true, .waiting = 2}, 3s);
  ASSERT_EQ(meter.samples().size(), 3U);
  meter.hold({.used = 0}, 9s);  // 12 s in 3 spans of 4.
  const std::vector<ReplaySample> samples = meter.samples();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].at_s, 100);
  EXPECT_EQ(samples[1].at_s, 104);
  EXPECT_DOUBLE_EQ(samples[0].used, 0.75);
  EXPECT_DOUBLE_EQ(samples[0].fairness, 0.5);  // No project is judged while none wants anything.
  EXPECT_DOUBLE_EQ(samples[1].used, 0);
  EXPECT_FALSE(samples[1].judged);
  EXPECT_DOUBLE_EQ(meter.mean().used, 0.25);
  EXPECT_DOUBLE_EQ(meter.mean().waiting, 0.5);
  meter.hold({.used = 1}, std::chrono::seconds{std::int64_t{1} << 32});
  EXPECT_LE(meter.samples().size(), 4U);
}

}  // namespace
}  // namespace penstock::policy
