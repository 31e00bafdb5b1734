// Carries a client's messages to a supervisor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/net/connection.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/config.hpp"

namespace penstock::client {

/// The supervisor that renewed a link: the same incarnation, or the next one, after the first has died.
enum class SupervisorLife : std::uint8_t { Same, Next };

/// Events of a transport for its session, on a thread of its own. None comes after `on_end`.
struct TransportHandlers {
  std::function<void(const ToClient&)> on_message;
  /// The supervisor, or its next incarnation, has forgotten this client: unanswered messages may be lost and have to be
  /// sent again, and followed jobs have to be attached to again.
  std::function<void(SupervisorLife)> on_renewed;
  std::function<void(const Error&)> on_end;
};

/// The messages between one client and a supervisor: they arrive in order, once, or the transport has ended.
class Transport {
 public:
  virtual ~Transport() = default;
  /// From any thread, in order.
  virtual void send(FromClient message) = 0;
  /// Returns when few sent bytes are still unacknowledged, or the transport has ended. Not for the transport's own
  /// thread.
  virtual void wait_for_room() {}
  /// From now on no call waits for room.
  virtual void end_waits() {}
  /// Graphs larger than this many bytes are sent in chunks of about that size.
  virtual std::size_t chunk_bytes() const = 0;
  /// A longer message never arrives.
  virtual std::size_t message_bytes_max() const { return SIZE_MAX; }
  /// Runs `work` after that time on the thread of the handlers, unless the transport is destroyed before. False: it
  /// cannot, and never will.
  virtual bool after(Duration, std::function<void()> work) {
    static_cast<void>(work);
    return false;
  }
  /// Whether `on_renewed` may ever be called.
  virtual bool may_renew() const { return false; }
};

struct RemoteOptions {
  std::vector<HostPort> supervisors;
  std::shared_ptr<const TlsClient> tls;  ///< Null: connections are plain; see `own_security`.
  std::string name;
  LinkConfig link;
  WireConfig wire;
  Duration connect_timeout = std::chrono::seconds{5};  ///< For the first link.
};

/// Over TCP, with an event loop on a thread of its own. Waits for the first link. Errors: Unreachable, VersionMismatch.
Result<std::unique_ptr<Transport>> connect_remote(const RemoteOptions& options, TransportHandlers handlers);

}  // namespace penstock::client
