// Shared memory for data: memory files that processes of one host hand to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"

namespace penstock::worker {

/// A memory file (memfd) and its mapping in this process. The file has no name and goes with the last process that has
/// its handle or a mapping of it, so a killed process leaves nothing behind.
///
/// One process writes it, once. After it is sealed no process can write, shrink or grow it, whatever handles exist, and
/// every process may map it safely. Not thread-safe; moved, never copied.
class Segment {
 public:
  /// Zeroed and writable here. REQUIRES: bytes > 0. Error: ResourceExhausted.
  static Result<Segment> create(std::size_t bytes);
  /// A segment that another process has written, mapped read-only here: its first `bytes` bytes. A handle that is not
  /// sealed yet is sealed now. Errors: InvalidArgument (no memory file, shorter than that, or its writer still has it
  /// mapped writable), ResourceExhausted.
  static Result<Segment> adopt(Descriptor handle, std::size_t bytes);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  /// The segment is complete: a write by this process is a fault that ends it. Another process may still get a handle
  /// to write with.
  void protect();
  /// The segment is complete, and from now on no process can write it. The bytes do not move, so concurrent readers are
  /// safe. Error: ResourceExhausted; then nothing has changed.
  Result<void> seal();
  /// Makes a sealed segment writable for this process only: written pages become private copies. REQUIRES: sealed.
  /// Error: ResourceExhausted.
  Result<void> write_privately();
  /// The first `bytes` bytes may be written once more; they keep their content. REQUIRES: 0 < bytes <= its own; not
  /// sealed; without readers. Error: ResourceExhausted; then it is of no use any more.
  Result<void> reopen(std::size_t bytes);
  bool sealed() const { return sealed_; }

  std::byte* data() { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// For another process, which maps it (`PROT_READ`, `MAP_PRIVATE`) or adopts it.
  const Descriptor& handle() const { return handle_; }
  /// Mappings stay; no further process can be given the segment.
  void close_handle() { handle_.close(); }
  /// Keeps the handle only; the mapping goes.
  Descriptor take_handle() && { return std::move(handle_); }

 private:
  Segment(Descriptor handle, std::byte* data, std::size_t size, bool sealed);
  void unmap();

  Descriptor handle_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool sealed_ = false;
};

/// The result of one read from a socket.
struct Received {
  std::size_t bytes = 0;  ///< 0: the other side has closed it.
  std::vector<Descriptor> handles;
};
/// Handles that one call can carry; the kernel takes no more than 253.
inline constexpr std::size_t kHandlesInACallMax = 64;

/// Writes to a stream socket of the Unix family; the handles go with the first byte. Returns how many bytes went, 0 if
/// a non-blocking socket takes nothing now; if it is more than 0 the handles went too. REQUIRES: `bytes` is not empty.
/// Errors: LimitExceeded for too many handles, Disconnected.
Result<std::size_t> send_handles(const Descriptor& socket, std::span<const std::byte> bytes,
                                 std::span<const int> handles);
/// Reads the available bytes into `bytes`, with the handles that came along; they are closed in programs that we start.
/// Errors: WrongState if a non-blocking socket has nothing to read, Disconnected.
Result<Received> receive_handles(const Descriptor& socket, std::span<std::byte> bytes);

}  // namespace penstock::worker
