// Arrays in job files: `array = "1-10"` makes ten subtasks of one entry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/jobfile/document.hpp"
#include "common/base/result.hpp"

namespace penstock::cli {

/// The items of an array: a text of numbers and ranges (`1-10`, `0-90:10`, `1-3,7`; `01-10` keeps its zeros), or a list
/// of texts and integers. At least one, at most `items_max`, no two alike. The error's subject is empty.
Result<std::vector<std::string>> read_array(const DocumentValue& value, std::uint64_t items_max);

/// `text` with `item` in place of each `{i}`; `{{i}}` stands for `{i}` itself.
std::string substitute(std::string_view text, std::string_view item);
/// True if `substitute` would change the text.
bool has_placeholder(std::string_view text);

}  // namespace penstock::cli
