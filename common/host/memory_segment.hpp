// Memory that one process hands to another without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"

namespace penstock {

/// One block of shared memory (memfd): its maker writes and seals it, then sends it as a descriptor, and from then on
/// it is only read. Moved, never copied. Invariant: once it is sealed, no other process can change or shorten what
/// `bytes` shows.
class MemorySegment {
 public:
  MemorySegment() = default;
  MemorySegment(MemorySegment&& other) noexcept;
  MemorySegment& operator=(MemorySegment&& other) noexcept;
  ~MemorySegment();

  /// Writable memory of that size. Error: ResourceExhausted.
  static Result<MemorySegment> make(std::uint64_t size);
  /// Maps a segment that another process has made and sealed, read-only. Errors: InvalidArgument (not sealed, or
  /// shorter than `size`), ResourceExhausted.
  static Result<MemorySegment> map(Descriptor descriptor, std::uint64_t size);

  /// Seals the segment: from now on no process can write to it or shorten it. Error: Internal.
  Result<void> seal();
  /// Makes a mapped or sealed segment writable for this process only: a written page becomes a private copy. The bytes
  /// do not move. Error: ResourceExhausted; then nothing has changed.
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
