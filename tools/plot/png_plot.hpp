// Curves as a picture for documents and mails.
#pragma once

#include <string>

#include "tools/plot/svg_plot.hpp"

namespace penstock::tools {

/// A PNG of 760 by 320 pixels with the same picture as `svg_plot`. Letters that are not ASCII are boxes.
std::string png_plot(const Plot& plot);

}  // namespace penstock::tools
