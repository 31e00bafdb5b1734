#include "worker/actors/band_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "common/loop/actor_host.hpp"

namespace penstock::worker {
namespace {

class BandActor {
 public:
  explicit BandActor(BandHandle::stateful_pointer<BandActor> self) : self_(self) {}
  ~BandActor() {
    if (runners_ != nullptr) runners_->erase(runner_.get());
  }

  static constexpr const char* name = "band";

  BandHandle::behavior_type make_behavior(Loop* loop, ObjectStore* store, CommandRunnerConfig config,
                                          const std::shared_ptr<CommandRunners>& runners, const CommandOwner& owner) {
    take_failures(*self_, ActorFailure::EndsProcess);
    config.on_measured = [this, owner, band = config.band](Bytes used) {
      caf::anon_send(owner, CommandMemoryMail{life_, band, used});
    };
    // A program may end while the actor reads no mail: its end is sent without a sender.
    runner_ = std::make_unique<CommandRunner>(*loop, *store, config, [this, owner](CommandEnd&& end) {
      caf::anon_send(owner, CommandEndMail{life_, std::make_shared<CommandEnd>(std::move(end))});
    });
    runners_ = runners;
    runners_->insert(runner_.get());
    self_->set_exit_handler([this](const caf::exit_msg& message) {
      runners_->erase(runner_.get());
      runner_.reset();
      self_->quit(message.reason);
    });
    return {[this](const CommandStartMail& mail) { start(mail); },
            [this](const CommandStopMail& mail) { runner_->stop(mail.ticket, mail.kill); },
            [this](const RunnerGoneMail& mail) { runner_->end_daemons(mail.mark); },
            [this](const KillAllMail& mail) {
              over_ = mail.life;
              runner_->kill_all();
            }};
  }

 private:
  // Lanes of an ending incarnation still finish runs, and its core may then start more commands.
  void start(const CommandStartMail& mail) {
    if (mail.life == over_) return;
    life_ = mail.life;
    runner_->start(std::move(mail.start->run));
  }

  BandHandle::stateful_pointer<BandActor> self_;
  Incarnation life_;
  Incarnation over_;
  std::shared_ptr<CommandRunners> runners_;
  std::unique_ptr<CommandRunner> runner_;
};

BandHandle::behavior_type band_behavior(BandHandle::stateful_pointer<BandActor> self, Loop* loop, ObjectStore* store,
                                        const CommandRunnerConfig& config,
                                        const std::shared_ptr<CommandRunners>& runners, const CommandOwner& owner) {
  return self->state.make_behavior(loop, store, config, runners, owner);
}

}  // namespace

BandHandle spawn_band_actor(caf::actor_system& system, Loop& loop, ObjectStore& store,
                            const CommandRunnerConfig& config, const std::shared_ptr<CommandRunners>& runners,
                            const CommandOwner& owner) {
  return system.spawn(band_behavior, &loop, &store, config, runners, owner);
}

}  // namespace penstock::worker
