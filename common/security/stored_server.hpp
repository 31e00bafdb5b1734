// The accepting side of a worker, with a credential of its user.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "common/security/tls_session.hpp"

namespace penstock {

/// Serves with the credential of the cluster to which this process connected last; read again at half of its life. Any
/// thread may use it.
class StoredServer {
 public:
  explicit StoredServer(std::shared_ptr<const TlsClient> joined) : joined_(std::move(joined)) {}

  /// Null: there is no credential yet, or it cannot be read.
  std::shared_ptr<const TlsServer> settings(CalendarTime now);

 private:
  const std::shared_ptr<const TlsClient> joined_;
  std::mutex mutex_;  // Of all below.
  std::string cluster_;
  Credential credential_;
  std::shared_ptr<const TlsServer> server_;
  CalendarTime looked_{};
};

}  // namespace penstock
