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
  serve.clear();
  EXPECT_EQ(serve.take(), std::nullopt);
  serve.add(1);
  serve.add(2);
  EXPECT_EQ(serve.take(), 2U);
  EXPECT_EQ(serve.take(), 1U);
  EXPECT_EQ(serve.take(), std::nullopt);
  Agenda take{order, Direction::TakeFrom, [&](std::uint32_t member) { return is_active(trial.state(member)); }};
  take.add(0);
  EXPECT_EQ(take.take(), 0U);
}

TEST(Agenda, GivesTheSameOrderHoweverJobsWereAdded) {
  PolicyBuilder builder;
  builder.device_band(8);
  for (int i = 0; i < 12; ++i) {
    if (i < 3) builder.project("project" + std::to_string(i), i);
    builder.job("job" + std::to_string(i), static_cast<std::uint32_t>(i % 3), i % 2 == 0 ? 50 : 75);
    builder.wants(1 + i % 4);
  }
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  const WorkloadOrder order{trial};
  const auto waits = [&](std::uint32_t member) { return trial.state(member) == MemberState::Pending; };
  Agenda one_by_one{order, Direction::Serve, waits};
  Agenda together{order, Direction::Serve, waits};
  std::vector<std::uint32_t> jobs;
  for (std::uint32_t job = 12; job-- > 0;) {
    jobs.push_back(job);
    one_by_one.add(job);
  }
  together.add_all(jobs);
  for (int i = 0; i <= 12; ++i) EXPECT_EQ(one_by_one.take(), together.take());
}

}  // namespace
}  // namespace penstock::policy
