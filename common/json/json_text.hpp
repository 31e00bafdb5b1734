// Answers as JSON, for programs.
#pragma once

#include <string>

#include "common/protocol/admin.hpp"

namespace penstock {

/// JSON text without a line end; fields keep their order. Bytes that are no UTF-8 become U+FFFD, numbers that JSON
/// cannot express become null. `indent` < 0: on one line.
std::string to_json(const Value& value, int indent = 2);

}  // namespace penstock
