// Announces the address of a daemon in a file.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace penstock::cli {

/// Writes `address` and a newline to `path`, whole or not at all; an empty path does nothing. Error: InvalidArgument.
Result<void> announce_address(const std::string& path, const std::string& address);

}  // namespace penstock::cli
