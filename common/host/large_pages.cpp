// Asks for large pages where the kernel gives them on request (transparent huge pages set to `madvise`).
#include <sys/mman.h>

#include "common/base/large_array.hpp"

namespace penstock {

void prefer_large_pages(void* begin, std::size_t bytes) {
  // A kernel without large pages refuses, and nothing changes.
  static_cast<void>(::madvise(begin, bytes, MADV_HUGEPAGE));
}

}  // namespace penstock
