// Certifies the processes and users of a cluster: by tokens, and by certificates that are to be renewed.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/security/authority.hpp"

namespace penstock {

/// A one-time token, without its secret.
struct Token {
  std::string id;  ///< Eight hexadecimal digits, also the beginning of the token itself.
  Role role = Role::Client;
  std::string user;  ///< Of the certificate; empty: of the process that joins.
  CalendarTime until;
  std::vector<std::string> groups{};  ///< Of the certificate.
};

/// The name of the cluster and the secret of a token, as they stand in its file: `penstock-CLUSTER-ID-SECRET`. One
/// without a secret is `penstock-CLUSTER-munge`: each user proves its name by MUNGE, any number of times.
struct TokenText {
  std::string cluster;
  std::string id;
  std::string secret;
  bool by_munge() const { return id == kByMunge; }
  static constexpr std::string_view kByMunge = "munge";
};
/// The text that the credential of MUNGE for this key seals.
std::string munge_content(const std::string& public_key);
std::string to_string(const TokenText& token);
/// Error: InvalidArgument; the message does not repeat the text.
Result<TokenText> parse_token(std::string_view text);

/// The book of tokens, of issued certificates and of those that are revoked, as files in the directory of an authority.
/// A command may change it while a supervisor serves from it: each call reads what it needs, and a token is a file that
/// only one of two takers can remove. Not thread-safe.
class Registrar {
 public:
  /// `directory`: of the authority, where it was opened. Errors: InvalidArgument, StorageFull.
  static Result<Registrar> open(const std::string& directory);

  const Authority& authority() const { return authority_; }

  /// A new token; it is told once. One for a client, operator or admin names its user. Errors: InvalidArgument: the
  /// name of the user; LimitExceeded: `tokens_max` are there.
  Result<TokenText> create_token(Role role, const std::string& user, std::chrono::seconds life, std::size_t tokens_max,
                                 CalendarTime now, const std::vector<std::string>& groups = {}) const;
  /// Tokens that are neither used nor out of date.
  std::vector<Token> list_tokens(CalendarTime now) const;
  /// Takes the token back, and all certificates that it has led to. Error: NotFound.
  Result<void> revoke_token(const std::string& id) const;
  /// Takes back all certificates and tokens of the user. Error: NotFound: there is none.
  Result<void> revoke_user(const std::string& user) const;

  /// Certifies a key for a token, which is used up. `own_user`: of the process that joins. Errors: PermissionDenied:
  /// the token is unknown, used or out of date; InvalidArgument.
  Result<CertificatePtr> join(const TokenText& token, const std::string& public_key, const std::string& own_user,
                              std::chrono::seconds life, CalendarTime now) const;
  /// Certifies a key for a user that MUNGE has proven. Errors: InvalidArgument: the name or the key.
  Result<CertificatePtr> join_proven(const std::string& user, const std::string& public_key, std::chrono::seconds life,
                                     CalendarTime now) const;
  /// Certifies another key for the owner of a certificate. Errors: PermissionDenied: it is revoked; InvalidArgument.
  Result<CertificatePtr> renew(const PeerIdentity& peer, const std::string& serial, const std::string& public_key,
                               std::chrono::seconds life, CalendarTime now);
  /// A new key with a certificate for a process of the user that runs the supervisor.
  Result<Credential> issue(Role role, const std::string& user, std::chrono::seconds life, CalendarTime now) const;
  /// Shortens the lists: certificates that have expired need not be known. For the process that serves.
  Result<void> forget_expired(CalendarTime now);
  /// Whether a certificate is revoked.
  bool is_revoked(const std::string& serial) const { return revoked_.contains(serial); }
  /// Serial numbers of all revoked certificates that have not ended.
  std::vector<std::string> revoked() const { return {revoked_.begin(), revoked_.end()}; }
  /// Reads again what is revoked; true if it has changed since the last call. An error keeps what was read before.
  Result<bool> look_for_revocations();

 private:
  Registrar(std::string directory, Authority authority)
      : directory_(std::move(directory)), authority_(std::move(authority)) {}

  /// One line of the list of certificates.
  struct Issued {
    std::string serial;
    std::string token;
    std::string user;
    CalendarTime until;
  };
  std::string token_file(const std::string& id) const { return directory_ + "/tokens/" + id; }
  /// The owner that a certificate names, and the token that has led to it.
  struct Right {
    Role role = Role::Client;
    std::string user;
    std::string token;
    std::vector<std::string> groups;
  };
  Result<std::vector<Issued>> issued() const;
  Result<void> note(const X509& certificate, const std::string& token, const std::string& user) const;
  Result<CertificatePtr> certify(const std::string& public_key, const Right& right, std::chrono::seconds life,
                                 CalendarTime now) const;
  template <class IsMeant>
  Result<std::size_t> revoke(IsMeant is_meant) const;

  std::string directory_;
  Authority authority_;
  std::set<std::string> revoked_;  ///< Serial numbers.
  std::string revocations_read_;   ///< The file as it was read last.
};

}  // namespace penstock
