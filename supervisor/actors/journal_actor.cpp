#include "supervisor/actors/journal_actor.hpp"

#include <caf/scheduled_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "common/host/clock.hpp"
#include "common/loop/actor_host.hpp"
#include "supervisor/store/journal.hpp"

namespace penstock::supervisor {
namespace {

class Journal {
 public:
  explicit Journal(JournalActor::stateful_pointer<Journal> self) : self_(self) {}
  ~Journal() {
    if (setup_.storage != nullptr)
      static_cast<void>(setup_.storage->close().has_value());  // No error can be reported any more.
  }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  static constexpr const char* name = "journal";

  JournalActor::behavior_type make_behavior(const JournalOwner& owner, const JournalSetup& setup) {
    owner_ = owner;
    setup_ = setup;
    take_failures(*self_, ActorFailure::EndsActor);
    self_->set_exit_handler([this](const caf::exit_msg& message) {
      if (!batch_.changes.empty()) commit();
      self_->quit(message.reason);
    });
    return {[this](const supervisor_action::Persist& order) { take(order); }, [this](const RetryMail&) { commit(); }};
  }

 private:
  void take(const supervisor_action::Persist& order) {
    for (const Record& record : order.records) write_record(record, setup_.next_number++, batch_);
    ticket_ = order.ticket;
    if (failed_) return;
    // A commit takes what waits when its first order is taken: later ones could come for as long as it encodes.
    behind_ = behind_ > 0 ? behind_ - 1 : self_->mailbox().size();
    if (behind_ == 0 || self_->mailbox().empty()) commit();
  }

  void commit() {
    behind_ = 0;
    const Instant begun = monotonic_now();
    const Result<void> committed = setup_.storage->commit(batch_, Sync::Yes);
    failed_ = !committed.has_value();
    // The order matters: entries that were on the disk before the lease was found to be ours are in every state that
    // the next holder reads.
    if (setup_.may_report && !setup_.may_report()) return self_->quit();
    JournalMail mail{ticket_, {}, monotonic_now() - begun, batch_.changes.size()};
    if (failed_) {
      mail.ticket = 0;
      mail.error = std::make_shared<const Error>(committed.error());
    } else {
      batch_.changes.clear();
    }
    caf::anon_send(owner_, std::move(mail));
  }

  JournalActor::stateful_pointer<Journal> self_;
  JournalOwner owner_;
  JournalSetup setup_;
  StorageBatch batch_;  ///< Entries that could not be written stay in it.
  std::uint64_t ticket_ = 0;
  std::size_t behind_ = 0;  ///< So many orders in the mailbox belong to the next commit, too.
  bool failed_ = false;     ///< The last commit.
};

JournalActor::behavior_type journal_behavior(JournalActor::stateful_pointer<Journal> self, const JournalOwner& owner,
                                             const JournalSetup& setup) {
  return self->state.make_behavior(owner, setup);
}

}  // namespace

JournalActor spawn_journal(caf::scheduled_actor& owner, JournalSetup setup) {
  return owner.spawn<caf::detached + caf::monitored>(journal_behavior, caf::actor_cast<JournalOwner>(owner.address()),
                                                     std::move(setup));
}

void end_journal(caf::actor_system& system, const JournalActor& journal) {
  if (!journal) return;
  caf::anon_send_exit(journal, caf::exit_reason::user_shutdown);
  caf::scoped_actor { system } -> wait_for(journal);
}

}  // namespace penstock::supervisor
