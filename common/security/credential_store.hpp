// Where a user keeps credentials: one directory for each cluster, one file for each role.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.hpp"
#include "common/security/certificate.hpp"

namespace penstock {

/// The inputs of the decision; an empty text means that a variable is not set.
struct CredentialSurroundings {
  std::string penstock_config;  ///< PENSTOCK_CONFIG_DIR
  std::string xdg_config_home;  ///< XDG_CONFIG_HOME
  std::string home;             ///< HOME
  std::string penstock_run;     ///< PENSTOCK_RUN_CREDENTIALS
};
/// The values of this process.
CredentialSurroundings own_credential_surroundings();

/// PENSTOCK_CONFIG_DIR, else `penstock` in the user's place for configuration (XDG base directories). Empty: there is
/// none of them. Values that are no absolute paths are ignored.
std::string default_config_directory(const CredentialSurroundings& surroundings);

/// The credentials of one user, in `DIRECTORY/clusters/CLUSTER/ROLE.pem`. Any thread may use it: each call reads or
/// writes the files, so that what another process renews is used at once.
class CredentialStore {
 public:
  /// `directory`: as `default_config_directory` gives it; empty: a store without credentials, which refuses to save.
  /// `of_run`: another one, in which a worker keeps the credential of its runs for this user; empty: none.
  explicit CredentialStore(std::string directory, std::string of_run = {})
      : directory_(std::move(directory)), of_run_(std::move(of_run)) {}

  const std::string& directory() const { return directory_; }
  /// Errors: InvalidArgument, StorageFull.
  Result<void> save(const std::string& cluster, Role role, const Credential& credential) const;
  /// Errors: NotFound; InvalidArgument: the file is damaged, or others may read it.
  Result<Credential> load(const std::string& cluster, Role role) const;
  /// The credential with which a process introduces itself as that kind of peer: of the mightiest role. A run's
  /// serves where the user has none, or one that is out of date. Errors: as of `load`.
  Result<Credential> load_for(const std::string& cluster, PeerRole peer) const;
  /// Keeps the credential as the only one with which this user is a client of the cluster: an older one of a mightier
  /// role would be preferred. One of a worker or for metrics stands beside it. Errors: as of `save`.
  Result<void> save_only(const std::string& cluster, Role role, const Credential& credential) const;
  /// Where the credential is, below the directory of a store.
  static std::string place_below(const std::string& cluster, Role role);
  /// Removes all credentials of the cluster.
  void forget(const std::string& cluster) const;
  /// Removes the clusters of which all certificates are out of date for `age`.
  void forget_older(CalendarTime now, std::chrono::seconds age) const;

 private:
  std::string place_of(const std::string& cluster) const;
  std::string directory_;
  std::string of_run_;
};

}  // namespace penstock
