// Memory that is handed from process to process without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.hpp"
#include "common/runtime/descriptor.hpp"

namespace penstock {

/// One block of shared memory (memfd): written by whoever made it, sealed, then sent as a descriptor and only read.
/// Moved, never copied. Invariant: what `bytes` shows is changed by nobody else, and cannot become shorter, once it is
/// sealed.
class MemorySegment {
 public:
  MemorySegment() = default;
  MemorySegment(MemorySegment&& other) noexcept;
  MemorySegment& operator=(MemorySegment&& other) noexcept;
  ~MemorySegment();

  /// Writable memory of that size. Error: ResourceExhausted.
  static Result<MemorySegment> make(std::uint64_t size);
  /// Maps what another process has made and sealed, read-only. Errors: InvalidArgument (not sealed, or shorter than
  /// `size`), ResourceExhausted.
  static Result<MemorySegment> map(Descriptor descriptor, std::uint64_t size);

  /// Nobody can write to it or shorten it from now on. Error: Internal.
  Result<void> seal();
  /// It may be written here from now on, once it is mapped or sealed: a page that is written is copied first, and
  /// nobody else sees it. The bytes stay where they are. Error: ResourceExhausted; it is as before then.
  Result<void> write_privately();
  std::byte* data() { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const Descriptor& descriptor() const { return descriptor_; }
  explicit operator bool() const { return static_cast<bool>(descriptor_); }

 private:
  MemorySegment(Descriptor descriptor, std::byte* data, std::size_t size);
  void unmap();

  Descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock
