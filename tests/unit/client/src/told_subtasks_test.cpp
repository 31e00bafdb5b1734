#include "client/src/told_subtasks.hpp"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

SubtaskRange range(std::uint32_t first, std::uint32_t last) { return {SubtaskIndex{first}, SubtaskIndex{last}}; }

TEST(ToldSubtasks, OnlyWhatIsNewIsLeft) {
  ToldSubtasks told;
  JobProgress news;
  news.succeeded = {range(2, 4), range(9, 9)};
  told.keep_only_new(news);
  EXPECT_EQ(news.succeeded, (std::vector<SubtaskRange>{range(2, 4), range(9, 9)}));
  JobProgress everything;
  everything.succeeded = {range(0, 9)};
  everything.cancelled = {range(10, 11)};
  everything.failures = {{SubtaskIndex{12}, "k", {}, {}}};
  told.keep_only_new(everything);
  EXPECT_EQ(everything.succeeded, (std::vector<SubtaskRange>{range(0, 1), range(5, 8)}));
  EXPECT_EQ(everything.cancelled, (std::vector<SubtaskRange>{range(10, 11)}));
  EXPECT_EQ(everything.failures.size(), 1U);
  JobProgress again = everything;
  told.keep_only_new(again);
  EXPECT_TRUE(again.succeeded.empty() && again.cancelled.empty() && again.failures.empty());
  EXPECT_EQ(told.end_of(SubtaskIndex{5}), JobState::Succeeded);
  EXPECT_EQ(told.end_of(SubtaskIndex{11}), JobState::Cancelled);
  EXPECT_EQ(told.end_of(SubtaskIndex{12}), JobState::Failed);
  EXPECT_EQ(told.end_of(SubtaskIndex{13}), JobState::Running);
}

}  // namespace
}  // namespace penstock::client
