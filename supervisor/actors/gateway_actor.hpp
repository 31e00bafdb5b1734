// The supervisor's border: sockets, introductions and links of workers and clients.
#pragma once

#include <caf/fwd.hpp>
#include <functional>
#include <memory>
#include <string>

#include "common/loop/loop.hpp"
#include "common/loop/mail.hpp"
#include "common/net/connection.hpp"
#include "common/protocol/border_config.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/actors/security_notices.hpp"
#include "supervisor/store/journal.hpp"

namespace penstock {
class SecretBox;
}

namespace penstock::supervisor {

class AuditBook;

struct GatewayOptions {
  HostPort listen{"127.0.0.1", 7465};
  bool locally = false;     ///< In place of that: for processes of this host and user, at a name that is drawn.
  ListenSecurity security;  ///< Without a credential every peer may do everything, under whatever name.
  /// Certifies a peer's key. Null: nobody can join.
  std::function<Result<Joined>(const Join&, const PeerStanding&)> certify;
  /// Whether a certificate is revoked, by its serial number. Null: none is.
  std::function<bool(const std::string&)> is_revoked;
  /// Serial numbers of all revoked certificates, for workers. Null: none.
  std::function<std::vector<std::string>()> revoked;
  /// The credential of a user's runs, for workers that start programs under accounts. Null: there are none.
  ToldCredentials::Source run_credential;
  /// Seals the secrets of jobs on their way in, and opens them on their way to workers. Null: none are taken.
  std::shared_ptr<const SecretBox> secrets;
  LinkConfig link;
  WireConfig wire;
  UserLimits users;
  Incarnation incarnation;           ///< Of this supervisor process.
  JournalIdentity identity;          ///< Of the recovered state; none without a journal.
  std::shared_ptr<AuditBook> audit;  ///< Null: nothing is recorded.
  AuditConfig audit_config;
};

/// Events at the border since the process began, and the peers that are there now.
struct GatewayCounters {
  std::uint64_t connections = 0;            ///< Accepted ones, those that were refused at once included.
  std::uint64_t connections_refused = 0;    ///< Too many.
  std::uint64_t handshakes_failed = 0;      ///< Dropped before they had introduced themselves, or too late.
  std::uint64_t introductions_refused = 0;  ///< No certificate, a wrong one, a name that is taken, another version.
  std::uint64_t certified = 0;              ///< Certificates for tokens, and renewed ones.
  std::uint64_t peers_left = 0;
  std::uint64_t requests = 0;
  std::uint64_t requests_over_rate = 0;
  std::uint64_t requests_not_allowed = 0;  ///< By role, groups or secrets.
  std::uint64_t frames_sent = 0;           ///< By links that have ended, and by those that are there.
  std::uint64_t frames_resent = 0;
  std::uint64_t workers = 0;
  std::uint64_t clients = 0;
};

/// A running gateway; destroying it closes the port and every link.
class Gateway {
 public:
  /// Listens, and carries frames between peers and the supervisor's actor. Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<Gateway>> open(caf::actor_system& system, Loop& loop, const GatewayOptions& options,
                                               const SupervisorHandle& supervisor);
  ~Gateway();
  /// To be connected to.
  HostPort address() const;
  std::uint16_t port() const { return address().port; }
  /// Ends the links of peers with a revoked certificate, and tells workers what has changed.
  void credentials_changed();
  GatewayCounters counters() const;
  /// Records an order that no peer has given.
  void note_local(const std::string& event, const std::string& what, const std::string& outcome);

 private:
  struct State;
  explicit Gateway(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock::supervisor
