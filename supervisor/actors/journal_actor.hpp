// The actor that waits for the disk.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/result.hpp"
#include "common/storage/storage.hpp"
#include "supervisor/core/actions.hpp"

namespace penstock::supervisor {

/// From the journal to its owner: everything up to this ticket is on the disk, or the error of a try that failed.
struct JournalMail {
  std::uint64_t ticket = 0;
  std::shared_ptr<const Error> error;
  Duration took{};            ///< The try, with its sync,
  std::uint64_t changes = 0;  ///< and the changes in it.
};

/// From the owner, some time after an error: try again.
struct RetryMail {};

}  // namespace penstock::supervisor

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::supervisor_action::Persist)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::JournalMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::RetryMail)

namespace penstock::supervisor {

/// Writes the records that the core orders, in order, on a thread of its own. Group commit: it takes all that waits
/// and syncs once, so a slow disk makes larger batches. A batch that could not be written stays first in line until
/// `RetryMail` comes. Encodes on its own thread, too: it reads graphs there, which therefore live until their ticket is
/// reported, or until the actor has ended.
///
/// An exit message is an end in good order: all that came before is written, with one try, and the storage is closed.
using JournalActor = caf::typed_actor<caf::reacts_to<supervisor_action::Persist>, caf::reacts_to<RetryMail>>;

using JournalOwner = caf::typed_actor<caf::reacts_to<JournalMail>>;

struct JournalSetup {
  std::shared_ptr<Storage> storage;
  std::uint64_t next_number = 1;
  /// Asked between a commit and its report: whether the state is still ours. Empty: always. After an error nothing is
  /// reported any more, because another supervisor owns the state, and the actor ends normally.
  std::function<Result<void>()> may_report{};
};

/// `owner` monitors the actor and takes its `JournalMail`.
JournalActor spawn_journal(caf::scheduled_actor& owner, JournalSetup setup);

/// Lets the actor end in good order, and blocks until it has ended. Null: does nothing.
void end_journal(caf::actor_system& system, const JournalActor& journal);

}  // namespace penstock::supervisor
