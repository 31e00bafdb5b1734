// WorkerHost: what its core orders.
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;
using std::chrono::microseconds;

void WorkerHost::carry_out_all(Actions<WorkerAction>& actions) {
  for (WorkerAction& action : actions) std::visit([this](auto& concrete) { carry_out(concrete); }, action);
}

void WorkerHost::carry_out(const StartSubtask& action) {
  if (!action.offered) return start(action);
  offers_open_ = true;
  offers_.push_back(action);
}

void WorkerHost::carry_out(const StopRun& stop) {
  const auto found = runs_.find(stop.record);
  if (found == runs_.end()) return;
  // A run that must not overlap is killed without grace by a worker that is cut off.
  if (stop.kill && found->second.program->overlap == Overlap::Never) graces_.may_end(found->second.id);
  if (stop.kill) check_grace(found->second);
  // A part of the programs does not listen until they are killed.
  if (!stop.kill && world_.rng().chance(1, 2)) return;
  const std::uint64_t number = found->second.number;
  world_.queue().after(microseconds{world_.rng().between(10, 3000)},
                       [this, record = stop.record, number, life = life_] {
                         if (life == life_ && up_) deliver([this, record, number] { end_run(record, number, true); });
                       });
}

void WorkerHost::carry_out(const StoreOutputs& order) {
  stores_or_discards(order.record, order.attempt);
  world_.queue().after(microseconds{world_.rng().between(10, 5000)}, [this, what = order, life = life_] {
    if (life != life_ || !up_) return;
    deliver([this, what] {
      storing_.erase(what.id);
      handle(worker_event::OutputsStored{what.record, what.attempt, nullptr});
    });
  });
}

void WorkerHost::stores_or_discards(RecordIndex record, Attempt attempt) {
  const auto found = unstored_.find(record);
  if (found == unstored_.end() || found->second != attempt)
    return world_.oracle().breach("outputs were stored or discarded twice, or are none");
  unstored_.erase(found);
}

void WorkerHost::carry_out(const FetchInput& action) {
  fetching_.insert(action.key);
  const FetchInput what = action;
  // Two draws, two statements: the order of operands is the compiler's choice.
  const Duration request = world_.latency();
  const Duration transfer = microseconds{world_.rng().between(1, 2000)};
  world_.queue().after(request + transfer, [this, what, life = life_] {
    if (life != life_ || !up_) return;
    deliver([this, what] {
      if (fetching_.erase(what.key) == 0) return;
      const WorkerHost* holder = world_.find_worker(what.from);
      FetchEnd end;
      end.key = what.key;
      const bool reachable = holder != nullptr && holder->up() && !holder->cut_off() && !cut_off_;
      const bool unlucky = world_.options().faults.fetch_failures && world_.faults_on() && world_.rng().chance(1, 20);
      end.succeeded = reachable && holder->has(what.key) && !unlucky;
      end.gone = reachable && !holder->has(what.key);
      if (end.succeeded) {
        const Content& content = holder->store_.at(what.key);
        end.bytes = content.bytes;
        store_[what.key] = content;
        note_datum("life % has fetched %:%.%", what.key);
      }
      handle(worker_event::FetchesEnded{std::span{&end, 1}});
    });
  });
}

void WorkerHost::carry_out(const CancelFetch& order) {
  if (world_.rng().chance(3, 4)) fetching_.erase(order.key);  // Else it had come already, and is told of late.
}

void WorkerHost::carry_out(const ReleaseDatum& order) {
  if (is_pinned(order.key) && core_->find_datum(order.key)->place == DatumPlace::Here)
    world_.oracle().breach("a pinned datum was released");
  spilled_.insert(order.key);
}

void WorkerHost::carry_out(const AdoptCheckpoint& order) {
  const auto found = world_.checkpoints().find({order.writer.value(), order.key});
  if (found != world_.checkpoints().end()) store_[order.key] = found->second;
  adopted_[order.key] = order.writer.value();
  spilled_.insert(order.key);
  note_datum("life % stands for %:%.%", order.key);
}

void WorkerHost::carry_out(const SweepCheckpoints& order) {
  for (const Incarnation writer : order.writers)
    std::erase_if(world_.checkpoints(), [&](const auto& file) { return file.first.first == writer.value(); });
}

void WorkerHost::carry_out(const SendReport& word) {
  for (const JobReports& job : word.batch.jobs)
    for (const AttemptReport& attempt : job.attempts)
      if (attempt.outcome == Outcome::Succeeded)
        world_.oracle().success_reported(life_, {job.job, attempt.subtask}, attempt.attempt);
  send(word.batch);
}

void WorkerHost::carry_out(const Reclaim&) {
  said_empty_ = false;
  send(description(true));
}

void WorkerHost::carry_out(SendClaim& word) {
  check_claim(word.claim);
  send(std::move(word.claim));
}

void WorkerHost::carry_out(const SendDrainState& word) {
  said_empty_ = word.state.draining && word.state.empty;
  send(word.state);
}

void WorkerHost::carry_out(const SendBarrierAnswer& word) {
  reservations_.answered(word.answer);
  check_answer(word.answer);
  world_.supervisor().check_give_back(*this, word.answer);
  send(word.answer);
}

void WorkerHost::carry_out(const SendExplanation& word) { send(word.answer); }

void WorkerHost::carry_out(const Reject& word) {
  world_.oracle().breach("worker rejects: " + to_string(*word.error));
}

void WorkerHost::carry_out(const RestartRunners& order) {
  deliver([this, what = order] { handle(worker_event::LanesRestarted{what.band, what.lanes}); });
}

}  // namespace penstock::simulation
