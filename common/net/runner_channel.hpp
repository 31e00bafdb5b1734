// Messages and memory segments over a socket pair, between a worker and one of its runners.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"

namespace penstock {

/// The two ends of a stream socket, closed in programs that we start. Error: ResourceExhausted.
struct SocketPair {
  Descriptor ours;
  Descriptor theirs;
};
Result<SocketPair> open_socket_pair();

/// One end of the conversation of schema/runner.capnp: frames in order, each with its descriptors. For one thread.
/// Nothing is trusted: a malformed or too long frame is an error, and ends the conversation.
class RunnerChannel {
 public:
  /// The most segments that can travel with one message (the kernel's SCM_MAX_FD).
  static constexpr std::size_t kDescriptorsMax = 250;

  RunnerChannel(Descriptor socket, std::uint32_t message_bytes_max);

  struct Message {
    std::span<const std::byte> bytes;  ///< Valid until the next `receive`; 8-byte aligned.
    std::vector<Descriptor> descriptors;
  };
  enum class Wait { No, Yes };

  /// Waits until the socket has taken all of it. Errors: Disconnected; LimitExceeded when it is too long for a frame.
  Result<void> send(std::span<const std::uint64_t> words, std::span<const int> descriptors = {});
  /// The next message; none, if it is not there yet and `wait` is No, or if a signal interrupted the wait. Errors:
  /// Disconnected (the other side is gone), MalformedFrame.
  Result<std::optional<Message>> receive(Wait wait);
  /// The memory of the message that was received last: its bytes stay valid for as long as the caller keeps it,
  /// whatever is received later.
  std::vector<std::uint64_t> hand_over_bytes();
  const Descriptor& descriptor() const { return socket_; }
  /// Whether bytes or segments have been read beyond the last message: the beginning of the next one.
  bool has_read_ahead() const { return begin_ != end_ || !descriptors_.empty(); }

 private:
  Result<std::optional<Message>> take_message();
  Result<bool> read_some(Wait wait);

  Descriptor socket_;
  const std::uint32_t message_bytes_max_;
  std::vector<std::uint64_t> buffer_;  ///< Words, so that messages are aligned.
  std::size_t begin_ = 0;              ///< Bytes of `buffer_` that are taken already.
  std::size_t end_ = 0;                ///< Bytes of it that were read.
  std::deque<Descriptor> descriptors_;
};

}  // namespace penstock
