// Texts that list several things.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace penstock {

/// The parts of a text between separators.
inline std::vector<std::string> parts_of(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

}  // namespace penstock
