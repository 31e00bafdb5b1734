#include "tests/integration/supervisor/raw_peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace penstock {

std::vector<std::byte> frame_bytes(FrameKind kind, const LinkHeader& link, const FramePayloadPtr& payload) {
  const FrameHeaderBytes header = write_header(kind, link, *payload);
  const std::span<const std::byte> content = payload->bytes();
  std::vector<std::byte> bytes(header.size() + content.size());
  std::copy(content.begin(), content.end(), std::copy(header.begin(), header.end(), bytes.begin()));
  return bytes;
}

std::vector<std::byte> hello_bytes(const Hello& hello) {
  return frame_bytes(FrameKind::Introduction, {hello.incarnation, 0, 0}, encode(Introduction{hello}));
}

std::vector<std::byte> heartbeat_bytes(Incarnation sender) {
  return frame_bytes(FrameKind::Heartbeat, {sender, 0, 0}, std::make_shared<const FramePayload>());
}

RawPeer::RawPeer(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) socket_.close();
}

bool RawPeer::send(std::span<const std::byte> bytes) {
  if (!socket_) return false;
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(bytes.size());
}

void RawPeer::finish_sending() {
  if (socket_) ::shutdown(socket_.get(), SHUT_WR);
}

void RawPeer::reset() {
  if (!socket_) return;
  const linger at_once{1, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket_.close();
}

bool RawPeer::is_over() {
  if (!socket_) return true;
  std::array<std::byte, 65536> part;
  while (!over_) {
    const ssize_t size = ::recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size <= 0)
      over_ = true;
    else
      received_.insert(received_.end(), part.begin(), part.begin() + size);
  }
  return over_;
}

std::optional<Introduction> RawPeer::introduction() {
  static_cast<void>(is_over());
  FrameHeaderBytes header_bytes;
  if (received_.size() < header_bytes.size()) return std::nullopt;
  std::memcpy(header_bytes.data(), received_.data(), header_bytes.size());
  const Result<FrameHeader> header = read_header(header_bytes, WireConfig{});
  if (!header || received_.size() < header_bytes.size() + header->payload_bytes) return std::nullopt;
  std::vector<std::uint64_t> words(header->payload_bytes / 8);
  std::memcpy(words.data(), received_.data() + header_bytes.size(), header->payload_bytes);
  Result<Introduction> introduction = decode_introduction(std::as_bytes(std::span{words}));
  if (!introduction) return std::nullopt;
  return std::move(introduction).value();
}

}  // namespace penstock
