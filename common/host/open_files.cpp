#include "common/host/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace penstock {

std::size_t raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOpenFilesMax;
  rlimit raised = limit;
  raised.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, kOpenFilesMax));
  if (raised.rlim_cur != limit.rlim_cur && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace penstock
