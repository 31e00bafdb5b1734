#include "cli/show/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

ProgressView view(std::uint64_t succeeded, JobState state = JobState::Running) {
  ProgressView made;
  made.name = "night";
  made.state = state;
  made.counts.total = 2000;
  made.counts.succeeded = succeeded;
  made.counts.assigned = 3;
  made.elapsed = 10s;
  return made;
}

TEST(Progress, ABarFitsItsColumns) {
  EXPECT_EQ(progress_bar(view(500), 90),
            "night [######...................]  25%  500/2,000, 3 on workers  10.0 s, about 30.0 s left");
  for (const std::uint32_t columns : {0U, 1U, 20U, 60U, 80U, 200U})
    EXPECT_LE(columns_of(progress_bar(view(500), columns)), columns);
  EXPECT_NE(progress_bar(view(500), 100).find("]  25%  500/2,000, 3 on workers  10.0 s, about 30.0 s left"),
            std::string::npos)
      << progress_bar(view(500), 100);
}

TEST(Progress, IsCompleteOnlyWhenNothingIsLeft) {
  EXPECT_NE(progress_bar(view(1999), 80).find("99%"), std::string::npos);
  EXPECT_NE(progress_bar(view(2000), 80).find("100%"), std::string::npos);
  EXPECT_EQ(expected_rest(view(0)), 0s);
  EXPECT_EQ(expected_rest(view(2000)), 0s);
  EXPECT_NE(progress_bar(ProgressView{}, 80).find("0%"), std::string::npos);
}

TEST(Progress, ALineSaysTheSameInWords) {
  EXPECT_EQ(progress_line(view(500)), "night: running, 500 of 2,000 subtasks succeeded, 3 on workers, 10.0 s");
}

TEST(Progress, ANameCannotWriteToTheTerminal) {
  ProgressView made = view(1);
  made.name = "a\x1b[2J";
  EXPECT_EQ(progress_line(made).substr(0, 7), "a?[2J: ");
}

TEST(ProgressPrinter, PrintsPlainLinesAtMostOnceASecondAndOnlyNews) {
  std::ostringstream out;
  ProgressPrinter printer{out, {}};
  const auto lines = [&] { return std::count(out.view().begin(), out.view().end(), '\n'); };
  printer.update(view(1), instant_at(0s));
  EXPECT_EQ(lines(), 1);
  printer.update(view(2), instant_at(999ms));
  EXPECT_EQ(lines(), 1);
  printer.update(view(2), instant_at(1s));
  EXPECT_EQ(lines(), 2);
  printer.update(view(2), instant_at(9s));
  EXPECT_EQ(lines(), 2);
  printer.finish(view(2000, JobState::Succeeded));
  EXPECT_EQ(lines(), 3);
  EXPECT_EQ(out.str().find('\x1b'), std::string::npos);
}

TEST(ProgressPrinter, RedrawsTheBarInPlace) {
  std::ostringstream out;
  ProgressPrinter printer{out, {.terminal = true, .columns = 60}};
  printer.update(view(1), instant_at(0s));
  printer.update(view(2), instant_at(50ms));
  printer.update(view(2), instant_at(100ms));
  EXPECT_EQ(std::count(out.view().begin(), out.view().end(), '\r'), 2);
  EXPECT_EQ(out.str().find('\n'), std::string::npos);
  printer.clear();
  EXPECT_TRUE(out.str().ends_with("\r\x1b[K"));
  printer.finish(view(2000, JobState::Succeeded));
  EXPECT_TRUE(out.str().ends_with("\n"));
}

}  // namespace
}  // namespace penstock::cli
