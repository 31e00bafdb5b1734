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

TEST(SvgPlot, AxesHaveTheirTicks) {
  const std::string svg = svg_plot({"t", "x", "y", 1, {{"a", {{0, 0}, {10, 1}}}}});
  for (const char* tick :
       {">0</text>", ">0.2</text>", ">0.8</text>", ">1</text>", ">2</text>", ">8</text>", ">10</text>"})
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
  EXPECT_EQ(svg.find(">1.2</text>"), std::string::npos);
}

TEST(SvgPlot, NothingToDrawIsStillAPicture) {
  EXPECT_NE(svg_plot({"t", "x", "y", 0, {}}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
