// WorkerHost: runs that lend their slot while they wait for nested work, and want it back.
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;

/// Draws of its own. Not under a policy: its witnesses count a run from its start to its end.
void WorkerHost::plan_yield(RecordIndex record, const Run& run, Duration duration) {
  Rng rng{mix_bits(world_.options().seed) ^ hash_of(run.id) ^ mix_bits(run.attempt.value() + 0x41e1d)};
  if (!world_.options().faults.yields || world_.options().policy || !rng.chance(1, 16)) return;
  const auto at = [&](Duration when, auto what) {
    world_.queue().after(when, [this, record, number = run.number, what, life = life_] {
      if (life != life_ || !up_) return;
      deliver([this, record, number, what] {
        const auto found = runs_.find(record);
        if (found != runs_.end() && found->second.number == number) what(found->second);
      });
    });
  };
  at(duration / 3, [this, record](Run& held) { handle(worker_event::SlotYielded{record, held.attempt}); });
  at(duration * 2 / 3 + rng.between(0, 3) * duration, [this, record](Run& held) {
    if (!held.holds_slots()) handle(worker_event::SlotWanted{record, held.attempt});
  });
}

void WorkerHost::carry_out(const AnswerYield& answer) {
  const auto found = runs_.find(answer.record);
  if (found == runs_.end() || found->second.attempt != answer.attempt)
    return world_.oracle().breach("a run that has ended is told whether it lends its slot");
  if (!answer.lent) return world_.note("life % lets a run keep its slot", {life_});
  world_.note("life % lends the slot of a run", {life_});
  found->second.yields = Yields::Lent;
}

/// The run has its slot again, and ends if its time has passed meanwhile.
void WorkerHost::resume(const StartSubtask& action) {
  const auto found = runs_.find(action.record);
  if (found == runs_.end() || found->second.yields == Yields::Nothing)
    return world_.oracle().breach(to_string(action.id) + " goes on, and has lent no slot");
  check_entitlement(action);
  const bool over = std::exchange(found->second.yields, Yields::Nothing) == Yields::LentAndOver;
  if (!over) return;
  world_.queue().after(Duration{0}, [this, record = action.record, number = found->second.number, life = life_] {
    if (life == life_ && up_) deliver([this, record, number] { end_run(record, number, false); });
  });
}

}  // namespace penstock::simulation
