#include "common/net/credential_renewal.hpp"

#include <algorithm>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/security/tls_session.hpp"

namespace penstock {

CredentialRenewal::CredentialRenewal(Loop& loop, const WireConfig& wire, std::shared_ptr<const TlsClient> tls,
                                     PeerRole role, OnTrouble on_trouble)
    : loop_(loop),
      options_{{}, wire, std::move(tls), {}, user_name()},
      role_(role),
      on_trouble_(std::move(on_trouble)),
      timer_(loop) {}

void CredentialRenewal::watch(const std::string& cluster) {
  if (options_.tls == nullptr) return;
  cluster_ = cluster;
  look();
}

void CredentialRenewal::look() {
  // Another process may renew it first, and clocks jump.
  constexpr std::chrono::seconds kLookAtLeast{30};
  constexpr std::chrono::seconds kLookAtMost{1};
  const Result<Credential> own = options_.tls->store().load_for(cluster_, role_);
  const auto due =
      own ? std::chrono::duration_cast<std::chrono::seconds>(renewal_due(*own->certificate) - calendar_now())
          : kLookAtLeast;
  timer_.arm(monotonic_now() + std::clamp(due, kLookAtMost, kLookAtLeast), [this] { look(); });
  if (!own || joining_ != nullptr || !wants_renewal(*own->certificate, calendar_now())) return;
  if (const Result<PeerIdentity> identity = identity_of(*own->certificate); identity && identity->role == Role::Run)
    return;  // Its worker renews it.
  joining_ =
      std::make_unique<Joining>(loop_, options_, [this](const Result<Credential>& credential) { renewed(credential); });
}

void CredentialRenewal::renewed(const Result<Credential>& credential) {
  const Result<PeerIdentity> identity = credential ? identity_of(*credential->certificate) : credential.error();
  const Result<void> saved =
      identity ? options_.tls->store().save(identity->cluster, identity->role, *credential) : identity.error();
  // The attempt is over, and this is its last call.
  const auto over = std::shared_ptr<Joining>{std::move(joining_)};
  loop_.post([over] {});
  if (!saved && on_trouble_) on_trouble_(saved.error());
}

}  // namespace penstock
