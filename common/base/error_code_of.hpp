// Codes of refusals by what crosses borders: their number on the wire, their name in other languages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error_code.hpp"

namespace penstock {

/// None: a number that means nothing here, e.g. of a later version.
std::optional<ErrorCode> error_code_of(std::uint16_t number);

/// By the name that `to_string` gives.
std::optional<ErrorCode> error_code_of(std::string_view name);

}  // namespace penstock
