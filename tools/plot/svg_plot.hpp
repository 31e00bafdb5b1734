// Curves as a picture for browsers.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock::tools {

struct PlotCurve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< By x.
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  double y_max = 0;  ///< 0: the largest y of all points.
  std::vector<PlotCurve> curves;
};

/// An SVG document of 760 by 320 units. Text is escaped; points that are no numbers are left out.
std::string svg_plot(const Plot& plot);

}  // namespace penstock::tools
