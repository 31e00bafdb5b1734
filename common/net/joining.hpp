// Getting a certificate from a supervisor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/net/connection.hpp"
#include "common/protocol/handshake.hpp"
#include "common/security/certificate.hpp"

namespace penstock {

struct JoinOptions {
  HostPort supervisor;
  WireConfig wire;
  /// A stranger's, which trusts the cluster of the token; or one with a credential, to be renewed.
  std::shared_ptr<const TlsClient> tls;
  std::string token;  ///< The whole text; empty: the credential is renewed.
  std::string user;   ///< Of this process.
};

/// One attempt to get a certificate for a new key, which never leaves this process. Destroying it cancels the attempt.
class Joining {
 public:
  using OnDone = std::function<void(Result<Credential>)>;
  /// `on_done` is called once, from a turn of its own. Errors: Unreachable, PermissionDenied, InvalidArgument,
  /// TimedOut.
  Joining(Loop& loop, const JoinOptions& options, OnDone on_done);
  ~Joining();
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The same, waiting for the end of the attempt.
Result<Credential> join_cluster(const JoinOptions& options);

}  // namespace penstock
