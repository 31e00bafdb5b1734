#include "tools/policy/replay/fill.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/choose_parts.hpp"
#include "tools/policy/replay/estimated_shapes.hpp"

namespace penstock::policy {
namespace {

ReplayTrace published(std::uint32_t jobs, std::uint32_t bands) {
  const TraceText text = estimated_shapes(jobs, bands, 1);
  return read_trace(text.pods, read_trace_bands(text.nodes).value(), 1).value();  // tidy: foreign
}

TEST(Fill, DrawsUntilMoreIsAskedForThanThereIs) {
  const ReplayTrace trace = published(500, 20);
  const ReplayTrace filling = filling_trace(trace, 110, 7);
  std::int64_t devices = 0;
  for (const Band& band : filling.bands) devices += band.capacity.gpu;
  std::int64_t asked = 0;
  for (const ReplayJob& job : filling.jobs) asked += job.devices * job.device_share;
  EXPECT_GE(asked * 100, devices * 110);
  const ReplayJob& last = filling.jobs.back();
  EXPECT_LT((asked - last.devices * last.device_share) * 100, devices * 110);
  EXPECT_NE(filling_trace(trace, 110, 8).jobs.front().name, filling.jobs.front().name);
}

// One device is asked for by a job of 1 core, and the band with the fewest cores has just one for each device.
TEST(Fill, AllAreFullWhereNothingCanBeLost) {
  ReplayTrace trace{equal_trace_bands(3, 4), {"all"}, {}};
  trace.jobs.push_back({.name = "one", .devices = 1});
  const ReplayTrace filling = filling_trace(trace, 110, 1);
  EXPECT_DOUBLE_EQ(fill_by_policy(filling, choose_parts({.preset = "quota"}).value(), 4).percent(), 100);
  for (const FillReference each : {FillReference::BestFit, FillReference::Packing, FillReference::Gradient}) {
    const FillResult result = fill_by_reference(filling, trace, each);
    EXPECT_DOUBLE_EQ(result.percent(), 100);
    EXPECT_EQ(result.unplaced, std::ssize(filling.jobs) - 12);
  }
}

// The promise of the fitting, on a cluster that a unit test has time for: no reference is clearly better.
TEST(Fill, FragmentationLosesNoMoreThanTheGradientOfThePaper) {
  const ReplayTrace trace = published(400, 60);
  double ours = 0;
  double packed = 0;
  double gradient = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const ReplayTrace filling = filling_trace(trace, 110, seed);
    ours += fill_by_policy(filling, choose_parts({.preset = "quota"}).value(), 20).percent();
    packed += fill_by_policy(filling, choose_parts({.preset = "quota", .fitting = "binpack"}).value(), 20).percent();
    gradient += fill_by_reference(filling, trace, FillReference::Gradient).percent();
  }
  EXPECT_GE(ours, gradient - 3 * 0.5);
  EXPECT_GT(ours, packed);
}

}  // namespace
}  // namespace penstock::policy
