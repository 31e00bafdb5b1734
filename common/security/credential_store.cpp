#include "common/security/credential_store.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "common/host/clock.hpp"
#include "common/host/process.hpp"
#include "common/security/private_file.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::array kWorkerRoles{Role::Worker};
/// The roles that a user logs in with.
constexpr std::array kLoginRoles{Role::Admin, Role::Operator, Role::Client};
/// The runs of a worker that has joined from another host have its certificate. With one for metrics alone a user is
/// refused as a client, and can renew it.
constexpr std::array kClientRoles{Role::Admin, Role::Operator, Role::Client, Role::Worker, Role::Metrics};

std::span<const Role> roles_for(PeerRole peer) {
  if (peer == PeerRole::Worker) return kWorkerRoles;
  return kClientRoles;
}

std::string file_of(const std::string& place, Role role) { return place + "/" + std::string{to_string(role)} + ".pem"; }

/// When the last credential there ends; long ago if there is none.
CalendarTime last_use_of(const std::string& place) {
  CalendarTime last{};
  for (const Role role : kRoles) {
    const Result<std::string> text = read_private_file(file_of(place, role));
    if (!text) continue;
    if (const Result<Credential> found = read_credential(*text, place); found)
      last = std::max(last, valid_until(*found->certificate));
  }
  return last;
}

Credential share_all(const Credential& credential) {
  return {share(credential.key.get()), share(credential.certificate.get()), share(credential.authority.get())};
}

/// To parse a credential takes as long as a handshake, and most connections of a thread show the one of the connection
/// before.
Result<Credential> parsed(const std::string& pem, const std::string& file) {
  thread_local std::string latest_pem;
  thread_local Credential latest;
  if (pem != latest_pem) {
    Result<Credential> read = read_credential(pem, file);
    if (!read) return read;
    latest = std::move(read).value();
    latest_pem = pem;
  }
  return share_all(latest);
}

}  // namespace

CredentialSurroundings own_credential_surroundings() {
  return {environment_value("PENSTOCK_CONFIG_DIR"), environment_value("XDG_CONFIG_HOME"), environment_value("HOME"),
          environment_value("PENSTOCK_RUN_CREDENTIALS")};
}

std::string default_config_directory(const CredentialSurroundings& surroundings) {
  if (surroundings.penstock_config.starts_with('/')) return surroundings.penstock_config;
  if (surroundings.xdg_config_home.starts_with('/')) return surroundings.xdg_config_home + "/penstock";
  if (surroundings.home.starts_with('/')) return surroundings.home + "/.config/penstock";
  return {};
}

std::string CredentialStore::place_below(const std::string& cluster, Role role) {
  return file_of("clusters/" + cluster, role);
}

std::string CredentialStore::place_of(const std::string& cluster) const { return directory_ + "/clusters/" + cluster; }

Result<void> CredentialStore::save(const std::string& cluster, Role role, const Credential& credential) const {
  if (directory_.empty())
    return Error{ErrorCode::InvalidArgument, "credentials",
                 "have no place: neither HOME nor PENSTOCK_CONFIG_DIR is set",
                 "set PENSTOCK_CONFIG_DIR to a directory of this user"};
  PENSTOCK_TRY(make_private_directory(directory_));
  PENSTOCK_TRY(make_private_directory(directory_ + "/clusters"));
  PENSTOCK_TRY(make_private_directory(place_of(cluster)));
  return write_private_file(file_of(place_of(cluster), role), to_pem(credential));
}

Result<void> CredentialStore::save_only(const std::string& cluster, Role role, const Credential& credential) const {
  PENSTOCK_TRY(save(cluster, role, credential));
  std::error_code ignored;
  if (role != Role::Worker && role != Role::Metrics)
    for (const Role other : kLoginRoles)
      if (other != role) fs::remove(file_of(place_of(cluster), other), ignored);
  return {};
}

Result<Credential> CredentialStore::load(const std::string& cluster, Role role) const {
  if (directory_.empty()) return Error{ErrorCode::NotFound, cluster, "has no credential here", {}};
  const std::string file = file_of(place_of(cluster), role);
  const Result<std::string> text = read_private_file(file);
  if (!text) return text.error();
  return parsed(*text, file);
}

Result<Credential> CredentialStore::load_for(const std::string& cluster, PeerRole peer) const {
  Result<Credential> found = Error{ErrorCode::NotFound, cluster, "has no credential here", {}};
  for (const Role role : roles_for(peer)) {
    found = load(cluster, role);
    if (found || found.error().code != ErrorCode::NotFound) break;
  }
  if (!found && found.error().code != ErrorCode::NotFound) return found;
  const bool serves = found && valid_until(*found->certificate) > calendar_now();
  if (serves || of_run_.empty() || peer != PeerRole::Client) return found;
  Result<Credential> of_run = CredentialStore{of_run_}.load(cluster, Role::Run);
  return of_run ? std::move(of_run) : std::move(found);
}

void CredentialStore::forget(const std::string& cluster) const {
  std::error_code ignored;
  if (!directory_.empty() && !cluster.empty()) fs::remove_all(place_of(cluster), ignored);
}

void CredentialStore::forget_older(CalendarTime now, std::chrono::seconds age) const {
  for (const std::string& cluster : names_in(directory_ + "/clusters")) {
    // A look at one file is a look at a key; the time of the directory is that of its latest file.
    std::error_code gone;
    const auto written = fs::last_write_time(place_of(cluster), gone);
    if (!gone && std::chrono::file_clock::to_sys(written) + age < now && last_use_of(place_of(cluster)) + age < now)
      forget(cluster);
  }
}

}  // namespace penstock
