#include "common/base/coverage_mark.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"

namespace penstock {
namespace {

int branch(bool rare) {
  if (rare) PENSTOCK_COVERAGE_MARK("a rare branch");
  return rare ? 1 : 0;
}

class CoverageMark : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!coverage_marks_enabled()) GTEST_SKIP() << "this build has no coverage marks";
    reset_coverage_marks();
  }
};

TEST_F(CoverageMark, CountsEachPassage) {
  EXPECT_EQ(coverage_mark_count("a rare branch"), 0U);
  branch(false);
  EXPECT_EQ(coverage_mark_count("a rare branch"), 0U);
  branch(true);
  branch(true);
  EXPECT_EQ(coverage_mark_count("a rare branch"), 2U);
}

TEST_F(CoverageMark, ListsWhatWasPassedAndForgetsItOnReset) {
  branch(true);
  EXPECT_EQ(coverage_mark_counts().size(), 1U);
  EXPECT_EQ(coverage_mark_counts().begin()->first, "a rare branch");
  reset_coverage_marks();
  EXPECT_TRUE(coverage_mark_counts().empty());
}

TEST_F(CoverageMark, AnExpectationFailsWhenItsBranchIsNotTaken) {
  PENSTOCK_EXPECT_COVERAGE_MARK("a rare branch", branch(true));
  EXPECT_NONFATAL_FAILURE(PENSTOCK_EXPECT_COVERAGE_MARK("a rare branch", branch(false)), "never passed: a rare branch");
}

#ifndef PENSTOCK_COVERAGE_MARKS
// Release: nothing is left of a mark, so it may even stand in a constant expression.
constexpr int marked_constant() {
  PENSTOCK_COVERAGE_MARK("a constant branch");
  return 1;
}
static_assert(marked_constant() == 1);
#endif

}  // namespace
}  // namespace penstock
