// The renewal of the certificate of a linked process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/net/joining.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock {

/// Certificates are short-lived. Of the processes of a user the first that finds their common credential at half of its
/// life renews it. Lives on its loop's thread.
class CredentialRenewal {
 public:
  using OnTrouble = std::function<void(const Error&)>;
  CredentialRenewal(Loop& loop, const WireConfig& wire, std::shared_ptr<const TlsClient> tls, PeerRole role,
                    OnTrouble on_trouble);

  /// Certificates are renewed there from now on.
  void turn_to(const HostPort& supervisor) { options_.supervisor = supervisor; }
  /// Looks at the credential for that cluster from now on. Without TLS nothing is done.
  void watch(const std::string& cluster);

 private:
  void look();
  void renewed(const Result<Credential>& credential);

  Loop& loop_;
  JoinOptions options_;
  const PeerRole role_;
  const OnTrouble on_trouble_;
  std::string cluster_;
  LoopTimer timer_;
  std::unique_ptr<Joining> joining_;
};

}  // namespace penstock
