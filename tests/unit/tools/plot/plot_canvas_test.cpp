#include "tools/plot/plot_canvas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace penstock::tools {
namespace {

class Notes : public PlotCanvas {
 public:
  void line(double, double, double, std::string_view) override { ++lines; }
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view) override {
    curves.push_back(points);
  }
  void text(double, double, Anchor, std::string_view what, std::string_view) override {
    texts += std::string{what} + ";";
  }

  int lines = 0;
  std::vector<std::vector<std::pair<double, double>>> curves;
  std::string texts;
};

TEST(PlotCanvas, ADrawnPlotHasAGridItsWordsAndItsPoints) {
  Notes notes;
  draw_plot({"title", "s", {}, 1, {{"x", {{0, 0}, {10, 1}}}, {"z", {{0, 0.5}, {5, NAN}}}}}, notes);
  EXPECT_EQ(notes.lines, 6);
  EXPECT_EQ(notes.texts.find("title;0;0;0.2;2;"), 0U);
  ASSERT_EQ(notes.curves.size(), 2U);
  EXPECT_EQ(notes.curves[0], (std::vector<std::pair<double, double>>{{60, 280}, {610, 30}}));
  EXPECT_EQ(notes.curves[1].size(), 1U);
}

}  // namespace
}  // namespace penstock::tools
