// For the few tests that read sources: which marks there are, which tests.
#pragma once

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The text of a file without the blanks that a formatter may put after an opening parenthesis; empty if there is none.
inline std::string read_source(const std::filesystem::path& path) {
  std::ifstream file{path};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::string compact;
  for (const char c : text)
    if (compact.empty() || compact.back() != '(' || std::isspace(static_cast<unsigned char>(c)) == 0) compact += c;
  return compact;
}

/// Every text that stands between `open` and the next `close`. No regular expressions: GCC's own header for them does
/// not compile without warnings under the sanitizers.
inline std::vector<std::string> between(std::string_view text, std::string_view open, std::string_view close) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at)) {
    at += open.size();
    const std::size_t end = text.find(close, at);
    if (end == std::string_view::npos) break;
    found.emplace_back(text.substr(at, end - at));
    at = end + close.size();
  }
  return found;
}

}  // namespace penstock
