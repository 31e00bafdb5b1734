// The port at which a supervisor serves its metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/loop/loop.hpp"
#include "common/metrics/metrics_server.hpp"
#include "supervisor/actors/gateway_actor.hpp"

namespace penstock::supervisor {

struct MetricsPortOptions {
  MetricsConfig config;
  HostPort listen;
  ListenSecurity security;                            ///< Without settings connections are plain.
  bool open_to_all = false;                           ///< See `MetricsServerOptions`.
  std::function<std::vector<std::string>()> revoked;  ///< Serial numbers of certificates. Null: none.
};

/// Puts questions of the server's thread to the supervisor and the gateway. Lives on the loop's thread; loop and
/// gateway outlive it.
class MetricsPort {
 public:
  /// Errors: as of `MetricsServer::open`.
  static Result<std::unique_ptr<MetricsPort>> open(Loop& loop, const MetricsPortOptions& options,
                                                   const Gateway& gateway, const SupervisorHandle& supervisor);
  std::uint16_t port() const { return server_->port(); }

 private:
  MetricsPort() = default;

  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  ///< Questions that come later are dropped.
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace penstock::supervisor
