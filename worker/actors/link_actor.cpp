#include "worker/actors/link_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "common/host/log.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "common/wire/codec.hpp"
#include "worker/shell/renewed_link.hpp"

namespace penstock::worker {
namespace {

class LinkActor {
 public:
  explicit LinkActor(LinkHandle::stateful_pointer<LinkActor> self) : self_(self) {}

  static constexpr const char* name = "link";

  LinkHandle::behavior_type make_behavior(Loop* loop, const LinkActorOptions& options) {
    take_failures(*self_, ActorFailure::EndsProcess);
    loop_ = loop;
    options_ = options;
    handle_ = self_;
    self_->set_exit_handler([this](const caf::exit_msg& message) {
      uplink_.reset();
      worker_ = nullptr;
      handle_ = nullptr;
      self_->quit(message.reason);
    });
    return {[this](const NewLifeMail& mail) { begin(mail.life); }, [this](const FromWorkerMail& mail) { send(mail); }};
  }

 private:
  void begin(Incarnation life) {
    worker_ = caf::actor_cast<LinkOwner>(self_->current_sender());
    life_ = life;
    renewed_ = {};
    options_.uplink.incarnation = life;
    UplinkHandlers handlers;
    handlers.on_linked = [this] { log_line(LogLevel::Info, "linked", "name=" + options_.uplink.name); };
    handlers.on_renewed = [this] {
      log_line(LogLevel::Info, "linked to the supervisor's next life", "name=" + options_.uplink.name);
      renewed_.renew();
      caf::send_as(handle_, worker_, LinkRenewedMail{life_});
    };
    handlers.on_messages = [this](std::span<const std::byte> bytes) { receive(bytes); };
    handlers.on_heard = [this](Instant sent) { caf::send_as(handle_, worker_, SupervisorHeardMail{life_, sent}); };
    handlers.on_notice = [this](const SecurityNotice& notice) {
      caf::send_as(handle_, worker_, SecurityNoticeMail{notice});
    };
    handlers.on_trouble = [](const Error& error) { log_error(LogLevel::Warn, "supervisor not reached", error); };
    handlers.on_end = [this](const Error& error) { end(error); };
    uplink_ = std::make_unique<Uplink>(*loop_, options_.uplink, std::move(handlers));
  }

  void receive(std::span<const std::byte> bytes) {
    Result<std::vector<ToWorker>> messages = decode_to_worker(bytes);
    if (!messages) return end(messages.error());
    caf::send_as(handle_, worker_,
                 ToWorkerMail{life_, std::make_shared<const std::vector<ToWorker>>(std::move(messages).value())});
  }

  void send(const FromWorkerMail& mail) {
    if (mail.worker != life_ || uplink_ == nullptr || mail.messages->empty()) return;
    if (!renewed_.takes(*mail.messages)) return;
    const std::span messages{*mail.messages};
    for (std::size_t first = 0; first < messages.size();) {
      std::size_t bytes = 0;
      std::size_t last = first;
      while (last < messages.size() && (last == first || bytes < options_.uplink.wire.frame_bytes_target))
        bytes += wire_size(messages[last++]);
      uplink_->send(encode(messages.subspan(first, last - first)));
      first = last;
    }
  }

  void end(const Error& error) {
    // The uplink may be on the stack above us.
    auto gone = std::make_shared<std::unique_ptr<Uplink>>(std::move(uplink_));
    loop_->post([gone] {});
    const bool hopeless = error.code == ErrorCode::VersionMismatch || error.code == ErrorCode::MalformedFrame ||
                          error.code == ErrorCode::PermissionDenied;
    if (hopeless) {
      if (options_.on_fatal) options_.on_fatal(error);
      return;
    }
    caf::send_as(handle_, worker_, LinkEndedMail{life_, error});
  }

  LinkHandle::stateful_pointer<LinkActor> self_;
  Loop* loop_ = nullptr;
  LinkActorOptions options_;
  LinkHandle handle_;
  LinkOwner worker_;
  Incarnation life_;
  RenewedLink renewed_;
  std::unique_ptr<Uplink> uplink_;
};

LinkHandle::behavior_type link_behavior(LinkHandle::stateful_pointer<LinkActor> self, Loop* loop,
                                        const LinkActorOptions& options) {
  return self->state.make_behavior(loop, options);
}

}  // namespace

LinkHandle spawn_link_actor(caf::actor_system& system, Loop& loop, const LinkActorOptions& options) {
  return system.spawn(link_behavior, &loop, options);
}

}  // namespace penstock::worker
