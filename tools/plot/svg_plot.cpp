#include "tools/plot/svg_plot.hpp"

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/plot/plot_canvas.hpp"

namespace penstock::tools {
namespace {

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

class SvgCanvas : public PlotCanvas {
 public:
  void line(double x_from, double x_to, double y, std::string_view colour) override {
    svg_ += "<path d=\"M" + number(x_from) + " " + number(y) + "H" + number(x_to) + "\" stroke=\"" +
            std::string{colour} + "\"/>\n";
  }
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view colour) override {
    svg_ += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string{colour} + "\" points=\"";
    for (const auto& [x, y] : points) svg_ += number(x) + "," + number(y) + " ";
    svg_ += "\"/>\n";
  }
  void text(double x, double y, Anchor anchor, std::string_view what, std::string_view colour) override {
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

}  // namespace

std::string svg_plot(const Plot& plot) {
  SvgCanvas canvas;
  draw_plot(plot, canvas);
  return std::move(canvas).done();
}

}  // namespace penstock::tools
