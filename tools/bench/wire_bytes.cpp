#include "tools/bench/wire_bytes.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>

#include "common/host/descriptor.hpp"

namespace penstock::tools {
namespace {

void add(int socket, WireBytes& sum) {
  tcp_info counts{};
  socklen_t size = sizeof counts;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &counts, &size) != 0) return;  // No TCP socket, or a listening one.
  sum.sent += counts.tcpi_bytes_acked;                                           // tidy: foreign
  sum.received += counts.tcpi_bytes_received;
}

}  // namespace

Result<WireBytes> wire_bytes_of(int process) {
  const Error unsupported{
      ErrorCode::Unsupported, "bytes on the wire", "this kernel does not show a child's sockets", {}};
  const Descriptor handle{static_cast<int>(::syscall(SYS_pidfd_open, process, 0))};
  if (!handle) return unsupported;
  WireBytes sum;
  std::error_code error;
  const std::string directory = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (!std::filesystem::read_symlink(at->path(), unreadable).string().starts_with("socket:")) continue;
    const std::string name = at->path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    const Descriptor copy{static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), number, 0))};
    if (!copy) return unsupported;
    add(copy.get(), sum);
  }
  if (error) return unsupported;
  return sum;
}

}  // namespace penstock::tools
