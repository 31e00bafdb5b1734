// The present credential of an accepting side.
#pragma once

#include <memory>
#include <mutex>

#include "common/security/tls_session.hpp"

namespace penstock {

/// The settings with which new connections are accepted: replaced when the certificate is renewed, while connections go
/// on with those that they have begun with. Any thread may use it.
class ServerCredential {
 public:
  explicit ServerCredential(std::shared_ptr<const TlsServer> settings) : settings_(std::move(settings)) {}

  std::shared_ptr<const TlsServer> settings() const {
    const std::lock_guard lock{mutex_};
    return settings_;
  }
  void replace(std::shared_ptr<const TlsServer> settings) {
    const std::lock_guard lock{mutex_};
    settings_ = std::move(settings);
  }

 private:
  mutable std::mutex mutex_;  // Of `settings_`; tests/unit/common/security under the thread sanitizer.
  std::shared_ptr<const TlsServer> settings_;
};

}  // namespace penstock
