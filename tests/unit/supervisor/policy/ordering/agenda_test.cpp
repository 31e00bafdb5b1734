#include <gtest/gtest.h>

#include "supervisor/policy/ordering/agenda.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Agenda, ServesTheMostDeprivedProjectAndTakesFromTheLeast) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(8);
  const std::uint32_t rich = builder.project("rich", 2);
  const std::uint32_t poor = builder.project("poor", 2);
  builder.job("rich-runs", rich);
  builder.holds(1, band, 2);
  builder.job("rich-waits", rich);
  builder.wants(1);
  builder.job("poor-waits", poor);
  builder.wants(1);
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  const WorkloadOrder order{trial};
  Agenda serve{order, Direction::Serve,
               [&](std::uint32_t member) { return trial.state(member) == MemberState::Pending; }};
  serve.add(1);
  serve.add(2);
  EXPECT_EQ(serve.take(), 2U);
  EXPECT_EQ(serve.take(), 1U);
  EXPECT_EQ(serve.take(), std::nullopt);
  Agenda take{order, Direction::TakeFrom, [&](std::uint32_t member) { return is_active(trial.state(member)); }};
  take.add(0);
  EXPECT_EQ(take.take(), 0U);
}

}  // namespace
}  // namespace penstock::policy
