#include "common/security/own_security.hpp"

#include "common/host/process.hpp"

namespace penstock {
namespace {

constexpr const char* kVariable = "PENSTOCK_INSECURE";

}  // namespace

bool wants_insecure() {
  const std::string value = environment_value(kVariable);
  return !value.empty() && value != "0";
}

void want_insecure() { set_environment_value(kVariable, "1"); }

CredentialStore own_credentials() {
  const CredentialSurroundings surroundings = own_credential_surroundings();
  return CredentialStore{default_config_directory(surroundings), surroundings.penstock_run};
}

Result<Credential> own_client_credential(const std::string& cluster) {
  return own_credentials().load_for(cluster, PeerRole::Client);
}

Result<std::shared_ptr<const TlsClient>> own_security(PeerRole peer, Role server) {
  if (wants_insecure()) return std::shared_ptr<const TlsClient>{};
  return TlsClient::make(own_credentials(), peer, server);
}

}  // namespace penstock
