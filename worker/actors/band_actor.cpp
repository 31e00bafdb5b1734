#include "worker/actors/band_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

namespace penstock::worker {
namespace {

class BandActor {
 public:
  explicit BandActor(caf::stateful_actor<BandActor>* self) : self_(self) {}

  static constexpr const char* name = "band";

  caf::behavior make_behavior(Loop*, ObjectStore*, const std::string&, const caf::actor& owner) {
    owner_ = owner;
    return {[this](const CommandStartMail& mail) { start(*mail.start); }, [](const CommandStopMail&) {}, [](const KillAllMail&) {}};
  }

 private:
  void start(const CommandStart& start) {
    auto end = std::make_shared<ForeignEnd>();
    end->ticket = start.ticket;
    end->succeeded = false;
    end->failure = std::make_unique<FailureDetail>();
    end->failure->failure = FailureClass::Refused;
    end->failure->message = "commands are not linked in yet";
    self_->send(owner_, CommandEndMail{std::move(end)});
  }

  caf::stateful_actor<BandActor>* self_;
  caf::actor owner_;
};

caf::behavior band_behavior(caf::stateful_actor<BandActor>* self, Loop* loop, ObjectStore* store, const std::string& spool,
                            const caf::actor& owner) {
  return self->state.make_behavior(loop, store, spool, owner);
}

}  // namespace

caf::actor spawn_band_actor(caf::actor_system& system, Loop& loop, ObjectStore& store, const std::string& spool, const caf::actor& owner) {
  return system.spawn(band_behavior, &loop, &store, spool, owner);
}

}  // namespace penstock::worker
