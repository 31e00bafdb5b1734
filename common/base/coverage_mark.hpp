// Marks for rare branches: a test proves that it reached one, the simulator proves that its seeds reach all.
#pragma once

#include <string_view>

namespace penstock {

/// Counts one passage. Defined in `tests/support/coverage_marks.cpp`, and weak so that a binary without that file
/// links. Only builds with `PENSTOCK_COVERAGE_MARKS` ever call it.
[[gnu::weak]] void coverage_mark_hit(std::string_view mark);

}  // namespace penstock

/// Marks a branch that is rare but must work: `PENSTOCK_COVERAGE_MARK("forward lost the race");`. The text is a
/// literal, is used nowhere else, and one unit test names it in `PENSTOCK_EXPECT_COVERAGE_MARK`; `scripts/tidy` checks
/// all three. Release builds contain no call.
#ifdef PENSTOCK_COVERAGE_MARKS
#define PENSTOCK_COVERAGE_MARK(mark) \
  (&::penstock::coverage_mark_hit != nullptr ? ::penstock::coverage_mark_hit("" mark) : static_cast<void>(0))
#else
#define PENSTOCK_COVERAGE_MARK(mark) static_cast<void>("" mark)
#endif
