#include "tools/plot/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::tools {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 320;
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

/// Positions are in units from the upper left corner; colours are `#rrggbb`.
class SvgCanvas {
 public:
  enum class Anchor { Start, Middle, End };

  void line(double x_from, double x_to, double y, std::string_view colour) {
    svg_ += "<path d=\"M" + number(x_from) + " " + number(y) + "H" + number(x_to) + "\" stroke=\"" +
            std::string{colour} + "\"/>\n";
  }
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view colour) {
    svg_ += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string{colour} + "\" points=\"";
    for (const auto& [x, y] : points) svg_ += number(x) + "," + number(y) + " ";
    svg_ += "\"/>\n";
  }
  /// `y` is the base line of the letters.
  void text(double x, double y, Anchor anchor, std::string_view what, std::string_view colour) {
    constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    svg_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" +
            std::string{kAnchors[static_cast<int>(anchor)]} + "\" fill=\"" + std::string{colour} + "\">" +
            escaped(what) + "</text>\n";
  }
  std::string done() && { return std::move(svg_) + "</svg>\n"; }

 private:
  std::string svg_ =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 320\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"760\" height=\"320\" fill=\"white\"/>\n";
};

void draw_plot(const Plot& plot, SvgCanvas& canvas) {
  using Anchor = SvgCanvas::Anchor;
  const Range range = range_of(plot);
  canvas.text(kLeft, 18, Anchor::Start, plot.title, kInk);
  for (int i = 0; i <= kTicks; ++i) {
    const double x = range.x_min + (range.x_max - range.x_min) * i / kTicks;
    const double y = range.y_max * i / kTicks;
    canvas.line(kLeft, kWidth - kRight, range.down(y), kGrid);
    canvas.text(kLeft - 6, range.down(y) + 4, Anchor::End, number(y), kInk);
    canvas.text(range.across(x), kHeight - kBottom + 15, Anchor::Middle, number(x), kInk);
  }
  canvas.text((kLeft + kWidth - kRight) / 2, kHeight - 8, Anchor::Middle, plot.x_label, kInk);
  canvas.text(kWidth - kRight, 18, Anchor::End, plot.y_label, kInk);
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    std::vector<std::pair<double, double>> points;
    for (const auto& point : plot.curves[i].points)
      if (drawable(point)) points.emplace_back(range.across(point.first), range.down(point.second));
    canvas.curve(points, colour);
    canvas.text(kWidth - kRight + 8, kTop + 16 * (static_cast<double>(i) + 1), Anchor::Start, plot.curves[i].name,
                colour);
  }
}

}  // namespace

std::string svg_plot(const Plot& plot) {
  SvgCanvas canvas;
  draw_plot(plot, canvas);
  return std::move(canvas).done();
}

}  // namespace penstock::tools
