#include "common/host/memory_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace penstock {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
/// Seals that a reader requires: without these two its memory could vanish or change during a read.
constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_WRITE;

Error exhausted(std::uint64_t size) {
  return {ErrorCode::ResourceExhausted, "segment of " + std::to_string(size) + " bytes", std::strerror(errno),
          "free memory, or raise the limit of open files"};
}

// Maps the same pages, which are never copied as long as nothing is written. Kernels before 6.7 refuse a shared mapping
// of a sealed file, and it could never be written. MAP_NORESERVE sets no memory aside for later writes.
void* map_sealed(const Descriptor& descriptor, std::uint64_t size) {
  return ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, descriptor.get(), 0);
}

}  // namespace

MemorySegment::MemorySegment(Descriptor descriptor, std::byte* data, std::size_t size)
    : descriptor_(std::move(descriptor)), data_(data), size_(size) {}

MemorySegment::MemorySegment(MemorySegment&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MemorySegment& MemorySegment::operator=(MemorySegment&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  descriptor_ = std::move(other.descriptor_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

MemorySegment::~MemorySegment() { unmap(); }

void MemorySegment::unmap() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
}

Result<MemorySegment> MemorySegment::make(std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    errno = ENOMEM;
    return exhausted(size);
  }
  Descriptor descriptor{::memfd_create("penstock-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!descriptor || ::ftruncate(descriptor.get(), static_cast<off_t>(size)) != 0) return exhausted(size);
  if (size == 0) return MemorySegment{std::move(descriptor), nullptr, 0};
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) return exhausted(size);
  return MemorySegment{std::move(descriptor), static_cast<std::byte*>(data), size};
}

Result<MemorySegment> MemorySegment::map(Descriptor descriptor, std::uint64_t size) {
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kNeeded) != kNeeded)
    return Error{ErrorCode::InvalidArgument, "segment", "is not sealed: it could change while it is read", {}};
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) < size)
    return Error{ErrorCode::InvalidArgument, "segment", "is shorter than was said", {}};
  if (size == 0) return MemorySegment{std::move(descriptor), nullptr, 0};
  void* data = map_sealed(descriptor, size);
  if (data == MAP_FAILED) return exhausted(size);
  return MemorySegment{std::move(descriptor), static_cast<std::byte*>(data), size};
}

// The kernel refuses the write seal while a writable mapping exists, so the segment is mapped again.
Result<void> MemorySegment::seal() {
  unmap();
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, kSeals) != 0)
    return Error{ErrorCode::Internal, "segment", std::string{"cannot be sealed: "} + std::strerror(errno), {}};
  if (size_ == 0) return {};
  void* data = map_sealed(descriptor_, size_);
  if (data == MAP_FAILED) return exhausted(size_);
  data_ = static_cast<std::byte*>(data);
  return {};
}

Result<void> MemorySegment::write_privately() {
  if (data_ != nullptr && ::mprotect(data_, size_, PROT_READ | PROT_WRITE) != 0) return exhausted(size_);
  return {};
}

}  // namespace penstock
