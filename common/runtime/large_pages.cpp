// Where the kernel gives large pages to those who ask (transparent huge pages set to `madvise`), this asks.
#include <sys/mman.h>

#include "common/base/large_array.hpp"

namespace penstock {

void prefer_large_pages(void* begin, std::size_t bytes) {
  // A kernel without them says no, and all is as before.
  static_cast<void>(::madvise(begin, bytes, MADV_HUGEPAGE));
}

}  // namespace penstock
