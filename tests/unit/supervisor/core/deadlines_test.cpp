#include "supervisor/core/deadlines.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

Instant at(int seconds) { return instant_at(std::chrono::seconds{seconds}); }

TEST(Deadlines, ThoseThatAreDueComeInTheirOrder) {
  Deadlines deadlines;
  EXPECT_EQ(deadlines.first(), kNever);
  deadlines.insert(JobId{1}, at(30));
  deadlines.insert(JobId{2}, at(10));
  deadlines.insert(JobId{3}, at(20));
  EXPECT_EQ(deadlines.first(), at(10));
  EXPECT_EQ(deadlines.due_at(at(20)), (std::vector<JobId>{JobId{2}, JobId{3}}));
  EXPECT_EQ(deadlines.due_at(at(9)), std::vector<JobId>{});
}

TEST(Deadlines, OneMovesOnlyIfItIsThere) {
  Deadlines deadlines;
  Instant due = at(10);
  deadlines.insert(JobId{1}, due);
  deadlines.move(JobId{1}, due, at(40));
  EXPECT_EQ(due, at(40));
  EXPECT_EQ(deadlines.first(), at(40));
  EXPECT_TRUE(deadlines.erase(JobId{1}, due));
  EXPECT_FALSE(deadlines.erase(JobId{1}, due));
  deadlines.move(JobId{1}, due, at(50));
  EXPECT_EQ(due, at(50));
  EXPECT_EQ(deadlines.first(), kNever);
}

}  // namespace
}  // namespace penstock::supervisor
