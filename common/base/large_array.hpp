// Arrays with scattered accesses, in large pages.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace penstock {

/// Called for memory that has just been allocated and begins at a multiple of `kLargePage`; the rest at its end has
/// small pages. Defined once per program, by `common/host/large_pages.cpp` in the binaries and by
/// `tests/support/large_pages.cpp` in tests: a core itself cannot call the kernel.
void prefer_large_pages(void* begin, std::size_t bytes);

inline constexpr std::size_t kLargePage = std::size_t{2} << 20U;

/// Memory in large pages if it is large enough. With pages of 4 KiB every access to an array of many megabytes is two
/// accesses to memory, one of them for the page table: up to a third of the cost in a virtual machine.
template <class T>
class LargeArrayAllocator {
 public:
  using value_type = T;

  LargeArrayAllocator() = default;
  template <class Other>
  explicit LargeArrayAllocator(const LargeArrayAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (!is_large(bytes)) return static_cast<T*>(::operator new (bytes, std::align_val_t{alignof(T)}));
    void* begin = ::operator new (rounded(bytes), std::align_val_t{kLargePage});
    prefer_large_pages(begin, rounded(bytes));
    return static_cast<T*>(begin);
  }
  void deallocate(T* begin, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    ::operator delete (begin, std::align_val_t{is_large(bytes) ? kLargePage : alignof(T)});
  }

  friend bool operator==(const LargeArrayAllocator&, const LargeArrayAllocator&) { return true; }

 private:
  static constexpr bool is_large(std::size_t bytes) { return bytes >= kLargePage; }
  /// To whole large pages, unless that would waste more than a quarter.
  static constexpr std::size_t rounded(std::size_t bytes) {
    const std::size_t whole = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    return (whole - bytes) * 4 > whole ? bytes : whole;
  }
};

template <class T>
using LargeArray = std::vector<T, LargeArrayAllocator<T>>;

}  // namespace penstock
