// The actor that writes the audit.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/audit/audit_book.hpp"

namespace penstock::supervisor {

/// Records, and the ticket that is told when they are on the disk.
struct AuditMail {
  std::shared_ptr<const std::vector<AuditRecord>> records;
  std::uint64_t ticket = 0;
};
/// From the owner, a while after an error: try again.
struct AuditRetryMail {};

}  // namespace penstock::supervisor

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::AuditMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::AuditRetryMail)

namespace penstock::supervisor {

/// Appends records on a thread of its own, all that wait at once. Records that could not be written stay first in line,
/// `waiting_max` of them; later ones are counted, and a record says how many when there is room again. An exit message
/// is an end in good order: all that came before is written, with one try.
using AuditActor = caf::typed_actor<caf::reacts_to<AuditMail>, caf::reacts_to<AuditRetryMail>>;

struct AuditSetup {
  std::shared_ptr<AuditBook> book;
  std::uint32_t waiting_max = 10'000;
  /// Called from the actor's thread: everything up to this ticket is on the disk, or the error of a try that failed.
  std::function<void(std::uint64_t ticket, const std::optional<Error>& error)> told;
  /// Called with the line of each record that is on the disk; may be empty.
  std::function<void(const std::string& line)> copy;
};

AuditActor spawn_audit(caf::actor_system& system, AuditSetup setup);

/// Lets the actor end in good order, and blocks until it has ended. Null: does nothing.
void end_audit(caf::actor_system& system, const AuditActor& audit);

/// Sends a line to the system's log, among its messages about authentication.
void copy_to_syslog(const std::string& line);

}  // namespace penstock::supervisor
