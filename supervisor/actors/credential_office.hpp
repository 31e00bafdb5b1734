// The security of a running supervisor: its certificate, those of others, and what is revoked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/net/connection.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/handshake.hpp"
#include "common/security/credential_store.hpp"
#include "common/security/secret_box.hpp"

namespace penstock::supervisor {

struct OfficeOptions {
  std::string directory;      ///< Of the authority; empty: one that ends with this process.
  CredentialStore store{""};  ///< Of the user that runs the supervisor: its credentials are made without a token.
  std::string user;
  SecurityConfig config;
  std::function<void()> on_change;  ///< The list of revoked certificates has changed, or a credential of runs.
};

/// Renews the supervisor's certificate and those of its own user, and notices within a second what a command has
/// revoked. Lives on its loop's thread.
class CredentialOffice {
 public:
  /// Errors: InvalidArgument, StorageFull: the directory of the authority cannot be used.
  static Result<std::unique_ptr<CredentialOffice>> open(Loop& loop, OfficeOptions options);
  ~CredentialOffice();

  /// Identifies the cluster; see `cluster_of`.
  const std::string& cluster() const;
  ListenSecurity security() const;
  Result<Joined> certify(const Join& join, const PeerStanding& peer) const;
  bool is_revoked(const std::string& serial) const;
  /// Serial numbers of all revoked certificates that have not ended.
  std::vector<std::string> revoked() const;
  /// The present credential for the runs of that user, the same for all workers: made when it is first asked for,
  /// and another at half of its life. Error: StorageFull: the book of certificates cannot be written.
  Result<std::shared_ptr<const RunCredential>> run_credential(const std::string& user);
  /// For the secrets of jobs; its key is in the directory of the authority.
  std::shared_ptr<const SecretBox> secrets() const;

 private:
  struct State;
  explicit CredentialOffice(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::supervisor
