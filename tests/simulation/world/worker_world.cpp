#include "tests/simulation/world/worker_world.hpp"

#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;

void WorkerWorld::carry_out(const StartSubtask& action) { host_.programs().start(action); }
void WorkerWorld::carry_out(const StopRun& order) { host_.programs().stop(order); }
void WorkerWorld::carry_out(const AnswerYield& answer) { host_.programs().answer(answer); }

void WorkerWorld::carry_out(const RestartRunners& order) {
  host_.deliver([&host = host_, what = order] { host.handle(worker_event::LanesRestarted{what.band, what.lanes}); });
}

void WorkerWorld::carry_out(const SpillDatum& order) { host_.data().spill(order.key); }
void WorkerWorld::carry_out(const RestoreInput& order) { host_.data().restore(order.key); }
void WorkerWorld::carry_out(const CheckpointDatum& order) { host_.data().checkpoint(order.key); }
void WorkerWorld::carry_out(const SweepCheckpoints& order) { host_.data().sweep(order); }
void WorkerWorld::carry_out(const AdoptCheckpoint& order) { host_.data().adopt(order); }
void WorkerWorld::carry_out(const DropDatum& order) { host_.data().drop(order.key); }
void WorkerWorld::carry_out(const ReleaseDatum& order) { host_.data().release(order.key); }
void WorkerWorld::carry_out(const NameJob& order) { host_.data().name_job(order); }
void WorkerWorld::carry_out(const FetchInput& order) { host_.data().fetch(order); }
void WorkerWorld::carry_out(const CancelFetch& order) { host_.data().cancel_fetch(order.key); }

void WorkerWorld::carry_out(const Reject& word) {
  host_.world().oracle().breach("worker rejects: " + to_string(*word.error));
}

void WorkerWorld::store(const StoreOutputs& order, Made outputs) { host_.data().store(order, std::move(outputs)); }

void WorkerWorld::say(FromWorker message) {
  host_.witness().check_words(message);
  outbox_.add(std::move(message));
}

void WorkerWorld::introduce_again() {
  host_.witness().introduced_again();
  outbox_.introduce_again();
}

std::string WorkerWorld::log_of(JobId job) const { return host_.name() + " has run something of " + to_string(job); }

void WorkerWorld::end_round() {
  if (!outbox_.empty()) host_.link().send(outbox_.take());
}

void WorkerWorld::arm(Instant at) {
  tick_at_ = at - clock_of(Incarnation{host_.life()});
  host_.world().timeline().at(tick_at_, [&host = host_, life = host_.life(), this, at = tick_at_] {
    // This object is of that life.
    if (life != host.life() || !host.up() || tick_at_ != at) return;
    tick_at_ = kNever;
    host.deliver([&host] { host.tick(); });
  });
}

}  // namespace penstock::simulation
