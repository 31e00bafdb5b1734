#include "common/net/runner_channel.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace penstock {
namespace {

// The layout in memory, as in schema/runner.capnp.
struct Header {
  std::uint32_t magic = 0x52534e50;  // "PNSR"
  std::uint32_t bytes = 0;
  std::uint32_t descriptors = 0;
  std::uint32_t reserved = 0;
};
constexpr std::size_t kReadBytes = 64 << 10;

Error gone() { return {ErrorCode::Disconnected, "runner", "the other side has closed its socket", {}}; }
Error malformed(const char* why) { return {ErrorCode::MalformedFrame, "runner", why, {}}; }

using ControlBytes = std::array<char, CMSG_SPACE(sizeof(int) * (RunnerChannel::kDescriptorsMax + 3))>;

void take_descriptors(msghdr& head, std::deque<Descriptor>& out) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&head); part != nullptr; part = CMSG_NXTHDR(&head, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
      out.emplace_back(number);
    }
  }
}

}  // namespace

Result<SocketPair> open_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{ErrorCode::ResourceExhausted, "socket pair", std::strerror(errno), "raise the limit of open files"};
  return SocketPair{Descriptor{ends[0]}, Descriptor{ends[1]}};
}

RunnerChannel::RunnerChannel(Descriptor socket, std::uint32_t message_bytes_max)
    : socket_(std::move(socket)), message_bytes_max_(message_bytes_max), buffer_(kReadBytes / 8) {}

Result<void> RunnerChannel::send(std::span<const std::uint64_t> words, std::span<const int> descriptors) {
  Header header;
  if (words.size_bytes() > UINT32_MAX)
    return Error{ErrorCode::LimitExceeded, "runner", "a message is longer than 4 GiB", {}};
  header.bytes = static_cast<std::uint32_t>(words.size_bytes());
  header.descriptors = static_cast<std::uint32_t>(descriptors.size());
  std::array<iovec, 2> parts{iovec{&header, sizeof header},
                             iovec{const_cast<std::uint64_t*>(words.data()), words.size_bytes()}};
  alignas(cmsghdr) ControlBytes control;
  msghdr head{};
  head.msg_iov = parts.data();
  head.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    head.msg_control = control.data();
    head.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&head);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  std::size_t left = sizeof header + words.size_bytes();
  while (left > 0) {
    const ssize_t sent = ::sendmsg(socket_.get(), &head, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return gone();
    left -= static_cast<std::size_t>(sent);
    head.msg_control = nullptr;  // The descriptors went with the first byte.
    head.msg_controllen = 0;
    auto skip = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t done = std::min(skip, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + done;
      part.iov_len -= done;
      skip -= done;
    }
  }
  return {};
}

Result<std::optional<RunnerChannel::Message>> RunnerChannel::receive(Wait wait) {
  for (;;) {
    Result<std::optional<Message>> message = take_message();
    if (!message || message->has_value()) return message;
    const Result<bool> more = read_some(wait);
    if (!more) return more.error();
    if (!*more) return std::optional<Message>{};
  }
}

Result<std::optional<RunnerChannel::Message>> RunnerChannel::take_message() {
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer_.data());
  Header header;
  if (end_ - begin_ < sizeof header) return std::optional<Message>{};
  std::memcpy(&header, bytes + begin_, sizeof header);
  if (header.magic != Header{}.magic || header.reserved != 0) return malformed("the bytes are no message");
  if (header.bytes % 8 != 0 || header.descriptors > kDescriptorsMax) return malformed("the header is damaged");
  if (header.bytes > message_bytes_max_) return malformed("a message is longer than `worker.runner_message_bytes_max`");
  const std::size_t whole = sizeof header + header.bytes;
  if (end_ - begin_ < whole) {
    // Moves the data to the front to make room; the read that follows fills it.
    std::memmove(buffer_.data(), bytes + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() * 8 < whole) buffer_.resize((whole + kReadBytes) / 8);
    return std::optional<Message>{};
  }
  if (descriptors_.size() < header.descriptors) return malformed("its segments did not come with the message");
  Message message;
  message.bytes = {bytes + begin_ + sizeof header, header.bytes};
  for (std::uint32_t i = 0; i < header.descriptors; ++i) {
    message.descriptors.push_back(std::move(descriptors_.front()));
    descriptors_.pop_front();
  }
  begin_ += whole;
  return std::optional<Message>{std::move(message)};
}

std::vector<std::uint64_t> RunnerChannel::hand_over_bytes() {
  const std::size_t ahead = end_ - begin_;
  std::vector<std::uint64_t> fresh((ahead + kReadBytes) / 8 + 1);
  std::memcpy(fresh.data(), reinterpret_cast<const std::byte*>(buffer_.data()) + begin_, ahead);
  begin_ = 0;
  end_ = ahead;
  return std::exchange(buffer_, std::move(fresh));
}

// False if nothing was read.
Result<bool> RunnerChannel::read_some(Wait wait) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() * 8 - end_ < sizeof(Header)) {
    std::memmove(buffer_.data(), reinterpret_cast<const std::byte*>(buffer_.data()) + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  iovec part{reinterpret_cast<std::byte*>(buffer_.data()) + end_, buffer_.size() * 8 - end_};
  alignas(cmsghdr) ControlBytes control;
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket_.get(), &head, MSG_CMSG_CLOEXEC | (wait == Wait::Yes ? 0 : MSG_DONTWAIT));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) return gone();
  take_descriptors(head, descriptors_);
  if ((head.msg_flags & MSG_CTRUNC) != 0 || descriptors_.size() > 4 * kDescriptorsMax)
    return malformed("it sends more segments than it says");
  end_ += static_cast<std::size_t>(size);
  return true;
}

}  // namespace penstock
