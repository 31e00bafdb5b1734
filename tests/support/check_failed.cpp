// The end of a failed check in tests: told on standard error, so that a death test can match it.
#include <cstdio>
#include <cstdlib>

#include "common/base/check.hpp"

namespace penstock {

void check_failed(const char* condition, const char* file, int line, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s %.*s\n", file, line, condition, static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}

}  // namespace penstock
