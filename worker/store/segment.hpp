// Shared memory for data: memory files that processes of one host hand to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/runtime/descriptor.hpp"

namespace penstock::worker {

/// A memory file (memfd) and its mapping in this process. It has no name: it is gone with the last process that has its
/// handle or a mapping of it, so a process that is killed leaves nothing behind.
///
/// One process writes it, once; sealed, nobody can write, shrink or grow it any more, whoever has its handle, and every
/// process may map it without fear. Not thread-safe; moved, never copied.
class Segment {
 public:
  /// Zeroed and writable here. REQUIRES: bytes > 0. Error: ResourceExhausted.
  static Result<Segment> create(std::size_t bytes);
  /// One that another process has written, mapped read-only here: its first `bytes` bytes. A handle that is not sealed
  /// yet is sealed now. Errors: InvalidArgument (no memory file, shorter than that, or its writer still has it mapped
  /// writable), ResourceExhausted.
  static Result<Segment> adopt(Descriptor handle, std::size_t bytes);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  /// It is complete: whoever writes it in this process dies of it. Others could still be given a handle to write with.
  void protect();
  /// Complete, and nobody in any process writes from now on. The bytes stay where they are, for whoever reads them
  /// meanwhile. Error: ResourceExhausted; it is as before then.
  Result<void> seal();
  /// What is sealed may be written from now on; nobody else sees it: the pages that are written become this process's own.
  /// REQUIRES: sealed. Error: ResourceExhausted.
  Result<void> write_privately();
  /// Its first bytes are to be written once more; they are what they were. REQUIRES: 0 < bytes <= its own; not sealed;
  /// nobody reads it. Error: ResourceExhausted; then it is of no use any more.
  Result<void> reopen(std::size_t bytes);
  bool sealed() const { return sealed_; }

  std::byte* data() { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// To be handed to another process, which maps it (`PROT_READ`, `MAP_PRIVATE`) or adopts it.
  const Descriptor& handle() const { return handle_; }
  /// What is mapped stays so; nobody else can be given it any more.
  void close_handle() { handle_.close(); }
  /// Only the handle; the mapping goes.
  Descriptor take_handle() && { return std::move(handle_); }

 private:
  Segment(Descriptor handle, std::byte* data, std::size_t size, bool sealed);
  void unmap();

  Descriptor handle_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool sealed_ = false;
};

/// What came out of a socket at once.
struct Received {
  std::size_t bytes = 0;  ///< 0: the other side has closed it.
  std::vector<Descriptor> handles;
};
/// Handles that one call can carry; the kernel takes no more than 253.
inline constexpr std::size_t kHandlesInACallMax = 64;

/// Writes to a stream socket of the Unix family, handles riding with the first byte; returns how many bytes went, 0 if
/// a non-blocking socket takes nothing now. If it is more than 0 the handles went too. REQUIRES: `bytes` is not empty.
/// Errors: LimitExceeded for too many handles, Disconnected.
Result<std::size_t> send_handles(const Descriptor& socket, std::span<const std::byte> bytes,
                                 std::span<const int> handles);
/// Reads what is there into `bytes`, with the handles that came along; they are closed in programs that we start.
/// Errors: WrongState if a non-blocking socket has nothing to read, Disconnected.
Result<Received> receive_handles(const Descriptor& socket, std::span<std::byte> bytes);

}  // namespace penstock::worker
