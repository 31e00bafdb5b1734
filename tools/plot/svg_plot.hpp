// Curves as a picture that every browser shows.
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
  double y_max = 0;  ///< 0: that of the largest point.
  std::vector<PlotCurve> curves;
};

/// An SVG document of 760 by 320 units. Text is escaped; points that are no numbers are left out.
std::string svg_plot(const Plot& plot);

}  // namespace penstock::tools
