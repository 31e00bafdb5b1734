#include "tools/plot/png_plot.hpp"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

TEST(PngPlot, IsAPngOfTheSizeOfThePlot) {
  const std::string png = png_plot({"t", "s", {}, 1, {{"x", {{0, 0}, {10, 1}}}}});
  const std::string begin{"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\xf8\0\0\x01\x40", 24};
  EXPECT_EQ(png.substr(0, begin.size()), begin);
  // Every reader knows this end: no content, and its check sum.
  const std::string end{"\0\0\0\0IEND\xae\x42\x60\x82", 12};
  EXPECT_EQ(png.substr(png.size() - end.size()), end);
}

TEST(PngPlot, WhatIsDrawnMakesADifference) {
  const Plot nothing{"t", "s", {}, 1, {}};
  const Plot curve{"t", "s", {}, 1, {{"", {{0, 0}, {10, 1}}}}};
  EXPECT_NE(png_plot(nothing), png_plot(curve));
  EXPECT_EQ(png_plot(curve), png_plot(curve));
  // Letters that nobody has, and points beyond the edge.
  EXPECT_FALSE(png_plot({"\xc3\xa4\x01", "s", {}, 1, {{"x", {{0, -9}, {10, 99}}}}}).empty());
}

}  // namespace
}  // namespace penstock::tools
