// Arrays with scattered accesses, in large pages.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace penstock {

/// Called for whole pages of `kLargePage` that have just been allocated. Defined once per program, by
/// `common/host/large_pages.cpp` in the binaries and by `tests/support/large_pages.cpp` in tests: a core itself
/// cannot call the kernel.
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
    void* begin = ::operator new (whole_pages(bytes), std::align_val_t{kLargePage});
    prefer_large_pages(begin, whole_pages(bytes));
    return static_cast<T*>(begin);
  }
  void deallocate(T* begin, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    ::operator delete (begin, std::align_val_t{is_large(bytes) ? kLargePage : alignof(T)});
  }

  friend bool operator==(const LargeArrayAllocator&, const LargeArrayAllocator&) { return true; }

 private:
  /// Rounding up wastes at most a quarter.
  static constexpr bool is_large(std::size_t bytes) { return bytes >= 3 * kLargePage / 2; }
  static constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + kLargePage - 1) / kLargePage * kLargePage;
  }
};

template <class T>
using LargeArray = std::vector<T, LargeArrayAllocator<T>>;

}  // namespace penstock
