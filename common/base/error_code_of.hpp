// Error codes by their number on the wire and by their name in other languages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error_code.hpp"

namespace penstock {

/// None: an unknown number, e.g. of a later version.
std::optional<ErrorCode> error_code_of(std::uint16_t number);

/// The code with the name that `to_string` returns.
std::optional<ErrorCode> error_code_of(std::string_view name);

}  // namespace penstock
