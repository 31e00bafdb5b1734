#include "common/host/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace penstock {

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Pipe> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::ResourceExhausted, "pipe", std::strerror(errno), "raise the limit of open files"};
  return Pipe{Descriptor{ends[0]}, Descriptor{ends[1]}};
}

void set_non_blocking(const Descriptor& descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags >= 0) ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK);
}

}  // namespace penstock
