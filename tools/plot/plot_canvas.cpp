#include "tools/plot/plot_canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace penstock::tools {
namespace {

constexpr double kLeft = 60;
constexpr double kRight = 150;  ///< Room for the names of the curves.
constexpr double kTop = 30;
constexpr double kBottom = 40;
constexpr int kTicks = 5;
constexpr std::array<std::string_view, 6> kColours = {"#1b6ca8", "#d1495b", "#2e933c", "#8e5aa8", "#c77d0a", "#555555"};
constexpr std::string_view kInk = "#000000";
constexpr std::string_view kGrid = "#dddddd";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

struct Range {
  double x_min = 0;
  double x_max = 1;
  double y_max = 1;

  double across(double x) const { return kLeft + (kPlotWidth - kLeft - kRight) * (x - x_min) / (x_max - x_min); }
  double down(double y) const {
    return kPlotHeight - kBottom - (kPlotHeight - kTop - kBottom) * std::min(y, y_max) / y_max;
  }
};

bool drawable(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

Range range_of(const Plot& plot) {
  Range range;
  bool any = false;
  double y_max = 0;
  for (const PlotCurve& curve : plot.curves)
    for (const auto& point : curve.points) {
      if (!drawable(point)) continue;
      range.x_min = any ? std::min(range.x_min, point.first) : point.first;
      range.x_max = any ? std::max(range.x_max, point.first) : point.first;
      y_max = std::max(y_max, point.second);
      any = true;
    }
  if (range.x_max <= range.x_min) range.x_max = range.x_min + 1;
  range.y_max = plot.y_max > 0 ? plot.y_max : y_max > 0 ? y_max : 1;
  return range;
}

}  // namespace

void draw_plot(const Plot& plot, PlotCanvas& canvas) {
  using Anchor = PlotCanvas::Anchor;
  const Range range = range_of(plot);
  canvas.text(kLeft, 18, Anchor::Start, plot.title, kInk);
  for (int i = 0; i <= kTicks; ++i) {
    const double x = range.x_min + (range.x_max - range.x_min) * i / kTicks;
    const double y = range.y_max * i / kTicks;
    canvas.line(kLeft, kPlotWidth - kRight, range.down(y), kGrid);
    canvas.text(kLeft - 6, range.down(y) + 4, Anchor::End, number(y), kInk);
    canvas.text(range.across(x), kPlotHeight - kBottom + 15, Anchor::Middle, number(x), kInk);
  }
  canvas.text((kLeft + kPlotWidth - kRight) / 2, kPlotHeight - 8, Anchor::Middle, plot.x_label, kInk);
  canvas.text(kPlotWidth - kRight, 18, Anchor::End, plot.y_label, kInk);
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    std::vector<std::pair<double, double>> points;
    for (const auto& point : plot.curves[i].points)
      if (drawable(point)) points.emplace_back(range.across(point.first), range.down(point.second));
    canvas.curve(points, colour);
    canvas.text(kPlotWidth - kRight + 8, kTop + 16 * (static_cast<double>(i) + 1), Anchor::Start, plot.curves[i].name,
                colour);
  }
}

}  // namespace penstock::tools
