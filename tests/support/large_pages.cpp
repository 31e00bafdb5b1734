// Tests take memory as it comes.
#include "common/base/large_array.hpp"

namespace penstock {

void prefer_large_pages(void*, std::size_t) {}

}  // namespace penstock
