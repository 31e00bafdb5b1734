#include "worker/store/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace penstock::worker {
namespace {

// Not F_SEAL_SEAL: it would prevent nothing that matters here.
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

Error exhausted(std::size_t bytes, int number) {
  return Error{ErrorCode::ResourceExhausted, "segment",
               "of " + std::to_string(bytes) + " bytes cannot be had: " + std::strerror(number),
               "raise the limit of open files or free memory"};
}

Error unusable(const std::string& why) {
  return Error{ErrorCode::InvalidArgument, "segment", why,
               "make it with memfd_create(MFD_ALLOW_SEALING) and unmap it before it is handed over"};
}

std::byte* mapping(void* data) { return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data); }

std::byte* map_writable(const Descriptor& handle, std::size_t bytes) {
  return mapping(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, handle.get(), 0));
}

// Maps the same pages, which are never copied as long as nothing is written; MAP_NORESERVE sets no memory aside for
// later writes. A shared mapping could become writable and so would forbid the seal, and kernels before 6.7 refuse it
// once there is a seal. With a place the mapping replaces the one there, in one step: a concurrent reader always finds
// the same bytes.
std::byte* map_read_only(const Descriptor& handle, std::size_t bytes, std::byte* place = nullptr) {
  const int sharing = MAP_PRIVATE | MAP_NORESERVE | (place == nullptr ? 0 : MAP_FIXED);
  return mapping(::mmap(place, bytes, PROT_READ, sharing, handle.get(), 0));
}

std::size_t whole_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

Segment::Segment(Descriptor handle, std::byte* data, std::size_t size, bool sealed)
    : handle_(std::move(handle)), data_(data), size_(size), sealed_(sealed) {}

Segment::Segment(Segment&& other) noexcept
    : handle_(std::move(other.handle_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      sealed_(other.sealed_) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  handle_ = std::move(other.handle_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  sealed_ = other.sealed_;
  return *this;
}

Segment::~Segment() { unmap(); }

void Segment::unmap() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
}

Result<Segment> Segment::create(std::size_t bytes) {
  Descriptor handle{::memfd_create("penstock-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!handle || ::ftruncate(handle.get(), static_cast<off_t>(bytes)) != 0) return exhausted(bytes, errno);
  std::byte* data = map_writable(handle, bytes);
  if (data == nullptr) return exhausted(bytes, errno);
  return Segment{std::move(handle), data, bytes, false};
}

Result<Segment> Segment::adopt(Descriptor handle, std::size_t bytes) {
  // The handle comes from a runner and may be of any kind.
  const int seals = ::fcntl(handle.get(), F_GET_SEALS);
  if (seals < 0) return unusable("the handle is no memory file");
  if ((seals & kSeals) != kSeals && ::fcntl(handle.get(), F_ADD_SEALS, kSeals) != 0)
    return unusable(std::string{"cannot be sealed: "} + std::strerror(errno));
  // Checked after sealing: before, the file could still be cut short, and reading it would end this process.
  struct stat status {};
  if (::fstat(handle.get(), &status) != 0 || status.st_size < 0 || static_cast<std::size_t>(status.st_size) < bytes ||
      bytes == 0)
    return unusable("has " + std::to_string(status.st_size) + " bytes instead of " + std::to_string(bytes));
  std::byte* data = map_read_only(handle, bytes);
  if (data == nullptr) return exhausted(bytes, errno);
  return Segment{std::move(handle), data, bytes, true};
}

Result<void> Segment::seal() {
  if (sealed_) return {};
  // A writable mapping forbids the seal, even if it is protected since.
  if (map_read_only(handle_, size_, data_) == nullptr) return exhausted(size_, errno);
  if (::fcntl(handle_.get(), F_ADD_SEALS, kSeals) != 0) return exhausted(size_, errno);
  sealed_ = true;
  return {};
}

void Segment::protect() {
  if (!sealed_) ::mprotect(data_, size_, PROT_READ);  // If this fails, only a mistaken write goes unnoticed.
}

Result<void> Segment::write_privately() {
  if (::mprotect(data_, size_, PROT_READ | PROT_WRITE) != 0) return exhausted(size_, errno);
  return {};
}

Result<void> Segment::reopen(std::size_t bytes) {
  const std::size_t kept = whole_pages(bytes);
  const std::size_t mapped = whole_pages(size_);
  if (kept < mapped && ::munmap(data_ + kept, mapped - kept) != 0) return exhausted(bytes, errno);
  size_ = bytes;
  // The kernel zeroes the bytes behind the new end: the reader of a shared page sees nothing of an older datum.
  if (::ftruncate(handle_.get(), static_cast<off_t>(bytes)) != 0 ||
      ::mprotect(data_, size_, PROT_READ | PROT_WRITE) != 0)
    return exhausted(bytes, errno);
  return {};
}

Result<std::size_t> send_handles(const Descriptor& socket, std::span<const std::byte> bytes,
                                 std::span<const int> handles) {
  if (handles.size() > kHandlesInACallMax)
    return Error{ErrorCode::LimitExceeded, "segment", std::to_string(handles.size()) + " handles in one call",
                 "send at most " + std::to_string(kHandlesInACallMax)};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kHandlesInACallMax)]{};
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!handles.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(handles.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(handles.size_bytes());
    std::memcpy(CMSG_DATA(header), handles.data(), handles.size_bytes());
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::size_t{0};
    return Error{
        ErrorCode::Disconnected, "segment", std::string{"handles cannot be sent: "} + std::strerror(errno), {}};
  }
}

Result<Received> receive_handles(const Descriptor& socket, std::span<std::byte> bytes) {
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kHandlesInACallMax)];
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  do size = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0)
    return Error{errno == EAGAIN ? ErrorCode::WrongState : ErrorCode::Disconnected,
                 "segment",
                 std::string{"nothing can be received: "} + std::strerror(errno),
                 {}};
  Received received;
  received.bytes = static_cast<std::size_t>(size);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int handle = -1;
      std::memcpy(&handle, CMSG_DATA(header) + at, sizeof handle);
      received.handles.emplace_back(handle);
    }
  }
  return received;
}

}  // namespace penstock::worker
