// The security of this process's connections, as its user and environment have it.
#pragma once

#include <memory>
#include <string>

#include "common/security/tls_session.hpp"

namespace penstock {

/// Whether connections are to be plain: PENSTOCK_INSECURE is set to something else than 0.
bool wants_insecure();
/// Makes the connections of this process, and of the programs that it starts, plain. Before the first thread.
void want_insecure();

/// The credentials of this user.
CredentialStore own_credentials();

/// The credential that clients of this user show in `cluster`, as it is now. Errors: as of `CredentialStore::load_for`.
Result<Credential> own_client_credential(const std::string& cluster);

/// For connections to supervisors, or to the servers of workers; null if they are to be plain. Error: Internal.
Result<std::shared_ptr<const TlsClient>> own_security(PeerRole peer, Role server = Role::Supervisor);

}  // namespace penstock
