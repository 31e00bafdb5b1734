// The JSON half of `document.hpp`; only its other half includes this.
#pragma once

#include <string>
#include <string_view>

#include "cli/jobfile/document.hpp"

namespace penstock::cli {

Result<DocumentValue> parse_json(std::string_view text, const std::string& name, std::uint32_t depth_max);

}  // namespace penstock::cli
