// Shared libraries that a process loads because its administrator says so.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// Takes `PATH`, or `PATH@sha256:DIGEST` with 64 hexadecimal digits, and gives the real path of the library, to be
/// loaded from there. The library and its directory must belong to root or to this process's user, nobody else may be
/// able to write to them, and the content must be that of the digest. Errors: InvalidArgument; PermissionDenied.
Result<std::string> trusted_library(const std::string& text);

}  // namespace penstock
