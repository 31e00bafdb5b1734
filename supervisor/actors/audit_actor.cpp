#include "supervisor/actors/audit_actor.hpp"

#include <syslog.h>  // tidy: allow arrows: the system's log

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "common/host/clock.hpp"
#include "common/loop/actor_host.hpp"

namespace penstock::supervisor {
namespace {

class Audit {
 public:
  explicit Audit(AuditActor::stateful_pointer<Audit> self) : self_(self) {}
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  static constexpr const char* name = "audit";

  AuditActor::behavior_type make_behavior(const AuditSetup& setup) {
    setup_ = setup;
    take_failures(*self_, ActorFailure::EndsProcess);
    self_->set_exit_handler([this](const caf::exit_msg& message) {
      if (!waiting_.empty()) write();
      self_->quit(message.reason);
    });
    return {[this](const AuditMail& mail) { take(mail); }, [this](const AuditRetryMail&) { write(); }};
  }

 private:
  void take(const AuditMail& mail) {
    for (const AuditRecord& record : *mail.records)
      if (waiting_.size() < setup_.waiting_max)
        waiting_.push_back(record);
      else
        ++lost_;
    ticket_ = mail.ticket;
    if (failed_) return report(*failed_);
    behind_ = behind_ > 0 ? behind_ - 1 : self_->mailbox().size();
    if (behind_ == 0 || self_->mailbox().empty()) write();
  }

  void write() {
    behind_ = 0;
    if (lost_ > 0) waiting_.push_back(lost_record());
    const Result<std::vector<std::string>> written = setup_.book->append(waiting_);
    if (!written) {
      if (lost_ > 0) waiting_.pop_back();
      failed_ = written.error();
      return report(*failed_);
    }
    failed_.reset();
    lost_ = 0;
    if (setup_.copy)
      for (const std::string& line : *written) setup_.copy(line);
    waiting_.clear();
    setup_.told(ticket_, std::nullopt);
  }

  void report(const Error& error) { setup_.told(ticket_, error); }

  AuditRecord lost_record() const {
    AuditRecord record;
    record.event = audit_event::kLost;
    record.at_ms = unix_now_ms();
    record.what = "records while the audit could not be written";
    record.outcome = failed_.has_value() ? to_string(*failed_) : "";
    record.count = lost_;
    return record;
  }

  AuditActor::stateful_pointer<Audit> self_;
  AuditSetup setup_;
  std::vector<AuditRecord> waiting_;
  std::uint64_t ticket_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t behind_ = 0;       ///< So many mails in the mailbox belong to the next write, too.
  std::optional<Error> failed_;  ///< Of the last try.
};

AuditActor::behavior_type audit_behavior(AuditActor::stateful_pointer<Audit> self, const AuditSetup& setup) {
  return self->state.make_behavior(setup);
}

}  // namespace

AuditActor spawn_audit(caf::actor_system& system, AuditSetup setup) {
  return system.spawn<caf::detached>(audit_behavior, std::move(setup));
}

void end_audit(caf::actor_system& system, const AuditActor& audit) {
  if (!audit) return;
  caf::anon_send_exit(audit, caf::exit_reason::user_shutdown);
  caf::scoped_actor { system } -> wait_for(audit);
}

void copy_to_syslog(const std::string& line) {
  ::syslog(LOG_AUTHPRIV | LOG_NOTICE, "penstock audit: %s", line.c_str());
}

}  // namespace penstock::supervisor
