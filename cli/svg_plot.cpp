#include "cli/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace penstock::cli {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 320;
constexpr double kLeft = 60;
constexpr double kRight = 150;  ///< Room for the names of the curves.
constexpr double kTop = 30;
constexpr double kBottom = 40;
constexpr int kTicks = 5;
constexpr std::array<std::string_view, 6> kColours = {"#1b6ca8", "#d1495b", "#2e933c", "#8e5aa8", "#c77d0a", "#555555"};

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char each : text) {
    if (each == '&')
      safe += "&amp;";
    else if (each == '<')
      safe += "&lt;";
    else if (each == '>')
      safe += "&gt;";
    else if (each == '"')
      safe += "&quot;";
    else
      safe += each;
  }
  return safe;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + std::string{anchor} + "\">" +
         escaped(text) + "</text>\n";
}

struct Range {
  double x_min = 0;
  double x_max = 1;
  double y_max = 1;

  double across(double x) const { return kLeft + (kWidth - kLeft - kRight) * (x - x_min) / (x_max - x_min); }
  double down(double y) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * std::min(y, y_max) / y_max; }
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

std::string svg_plot(const Plot& plot) {
  const Range range = range_of(plot);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 320\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"760\" height=\"320\" fill=\"white\"/>\n";
  svg += label(kLeft, 18, "start", plot.title);
  for (int i = 0; i <= kTicks; ++i) {
    const double x = range.x_min + (range.x_max - range.x_min) * i / kTicks;
    const double y = range.y_max * i / kTicks;
    svg += "<path d=\"M" + number(kLeft) + " " + number(range.down(y)) + "H" + number(kWidth - kRight) +
           "\" stroke=\"#dddddd\"/>\n";
    svg += label(kLeft - 6, range.down(y) + 4, "end", number(y));
    svg += label(range.across(x), kHeight - kBottom + 15, "middle", number(x));
  }
  svg += label((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", plot.x_label);
  svg += label(kWidth - kRight, 18, "end", plot.y_label);
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const std::string colour{kColours[i % kColours.size()]};
    svg += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + colour + "\" points=\"";
    for (const auto& point : plot.curves[i].points)
      if (drawable(point)) svg += number(range.across(point.first)) + "," + number(range.down(point.second)) + " ";
    svg += "\"/>\n<g fill=\"" + colour + "\">" +
           label(kWidth - kRight + 8, kTop + 16 * (static_cast<double>(i) + 1), "start", plot.curves[i].name) +
           "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace penstock::cli
