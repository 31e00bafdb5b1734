// Assertions about our own mistakes. On in every build; never applied to input of a user, a peer or a file.
#pragma once

#include <string_view>

namespace penstock {

/// Prints `condition`, the place and `detail`, then aborts. Defined once per program: by `common/host/log.cpp` in
/// the binaries and by `tests/support/check_failed.cpp` in tests, because a core itself has no access to output.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::string_view detail);

}  // namespace penstock

/// Aborts with a message when `condition` is false. The state comes back from the journal, so dying is safe, and
/// continuing with broken bookkeeping is not. An expression of type void.
#define PENSTOCK_CHECK(condition) PENSTOCK_CHECK_MSG(condition, ::std::string_view{})

/// The same with a text, which is built only when the check fails.
#define PENSTOCK_CHECK_MSG(condition, text)                 \
  (__builtin_expect(static_cast<bool>(condition), 1)        \
       ? static_cast<void>(0)                               \
       : ::penstock::check_failed(#condition, __FILE__, __LINE__, (text)))
