// Records of the audit from the border of a supervisor.
#pragma once

#include <caf/fwd.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/loop/loop.hpp"
#include "common/protocol/border_config.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/handshake.hpp"
#include "supervisor/audit/audit_book.hpp"

namespace penstock {
struct PeerStanding;
}

namespace penstock::supervisor {

/// The peer that a record is about.
struct AuditedPeer {
  std::string user;
  std::string role;
  std::string serial;  ///< Of its certificate.
  std::string from;    ///< Its address.
};
AuditedPeer audited(const PeerStanding& standing, const std::string& address);
/// The purpose of a `Join`: a login, with the token's number but not its secret, or a renewal.
std::string words_of(const Join& join);

/// Makes records of what peers ask and how it ends, and has them written on a thread of its own.
///
/// An order or a submit becomes a record when it is answered. An accepted order, and a certificate for a token, are
/// answered when their record is on the disk: `ticket`. Refusals, and submits of runs, are counted where they come too
/// often (`RefusalCounts`). Lives on the loop's thread; its end writes what waits.
class Auditor {
 public:
  /// `written`: some ticket is written, or cannot be written now and nobody should wait for it.
  Auditor(caf::actor_system& system, Loop& loop, std::shared_ptr<AuditBook> book, const AuditConfig& config,
          std::function<void()> written);
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  void refused(const AuditedPeer& peer, const std::string& what, const Error& why);
  /// A certificate was given: a login, or a renewal. The ticket of its record.
  std::uint64_t certified(const AuditedPeer& peer, const Join& join, const Joined& joined);
  /// A message that is passed on; only orders and submits are kept in mind until they are answered.
  void asked(Incarnation client, const AuditedPeer& peer, const FromClient& message);
  /// The answer waits for this ticket; 0: it need not wait.
  std::uint64_t answered(Incarnation client, const ToClient& answer);
  /// The client is gone: its orders have no answer.
  void left(Incarnation client);
  /// An order that no peer has given.
  void note_local(const std::string& event, const std::string& what, const std::string& outcome);
  /// Whether nobody need wait for the ticket any more.
  bool is_settled(std::uint64_t ticket) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::supervisor
