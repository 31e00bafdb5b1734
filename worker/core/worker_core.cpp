#include "worker/core/worker_core.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

// Each start of a subtask takes one: at 264 bytes a stencil ran 17% slower.
static_assert(sizeof(WorkerAction) <= 96, "put what is large and rare behind a `Seldom`");

WorkerCore::WorkerCore(const WorkerConfig& config, const std::vector<BandDescription>& bands)
    : config_(config),
      bands_(bands, config_),
      reports_(config_, event_, tables_),
      data_(config_, event_, tables_, bands_, reports_),
      runs_(config_, event_, tables_, bands_, reports_, data_),
      orders_(config_, event_, tables_, bands_, reports_, data_, runs_) {}

void WorkerCore::handle(const WorkerEvent& event, Instant now, Actions<WorkerAction>& actions) {
  event_.now = now;
  event_.out = &actions;
  if (!std::holds_alternative<worker_event::SupervisorHeard>(event)) orders_.overlap.check();
  std::visit([this](const auto& concrete) { on(concrete); }, event);
  if (data_.room.any_waiting()) runs_.run_ends.serve_room();
  // After a run or a write to disk has ended, items that may start now can be in any band.
  if (data_.room.any_waiting() && !at_rest_ && data_.room.at_rest()) bands_.mark_all_dirty();
  runs_.pump.pump_all();
  if (bands_.any_barrier()) orders_.entitlements.answer_barriers();
  data_.keeper.start_fetches();
  data_.spiller.keep_room(data_.keeper.blocked());
  for (const auto& band : bands_) band->warm_runners(tables_.jobs, !reports_.drain.on(), actions);
  const bool idle = bands_.idle();
  at_rest_ = idle && data_.room.nothing_leaves();
  reports_.reporter.flush(idle);
  event_.out = nullptr;
}

std::optional<Instant> WorkerCore::next_deadline() const {
  Instant next =
      std::min({runs_.watch.deadline(), reports_.reporter.deadline(), runs_.offers.deadline(), data_.room.given_up_at(),
                data_.spiller.deadline(), orders_.overlap.deadline(), orders_.entitlements.deadline()});
  for (const auto& band : bands_)
    if (band->held_back) next = std::min(next, later(band->running.progress_at(), config_.report_after));
  return next == kNever ? std::nullopt : std::optional{next};
}

void WorkerCore::on(const worker_event::MessageArrived& event) {
  std::visit(Overloaded{
                 [this](const AssignBatch& message) { orders_.intake.take(message); },
                 [this](const InputNoticeBatch& message) { orders_.data.notice(message); },
                 [this](const CancelBatch& message) { orders_.cancels.apply(message); },
                 [this](const PriorityBatch& message) { orders_.priorities.change(message); },
                 [this](const EntitlementBatch& message) { orders_.entitlements.apply(message); },
                 [this](const StealRequest& message) { orders_.cancels.steal(message); },
                 [this](const DropBatch& message) { orders_.data.drop(message); },
                 [this](const ForgetJob& message) { orders_.cancels.forget(message); },
                 [this](const KeepBatch& message) { orders_.data.keep(message); },
                 [this](const RemoveCheckpoints& message) {
                   event_.out->add(worker_action::SweepCheckpoints{message.writers});
                 },
                 [this](const ReportsApplied& message) { receive(message); },
                 [this](const Drain& message) { receive(message); },
                 [this](const ExplainQuestion& message) { receive(message); },
                 [](const RegisterReply&) {},     // No decision depends on our number at the supervisor.
                 [](const LogQuestion&) {},       // For the shell: logs of runners are no state of the core.
                 [](const PeerAddressBatch&) {},  // For the shell: the core knows only the numbers of workers.
             },
             event.message);
}

void WorkerCore::on(const worker_event::RunsEnded& event) {
  if (event.offers_withdrawn)
    for (const auto& band : bands_) band->running.forget_ends();
  runs_.run_ends.ended(event.runs);
  if (event.offers_withdrawn) runs_.offers.withdraw();
  if (!event.runs.empty()) reports_.reporter.expect_load();
}

void WorkerCore::on(const worker_event::OffersWanted&) {
  runs_.pump.pump_all();
  for (const auto& band : bands_) runs_.offers.offer(*band);
}

void WorkerCore::on(const worker_event::FetchesEnded& event) {
  reports_.reporter.expect_load();
  for (const FetchEnd& fetch : event.fetches) runs_.flow.input_settled(data_.keeper.fetched(fetch));
}

void WorkerCore::on(const worker_event::DatumCheckpointed& event) {
  // A missing copy changes nothing here; the shell has reported the fault.
  if (event.succeeded && data_.table.find(event.key).valid())
    reports_.reporter.add_replica(ReplicaReport{event.key.producer, event.key.output, true});
}

void WorkerCore::on(const worker_event::LanesRestarted& event) {
  if (!bands_.knows(event.band)) return;
  Band& band = bands_[event.band];
  for (const SlotIndex lane : event.lanes) band.execute.lanes().restarted(lane);
  band.dirty = true;
}

