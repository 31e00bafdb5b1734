#include "common/security/stored_server.hpp"

namespace penstock {
namespace {

/// A file that is not there, or not renewed yet, is looked for so often.
constexpr std::chrono::seconds kLookEvery{1};

}  // namespace

std::shared_ptr<const TlsServer> StoredServer::settings(CalendarTime now) {
  const std::lock_guard lock{mutex_};
  const std::string cluster = joined_->latest_cluster();
  const bool same = server_ != nullptr && cluster == cluster_;
  if (same && !wants_renewal(*credential_.certificate, now)) return server_;
  if (same && now < looked_ + kLookEvery) return server_;
  looked_ = now;
  Result<Credential> found = joined_->store().load_for(cluster, PeerRole::Worker);
  if (!found) return same ? server_ : nullptr;
  Result<std::shared_ptr<const TlsServer>> made = TlsServer::make(*found);
  if (!made) return same ? server_ : nullptr;
  cluster_ = cluster;
  credential_ = std::move(found).value();
  server_ = std::move(made).value();
  return server_;
}

}  // namespace penstock
