// Frames over a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/protocol/config.hpp"
#include "common/wire/frame.hpp"

namespace penstock {

/// An address to listen on or connect to.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  std::string file;  ///< Not empty: this file holds the address, and is read again for each attempt to connect.
  std::uint64_t local = 0;  ///< Not 0: name of a socket within this host, of the same user; see `listen_locally`.
  friend bool operator==(const HostPort&, const HostPort&) = default;
};
/// Reads `host:port`, `[v6]:port`, `port`, or `local:` with the 16 digits of a local socket's name. Error:
/// InvalidArgument.
Result<HostPort> parse_host_port(const std::string& text, const std::string& default_host);
/// The same, or `@FILE`: a supervisor writes its address there (`--address-file`), and may move to another one.
Result<HostPort> parse_supervisor_address(const std::string& text, const std::string& default_host);
/// The address itself, or the one that its file holds now. Error: Unreachable.
Result<HostPort> look_up(const HostPort& address);
std::string to_string(const HostPort& address);

/// One connected socket that carries frames. Lives on its loop's thread; closed by destruction.
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

 private:
  friend class Listener;
  friend class Connector;
  struct State;
  explicit Connection(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Accepts connections on one address.
class Listener {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Connection>)>;

  /// Errors: AddressInUse, InvalidArgument. Port 0 takes a free one.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, const WireConfig& config, const HostPort& address,
                                                OnConnection on_connection);
  /// For processes of this host and user. Errors: as of `listen_locally`.
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
  /// Error: Unreachable. `timeout` covers the resolution of the name, too.
  Connector(Loop& loop, const WireConfig& config, const HostPort& address, Duration timeout, OnDone on_done);
  ~Connector();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
