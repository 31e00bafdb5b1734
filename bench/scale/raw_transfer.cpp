#include "bench/scale/raw_transfer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "common/host/descriptor.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kCallBytes = 128U << 10U;  ///< Of one call, as iperf3 has.

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool receive(int socket, std::byte* at, std::size_t bytes) {
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t part = recv(socket, at + got, std::min(kCallBytes, bytes - got), 0);
    if (part <= 0) return false;
    got += static_cast<std::size_t>(part);
  }
  return true;
}

void serve(const Descriptor& socket, const RawHolder::Find& find) {
  std::uint32_t number = 0;
  while (recv(socket.get(), &number, sizeof number, MSG_WAITALL) == sizeof number) {
    const std::span<const std::byte> datum = find(number);
    for (std::size_t sent = 0; sent < datum.size();) {
      const ssize_t part =
          send(socket.get(), datum.data() + sent, std::min(kCallBytes, datum.size() - sent), MSG_NOSIGNAL);
      if (part <= 0) return;
      sent += static_cast<std::size_t>(part);
    }
  }
}

}  // namespace

RawHolder::RawHolder(Find find) {
  Descriptor listener{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listener.get(), 64) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return;
  port_ = ntohs(address.sin_port);
  std::thread{[listener = std::move(listener), find = std::move(find)] {
    for (;;) {
      Descriptor accepted{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      if (accepted.get() < 0) return;
      std::thread{[accepted = std::move(accepted), find] { serve(accepted, find); }}.detach();
    }
  }}.detach();
}

bool fetch_raw(std::uint16_t port, std::uint32_t streams, std::uint32_t count, std::size_t bytes,
               const std::function<std::byte*(std::uint32_t number)>& into) {
  std::atomic<std::uint32_t> next{0};
  std::atomic<bool> good{true};
  const auto fetch_some = [&] {
    const Descriptor here{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const sockaddr_in address = loopback(port);
    if (connect(here.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) good = false;
    std::vector<std::byte> scratch(into ? 0 : kCallBytes);
    for (std::uint32_t number = next++; good && number < count; number = next++) {
      if (send(here.get(), &number, sizeof number, MSG_NOSIGNAL) != sizeof number) good = false;
      std::byte* const at = into ? into(number) : nullptr;
      if (at != nullptr) good = good && receive(here.get(), at, bytes);
      for (std::size_t got = 0; good && at == nullptr && got < bytes; got += kCallBytes)
        good = receive(here.get(), scratch.data(), std::min(kCallBytes, bytes - got));
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < std::min(streams, count); ++i) threads.emplace_back(fetch_some);
  for (std::thread& thread : threads) thread.join();
  return good;
}

}  // namespace penstock::worker
