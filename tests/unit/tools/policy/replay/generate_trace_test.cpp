#include <gtest/gtest.h>

#include <algorithm>

#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {
namespace {

TEST(GenerateTrace, HasTheShapeOfThePublicTrace) {
  const TraceText text = generate_trace({});
  EXPECT_EQ(text.pods, generate_trace({}).pods);           // tidy: foreign
  EXPECT_NE(text.pods, generate_trace({.seed = 2}).pods);  // tidy: foreign
  const auto bands = read_trace_bands(text.nodes);         // tidy: foreign
  ASSERT_TRUE(bands) << to_string(bands.error());
  EXPECT_EQ(bands->bands.size(), 1200U);
  const auto trace = read_trace(text.pods, *bands);  // tidy: foreign
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->jobs.size(), 8000U);
  std::vector<std::int64_t> lifetimes;
  std::int64_t parts = 0;
  std::int64_t sensitive = 0;
  for (const ReplayJob& job : trace->jobs) {
    lifetimes.push_back(job.runs_s);
    parts += job.devices == 1 && job.device_share < 1000 ? 1 : 0;
    sensitive += trace->projects[job.project] == "LS" ? 1 : 0;
  }
  std::sort(lifetimes.begin(), lifetimes.end());
  EXPECT_NEAR(static_cast<double>(parts) / 8000, 0.38, 0.02);
  EXPECT_NEAR(static_cast<double>(sensitive) / 8000, 0.57, 0.02);
  EXPECT_NEAR(static_cast<double>(lifetimes[4000]), 540, 60);
  EXPECT_GT(lifetimes[7920], 30 * lifetimes[4000]);  // A heavy tail.
}

}  // namespace
}  // namespace penstock::policy
