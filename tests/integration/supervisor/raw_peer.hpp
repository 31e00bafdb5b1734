// A peer of a supervisor that does with its socket what it likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/host/descriptor.hpp"
#include "common/protocol/handshake.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/frame.hpp"

namespace penstock {

/// One frame as it stands on the wire.
std::vector<std::byte> frame_bytes(FrameKind kind, const LinkHeader& link, const FramePayloadPtr& payload);
std::vector<std::byte> hello_bytes(const Hello& hello);
std::vector<std::byte> heartbeat_bytes(Incarnation sender);

/// A TCP connection to a port of the loopback. No member waits; what the other side does not take is thrown away.
class RawPeer {
 public:
  explicit RawPeer(std::uint16_t port);

  bool connected() const { return static_cast<bool>(socket_); }
  /// False if the other side has closed, or takes no more now.
  bool send(std::span<const std::byte> bytes);
  /// The other side reads the end of the stream; this one still hears.
  void finish_sending();
  /// The other side's next use of the connection fails.
  void reset();
  void close() { socket_.close(); }
  /// Reads what has come. True once the other side has closed or reset the connection.
  bool is_over();
  /// The first frame that has come, if it is a whole introduction.
  std::optional<Introduction> introduction();
  std::span<const std::byte> received() const { return received_; }

 private:
  Descriptor socket_;
  std::vector<std::byte> received_;
  bool over_ = false;
};

}  // namespace penstock
