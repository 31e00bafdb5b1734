// Splits a line of the admin shell into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::cli {

/// Words are separated by blanks; single or double quotes keep blanks in a word, a backslash keeps the next character;
/// from a word that begins with `#` on, the line is a comment. Error: InvalidArgument for a quote that is not closed.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace penstock::cli
