#include "tools/policy/replay/estimated_shapes.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

TEST(EstimatedShapes, HaveTheProportionsOfThePaper) {
  const TraceText text = estimated_shapes(20'000, 1213, 1);
  const ReplayTrace trace = read_trace(text.pods, read_trace_bands(text.nodes).value(), 1).value();  // tidy: foreign
  std::int64_t devices = 0;
  std::int64_t cpu = 0;
  for (const Band& band : trace.bands) devices += band.capacity.gpu / 1000, cpu += band.capacity.cpu / 1000;
  EXPECT_EQ(devices, 6212);
  EXPECT_NEAR(static_cast<double>(cpu), 107'018, 1500);
  std::int64_t none = 0;
  std::int64_t parts = 0;
  for (const ReplayJob& job : trace.jobs) {
    none += job.devices == 0 ? 1 : 0;
    parts += job.devices == 1 && job.device_share < 1000 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(none) / 20'000, 0.133, 0.01);
  EXPECT_NEAR(static_cast<double>(parts) / 20'000, 0.378, 0.015);
}

}  // namespace
}  // namespace penstock::policy
