// The metrics of a process, served by HTTP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/metrics/metric_family.hpp"
#include "common/net/host_port.hpp"
#include "common/net/revoked_serials.hpp"
#include "common/protocol/identity.hpp"
#include "common/protocol/metrics_config.hpp"

namespace penstock {

class TlsServer;

struct MetricsServerOptions {
  HostPort listen;
  MetricsConfig config;
  /// The present settings of TLS; they give null while nobody can be let in. Empty: connections are plain.
  std::function<std::shared_ptr<const TlsServer>()> tls;
  bool open_to_all = false;  ///< Without TLS an address that other hosts can reach is refused otherwise.
  std::shared_ptr<const RevokedSerials> revoked;  ///< As of the last answer of `ask`. Null: none is.

  /// Puts the families together, on the server's thread: the loop of the process only gives the numbers.
  using Numbers = std::function<MetricFamilies()>;
  /// Called on the server's thread, at most every `config.sample_every`; calls its argument once, from any thread.
  std::function<void(std::function<void(Numbers)>)> ask;
};

/// Serves `/metrics` to the roles metrics, operator and admin, and `/healthz` to all, on a thread of its own with
/// sockets of its own: whatever a peer does there, the process goes on. Every connection has deadlines for its request
/// and for taking the answer; a request that cannot be read is answered with a status, and its connection closed.
class MetricsServer {
 public:
  /// Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<MetricsServer>> open(MetricsServerOptions options);
  /// Ends its thread. Answers that are still to come are dropped.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  std::uint16_t port() const;

 private:
  struct State;
  explicit MetricsServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Whether a peer of that role may read metrics.
bool may_read_metrics(Role role);

}  // namespace penstock
