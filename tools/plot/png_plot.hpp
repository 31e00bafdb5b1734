// Curves as a picture that documents and mails show.
#pragma once

#include <string>

#include "tools/plot/svg_plot.hpp"

namespace penstock::tools {

/// A PNG of 760 by 320 pixels, the same picture as `svg_plot` makes. Letters that are not ASCII are boxes.
std::string png_plot(const Plot& plot);

}  // namespace penstock::tools
