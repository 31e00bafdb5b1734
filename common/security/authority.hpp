// The private authority of one cluster, which certifies its processes and users.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/host/clock.hpp"
#include "common/security/certificate.hpp"

namespace penstock {

/// Signs certificates with a key that leaves its directory never. Not thread-safe.
class Authority {
 public:
  /// The authority in this directory, which is made at the first time: for its owner alone, as are its files. Errors:
  /// InvalidArgument: a file there is damaged, or others may read the key; Internal: the directory cannot be written.
  static Result<Authority> open(const std::string& directory);
  /// An authority that ends with this process.
  static Result<Authority> make();

  /// Identifies it; see `cluster_of`.
  const std::string& cluster() const { return cluster_; }
  X509& certificate() const { return *certificate_; }

  /// A new key and its certificate, which is valid from `kClocksDiffer` before `now` until `life`
  /// after it. Error: InvalidArgument: the name of the user.
  Result<Credential> issue(Role role, const std::string& user, std::chrono::seconds life,
                           CalendarTime now = calendar_now()) const;
  /// The same for a key that stays with its owner.
  Result<CertificatePtr> certify(EVP_PKEY& key, Role role, const std::string& user, std::chrono::seconds life,
                                 CalendarTime now = calendar_now(), const std::vector<std::string>& groups = {}) const;
  /// Signs a text, which must not read as a certificate; see `is_signed_by`. Error: Internal.
  Result<std::string> sign(std::string_view text) const;

 private:
  Authority(KeyPtr key, CertificatePtr certificate);

  KeyPtr key_;
  CertificatePtr certificate_;
  std::string cluster_;
};

}  // namespace penstock
