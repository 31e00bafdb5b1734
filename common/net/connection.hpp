// Frames over a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/net/host_port.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/identity.hpp"
#include "common/wire/frame.hpp"

namespace penstock {

class HandshakePool;
class TlsClient;
class TlsServer;
struct PeerStanding;

/// One connected socket that carries frames. Lives on its loop's thread; closed by destruction.
///
/// A secured connection shakes hands when it is started, and sends and reads frames after that.
///
/// Every byte is checked before it is used: the header first (its length before memory is taken), then the checksum. A
/// peer that breaks the format, sends half a frame for too long, or does not read is cut off; other connections are not
/// affected.
class Connection {
 public:
  /// A frame has arrived whole and checked. The bytes are 8-byte aligned and valid during the call.
  using OnFrame = std::function<void(const FrameHeader&, std::span<const std::byte>)>;
  /// The connection is over; called once, never from inside another member's call.
  using OnClosed = std::function<void(const Error&)>;

  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Starts to read, or gives a connection that reads already to another owner; if the connection is over already, the
  /// new `on_closed` is called.
  void start(OnFrame on_frame, OnClosed on_closed);
  /// Appends a frame to the frames to be sent. A connection closes when its queue exceeds the buffer limit.
  void send(FrameKind kind, const LinkHeader& link, FramePayloadPtr payload);
  /// Adds so many bytes to the weight of the frame that was handed out last, because its handling costs more than its
  /// size. The weight counts towards the share of this turn (`wire.turn_bytes_max`).
  void weigh(std::size_t bytes);
  /// Sends what is queued, then closes. No frame is handed out any more.
  void close_after_sending();
  std::string peer_address() const;
  /// The proof of the peer's identity. REQUIRES: a frame has arrived.
  PeerStanding peer() const;

 private:
  friend class Listener;
  friend class Connector;
  struct State;
  explicit Connection(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// How accepted connections are secured. Without settings they are plain.
struct ListenSecurity {
  /// The present settings, which change when a certificate is renewed; null: nobody can be let in now. From any thread.
  std::function<std::shared_ptr<const TlsServer>()> settings;
  std::shared_ptr<HandshakePool> pool;  ///< Null: the loop's thread computes handshakes.
};

/// Accepts connections on one address.
class Listener {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Connection>)>;

  /// Errors: AddressInUse, InvalidArgument. Port 0 takes a free one.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, const WireConfig& config, const HostPort& address,
                                                const ListenSecurity& security, OnConnection on_connection);
  /// For processes of this host and user; the connections are plain. Errors: as of `listen_locally`.
  static Result<std::unique_ptr<Listener>> open_locally(Loop& loop, const WireConfig& config,
                                                        OnConnection on_connection);
  ~Listener();
  /// To be connected to.
  HostPort address() const;
  std::uint16_t port() const { return address().port; }

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// One attempt to connect; destroying it cancels the attempt.
class Connector {
 public:
  using OnDone = std::function<void(Result<std::unique_ptr<Connection>>)>;
  /// Error: Unreachable. `timeout` covers the resolution of the name, too. Without `tls`, or to a local socket, the
  /// connection is plain. `pool` computes its handshake; null: the loop's thread.
  Connector(Loop& loop, const WireConfig& config, const HostPort& address, std::shared_ptr<const TlsClient> tls,
            Duration timeout, OnDone on_done, std::shared_ptr<HandshakePool> pool = nullptr);
  ~Connector();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
