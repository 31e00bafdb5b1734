#include "tools/plot/svg_plot.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::tools {
namespace {

TEST(SvgPlot, DrawsOneLineForEachCurveAndEscapesNames) {
  const Plot plot{"a < b", "s", {}, 1, {{"x & y", {{0, 0}, {10, 1}}}, {"z", {{0, 0.5}, {5, NAN}}}}};
  const std::string svg = svg_plot(plot);
  EXPECT_EQ(svg.find("<svg "), 0U);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
  EXPECT_NE(svg.find("points=\"60,280 610,30 \""), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(SvgPlot, NothingToDrawIsStillAPicture) {
  EXPECT_NE(svg_plot({"t", "x", "y", 0, {}}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
