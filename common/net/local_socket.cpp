#include "common/net/local_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "common/host/host.hpp"

namespace penstock {
namespace {

constexpr int kWaitingMax = 128;  ///< Connections that wait to be accepted; further ones are refused.
constexpr int kNamesTried = 8;

struct Address {
  sockaddr_un content{};
  socklen_t size = 0;
};

// A first byte of 0 makes the name abstract; all bytes after it are part of the name, so their number counts.
Address address_of(std::uint64_t name) {
  Address address;
  address.content.sun_family = AF_UNIX;
  const int length = std::snprintf(address.content.sun_path + 1, sizeof address.content.sun_path - 1,
                                   "penstock-data-%016llx", static_cast<unsigned long long>(name));
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return address;
}

const sockaddr* generic(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.content); }

Descriptor open_socket() { return Descriptor{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)}; }

Error failed(ErrorCode code, const char* what) {
  return {code, "local socket", std::string{what} + ": " + std::strerror(errno), {}};
}

// Whether `user` has called `connect`, or `listen`, on the other side; the kernel says so.
bool is_of(const Descriptor& socket, std::uint32_t user) {
  ucred other{};
  socklen_t size = sizeof other;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && size == sizeof other &&
         other.uid == user;
}

}  // namespace

std::uint32_t present_user() { return ::geteuid(); }

Result<LocalListener> listen_locally() {
  LocalListener listener{open_socket(), 0};
  if (!listener.socket) return failed(ErrorCode::ResourceExhausted, "cannot be made");
  for (int i = 0; i < kNamesTried; ++i) {
    listener.name = random_incarnation().value();
    const Address address = address_of(listener.name);
    if (::bind(listener.socket.get(), generic(address), address.size) != 0) {
      if (errno == EADDRINUSE) continue;
      return failed(ErrorCode::Unsupported, "cannot have an abstract name");
    }
    if (::listen(listener.socket.get(), kWaitingMax) != 0) return failed(ErrorCode::Unsupported, "cannot listen");
    return listener;
  }
  return failed(ErrorCode::ResourceExhausted, "finds no free name");
}

Result<Descriptor> accept_local(const Descriptor& listener, std::uint32_t user) {
  for (;;) {
    Descriptor socket{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (socket && is_of(socket, user)) return socket;
    if (socket || errno == EINTR || errno == ECONNABORTED) continue;
    return failed(errno == EAGAIN ? ErrorCode::WrongState : ErrorCode::ResourceExhausted, "no process can be accepted");
  }
}

Result<Descriptor> connect_local(std::uint64_t name, std::uint32_t user) {
  Descriptor socket = open_socket();
  if (!socket) return failed(ErrorCode::ResourceExhausted, "cannot be made");
  const Address address = address_of(name);
  if (::connect(socket.get(), generic(address), address.size) != 0)
    return failed(ErrorCode::Unreachable, "cannot be reached");
  if (!is_of(socket, user)) return Error{ErrorCode::Unreachable, "local socket", "is another user's", {}};
  return socket;
}

bool wait_until_writable(const Descriptor& socket, Duration longest) {
  pollfd wait{socket.get(), POLLOUT, 0};
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  return ::poll(&wait, 1, static_cast<int>(limit)) > 0;
}

void hang_up(const Descriptor& socket) { ::shutdown(socket.get(), SHUT_RDWR); }

}  // namespace penstock
