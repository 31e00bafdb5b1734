#include "supervisor/core/jobs/retry_timers.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

constexpr Instant at(int ms) { return Instant{std::chrono::milliseconds{ms}}; }

TEST(RetryTimers, AreDueByTimeThenByJobAndSubtask) {
  RetryTimers timers{Rng{1}};
  EXPECT_EQ(timers.first(), kNever);
  timers.add({at(2), JobId{1}, 0, 1});
  timers.add({at(1), JobId{2}, 5, 1});
  timers.add({at(1), JobId{2}, 4, 1});
  timers.add({at(1), JobId{1}, 9, 1});
  EXPECT_EQ(timers.first(), at(1));
  EXPECT_FALSE(timers.take_due(at(0)).has_value());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  while (const std::optional<RetryTimer> timer = timers.take_due(at(1)))
    order.emplace_back(timer->job.value(), timer->subtask);
  EXPECT_EQ(order, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 9}, {2, 4}, {2, 5}}));
  EXPECT_EQ(timers.first(), at(2));
  EXPECT_TRUE(timers.take_due(at(3)).has_value());
  EXPECT_EQ(timers.first(), kNever);
}

TEST(RetryTimers, OneIsFoundByTheAttemptThatHasFailed) {
  RetryTimers timers{Rng{1}};
  timers.add({at(2), JobId{1}, 3, 7});
  ASSERT_NE(timers.find(JobId{1}, 3, 7), nullptr);
  EXPECT_EQ(timers.find(JobId{1}, 3, 7)->at, at(2));
  EXPECT_EQ(timers.find(JobId{1}, 3, 8), nullptr);
  EXPECT_EQ(timers.find(JobId{1}, 2, 7), nullptr);
  EXPECT_EQ(timers.find(JobId{2}, 3, 7), nullptr);
}

}  // namespace
}  // namespace penstock::supervisor
