// Counts of the marks of common/base/coverage_mark.hpp: for tests, and for the simulator over its seeds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace penstock {

/// How often `mark` was passed in this process since the last reset. Zero in builds without marks.
std::uint64_t coverage_mark_count(std::string_view mark);

/// All marks passed since the last reset, with their counts. `scripts/tidy --coverage-marks` lists those that exist.
std::map<std::string, std::uint64_t, std::less<>> coverage_mark_counts();

void reset_coverage_marks();

/// False in builds where a mark is nothing (release): a test then checks what the branch does, not that it was taken.
constexpr bool coverage_marks_enabled() {
#ifdef PENSTOCK_COVERAGE_MARKS
  return true;
#else
  return false;
#endif
}

}  // namespace penstock

/// Expects that `statement` passes `mark`: `PENSTOCK_EXPECT_COVERAGE_MARK("lost the race", handle(late_claim))`.
#define PENSTOCK_EXPECT_COVERAGE_MARK(mark, statement)                                   \
  do {                                                                                   \
    const std::uint64_t passed_before = ::penstock::coverage_mark_count(mark);           \
    statement;                                                                           \
    if (::penstock::coverage_marks_enabled()) {                                          \
      EXPECT_GT(::penstock::coverage_mark_count(mark), passed_before) << "never passed: " << (mark); \
    }                                                                                    \
  } while (false)
