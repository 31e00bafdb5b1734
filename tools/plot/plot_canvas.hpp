// The surface that a plot is drawn on.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tools/plot/svg_plot.hpp"

namespace penstock::tools {

inline constexpr double kPlotWidth = 760;
inline constexpr double kPlotHeight = 320;

/// Positions are in units from the upper left corner; colours are `#rrggbb`, at most 16 different ones.
class PlotCanvas {
 public:
  enum class Anchor { Start, Middle, End };

  virtual ~PlotCanvas() = default;
  virtual void line(double x_from, double x_to, double y, std::string_view colour) = 0;
  virtual void curve(const std::vector<std::pair<double, double>>& points, std::string_view colour) = 0;
  /// `y` is the base line of the letters.
  virtual void text(double x, double y, Anchor anchor, std::string_view what, std::string_view colour) = 0;
};

/// Points with coordinates that are no numbers are left out.
void draw_plot(const Plot& plot, PlotCanvas& canvas);

}  // namespace penstock::tools
