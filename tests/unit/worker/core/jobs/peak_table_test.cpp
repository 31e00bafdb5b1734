#include "worker/core/jobs/peak_table.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"

namespace penstock::worker {
namespace {

Template requesting(Bytes memory) {
  Template content;
  content.runner = RunnerKind::Process;
  content.program = "python3";
  content.payload = "a function";
  content.request.memory = memory;
  return content;
}

TEST(ProgramOf, IsWhatRunsAndNotWhatItIsCalled) {
  const Template content = requesting(kMiB);
  Template renamed = content;
  renamed.name = "another";
  renamed.priority = 7;
  renamed.time_limit = std::chrono::seconds{1};
  EXPECT_EQ(program_of(content), program_of(renamed));
  Template other = content;
  other.payload = "another function";
  EXPECT_NE(program_of(content), program_of(other));
  other = content;
  other.arguments = {"-m", "penstock"};
  EXPECT_NE(program_of(content), program_of(other));
  EXPECT_NE(program_of(content), program_of(requesting(kMiB * 2))) << "its runs may be meant to use more";
}

TEST(ProgramOf, IsNothingWithoutARequestForMemory) { EXPECT_EQ(program_of(requesting(Bytes{0})), 0U); }

TEST(PeakTable, TheLargestCountsAndFades) {
  PeakTable peaks{4};
  EXPECT_EQ(peaks.look_up(1).runs, 0U);
  peaks.ended(1, Bytes{160});
  peaks.ended(1, Bytes{10});
  EXPECT_EQ(peaks.look_up(1).bytes, Bytes{150});
  EXPECT_EQ(peaks.look_up(1).runs, 2U);
}

TEST(PeakTable, ARunThatGoesOnRaisesWhatIsKnownButIsNoMeasureByItself) {
  PeakTable peaks{4};
  peaks.so_far(1, Bytes{100});
  EXPECT_EQ(peaks.size(), 0U);
  peaks.ended(1, Bytes{50});
  peaks.so_far(1, Bytes{100});
  peaks.so_far(1, Bytes{70});
  EXPECT_EQ(peaks.look_up(1).bytes, Bytes{100});
  EXPECT_EQ(peaks.look_up(1).runs, 1U);
}

TEST(PeakTable, AtItsLimitTheOneThatHasNotRunForLongestIsForgotten) {
  PeakTable peaks{3};
  for (const std::uint64_t program : {1U, 2U, 3U}) peaks.ended(program, Bytes{10});
  peaks.ended(1, Bytes{10});
  peaks.ended(2, Bytes{10});
  const auto one_more = [&] { peaks.ended(4, Bytes{10}); };
  PENSTOCK_EXPECT_COVERAGE_MARK("the memory of a program was forgotten for another", one_more());
  EXPECT_EQ(peaks.size(), 3U);
  EXPECT_EQ(peaks.look_up(3).runs, 0U);
  for (const std::uint64_t program : {1U, 2U, 4U}) EXPECT_GT(peaks.look_up(program).runs, 0U) << program;
}

TEST(PeakTable, OneProgramIsEnoughToTurnOver) {
  PeakTable peaks{1};
  for (std::uint64_t program = 1; program < 20; ++program) {
    peaks.ended(program, Bytes{10});
    EXPECT_EQ(peaks.look_up(program).runs, 1U);
    EXPECT_EQ(peaks.look_up(program - 1).runs, 0U);
  }
}

}  // namespace
}  // namespace penstock::worker
