#include "cli/show/timeline.hpp"

#include <gtest/gtest.h>

#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

struct Slot {
  std::uint32_t worker = 0;
  std::uint16_t band = 0;
  std::uint16_t lane = 0;
};

struct Times {
  std::uint64_t started_us = 0;
  std::uint64_t ended_us = 0;
  std::uint64_t arrived_us = 1000;
};

SubtaskTrace trace(Slot slot, const Times& times) {
  SubtaskTrace made;
  made.worker = WorkerId{slot.worker};
  made.run.band = BandIndex{slot.band};
  made.run.lane = SlotIndex{slot.lane};
  made.run.arrived_us = made.run.ready_us = times.arrived_us;
  made.run.started_us = times.started_us;
  made.run.ended_us = times.ended_us;
  return made;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

constexpr TimelineOptions kPlain{.columns = 54, .rows_max = 24, .unicode = false, .band_names = {}};

TEST(Timeline, DrawsARowForEachSlotWithTheShareOfItsTime) {
  // 40 cells of 100 us.
  const std::vector<SubtaskTrace> traces{trace({0, 0, 0}, {1000, 3000}), trace({0, 0, 1}, {3000, 5000}),
                                         trace({0, 0, 0}, {4000, 4050})};
  const auto lines = lines_of(draw_timeline(traces, kPlain));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "w0/0.0 |####################          :         |  51%");
  EXPECT_EQ(lines[1], "w0/0.1 |                    ####################|  50%");
  EXPECT_EQ(lines[2], "       ++-------------------+-------------------");
  EXPECT_EQ(lines[3], "        0 s                 2 ms");
}

TEST(Timeline, EachWorkerHasItsOwnClock) {
  const std::vector<SubtaskTrace> traces{trace({0, 0, 0}, {1000, 2000}), trace({1, 0, 0}, {900'000, 901'000, 900'000})};
  const auto lines = lines_of(draw_timeline(traces, kPlain));
  EXPECT_EQ(lines[0].substr(4), lines[1].substr(4));
  EXPECT_NE(lines[0].find("100%"), std::string::npos);
}

TEST(Timeline, WhatIsTooShortIsDrawnAllTheSame) {
  const std::vector<SubtaskTrace> traces{trace({0, 0, 0}, {1000, 1000}), trace({0, 0, 1}, {1000, 101'000})};
  EXPECT_EQ(lines_of(draw_timeline(traces, kPlain))[0].substr(0, 10), "w0/0.0 |. ");
}

TEST(Timeline, TooManyRowsAreDrawnTogether) {
  std::vector<SubtaskTrace> traces;
  for (std::uint32_t worker = 0; worker < 6; ++worker)
    for (std::uint16_t lane = 0; lane < 4; ++lane)
      traces.push_back(trace({worker, 0, lane}, {1000, lane < 2 ? 2000U : 1500U}));
  TimelineOptions options = kPlain;
  options.rows_max = 24;
  EXPECT_EQ(lines_of(draw_timeline(traces, options)).size(), 26U);
  options.rows_max = 23;
  auto lines = lines_of(draw_timeline(traces, options));
  EXPECT_EQ(lines.size(), 8U);
  EXPECT_EQ(lines[0].substr(0, 7), "w0/0 |#");
  EXPECT_NE(lines[0].find("75%"), std::string::npos) << lines[0];
  options.rows_max = 3;
  lines = lines_of(draw_timeline(traces, options));
  EXPECT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].substr(0, 3), "w0 ");
  EXPECT_EQ(lines[2].substr(0, 6), "others");
  EXPECT_NE(lines[2].find("75%"), std::string::npos) << lines[2];
}

TEST(Timeline, LinesAreAsWideAsTheTerminal) {
  const std::vector<SubtaskTrace> traces{trace({0, 0, 0}, {1000, 2'345'678}), trace({0, 1, 0}, {1000, 30'000})};
  TimelineOptions options;
  options.band_names = {{BandId{WorkerId{0}, BandIndex{0}}, "host/numa-0"},
                        {BandId{WorkerId{0}, BandIndex{1}}, "a very long name of a band indeed"}};
  for (const std::uint32_t columns : {1U, 40U, 80U, 133U}) {
    options.columns = columns;
    for (const std::string& line : lines_of(draw_timeline(traces, options)))
      EXPECT_LE(columns_of(line), std::max(columns, 40U)) << line;
  }
}

TEST(Timeline, SenselessTracesDrawNothingInsteadOfCrashing) {
  EXPECT_EQ(draw_timeline({}, {}), "");
  EXPECT_FALSE(draw_timeline({trace({0, 0, 0}, {0, 0, 0})}, {}).empty());
  EXPECT_FALSE(draw_timeline({trace({0, 0, 0}, {500, 200}), trace({0, 0, 0}, {UINT64_MAX, UINT64_MAX})}, {}).empty());
}

}  // namespace
}  // namespace penstock::cli