void WorkerCore::on(const worker_event::MemoryMeasured& event) {
  if (!bands_.knows(event.band)) return;
  Band& band = bands_[event.band];
  const ReliefStep step = band.relief.measured(event, band.quota, event_.now, config_.relieve_every);
  tables_.counters.relief_steps += step.any;
  if (step.ends) {
    band.quota.set_paused(false);
    band.dirty = true;
  }
  if (step.restart_idle) band.restart_idle_runners(*event_.out);
  if (step.stop_grants) {
    band.quota.set_paused(true);
    runs_.pump.unready(band);
  }
  if (step.spill > Bytes{0}) data_.spiller.spill(step.spill);
}

// Fault F05. First the reports that may not be written down, then the present state: so a success that is new to the
// next term comes before everything that rests on it. The next term knows no load of before, and the last one may have
// got lost with the old term: loads are told although nothing changes.
void WorkerCore::on(const worker_event::SupervisorReturned&) {
  PENSTOCK_COVERAGE_MARK("a worker goes on under another life of the supervisor");
  event_.out->add(worker_action::Reclaim{});
  reports_.reporter.repeat_all();
  orders_.entitlements.term_ended();
  for (std::uint32_t slot = 0; slot < tables_.jobs.slots(); ++slot) {
    if (!tables_.jobs.is_open(JobSlot{slot})) continue;
    orders_.claims.add_job(JobSlot{slot}, reports_.drain.on());
    orders_.entitlements.lift(JobSlot{slot});
  }
  orders_.claims.finish(reports_.drain.on());
  orders_.loans.tell_again();
  reports_.reporter.hurry_load();
  reports_.drain.tell_again();
}

void WorkerCore::on(const worker_event::Tick&) {
  for (const auto& band : bands_) band->dirty = band->dirty || band->held_back;
  runs_.run_ends.give_up_room();
  runs_.watch.check();
  if (reports_.reporter.load_due()) tell_loads();
}

void WorkerCore::receive(const ReportsApplied& message) {
  applied_.clear();
  reports_.reporter.applied(message.through, applied_);
  JobId job;
  JobSlot slot;
  for (const FinishedAttempt& finished : applied_) {
    if (finished.job != job) slot = tables_.jobs.find(job = finished.job);
    if (slot.valid()) tables_.successors.applied(slot, finished.attempt);
  }
}

void WorkerCore::receive(const Drain& message) {
  reports_.drain.set(message.enabled);
  if (message.enabled) orders_.cancels.return_all();
  reports_.drain.tell();
}

void WorkerCore::receive(const ExplainQuestion& message) {
  const WorkerExplanation explanation = explain(message.subtask);
  event_.out->add(worker_action::SendExplanation{
      {message.question, explanation.known, std::string{to_string(explanation.state)}, explanation.reason}});
}

void WorkerCore::tell_loads() {
  std::vector<BandLoad> loads;
  WorkerCounters counters = tables_.counters;
  for (const auto& band : bands_) {
    loads.push_back(band->load(data_.room.bytes_here()));
    counters.exclusive += band->quota.exclusive_count();
  }
  reports_.reporter.set_loads(std::move(loads), counters);
}

const Datum* WorkerCore::find_datum(const DataKey& key) const {
  const DatumIndex index = data_.table.find(key);
  return index.valid() ? &data_.table[index] : nullptr;
}

std::string WorkerCore::job_names() const {
  std::string names;
  for (std::uint32_t slot = 0; slot < tables_.jobs.slots(); ++slot)
    if (tables_.jobs.is_open(JobSlot{slot}))
      names += (names.empty() ? "" : ", ") + to_string(tables_.jobs[JobSlot{slot}].id);
  return names;
}

std::string WorkerCore::first_datum() const {
  for (std::uint32_t slot = 0; slot < tables_.jobs.slots(); ++slot)
    if (tables_.jobs.is_open(JobSlot{slot}) && tables_.jobs[JobSlot{slot}].data.valid())
      return to_string(data_.table[tables_.jobs[JobSlot{slot}].data].key);
  return data_count() == 0 ? "" : "a datum of a closed job";
}

void WorkerCore::validate() const {
  tables_.subtasks.validate();
  tables_.successors.validate();
  for (const auto& band : bands_) band->validate(tables_.subtasks, data_.room.any_waiting());
  data_.room.validate();
  data_.keeper.validate();
  orders_.entitlements.validate();
  std::size_t cached = 0;
  std::size_t running = 0;
  for (std::uint32_t i = 0; i < tables_.subtasks.used(); ++i) {
    const RecordIndex index{i};
    const SubtaskRecord& record = tables_.subtasks[index];
    if (record.state == SubtaskState::Free) continue;
    cached += record.state == SubtaskState::Cached;
    running += is_run(record);
    PENSTOCK_CHECK(!record.waits_for_room || record.state == SubtaskState::Storing);
    PENSTOCK_CHECK((tables_.successors.missing(index) > 0) == (record.state == SubtaskState::Cached));
    bands_.of(record).validate(index, record);
  }
  PENSTOCK_CHECK(cached == tables_.successors.cached());
  for (const auto& band : bands_) {
    cached -= band->cached;
    running -= band->running.size();
  }
  PENSTOCK_CHECK(cached == 0 && running == 0);
}

}  // namespace penstock::worker
