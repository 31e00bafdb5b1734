#include "worker/actors/process_world.hpp"

#include <algorithm>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"

namespace penstock::worker {
namespace {

/// The data that a run reads, without those that the supervisor has left out because they are empty; an empty one among
/// the others has no key.
std::vector<DataKey> inputs_of(const worker_action::StartSubtask& action) {
  std::vector<DataKey> inputs;
  if (action.inputs.empty()) return inputs;
  inputs.reserve(action.inputs.size() + action.omitted_inputs);
  for (const RunInput& input : action.inputs)
    inputs.push_back(input.empty ? DataKey{} : DataKey{{action.id.job, input.producer}, input.output});
  return inputs;
}

std::vector<DataKey> all_inputs_of(const worker_action::StartSubtask& action) {
  std::vector<DataKey> inputs = inputs_of(action);
  inputs.resize(inputs.size() + action.omitted_inputs);
  return inputs;
}

/// One writer for each write that permits allow at once, but no more than the processors can run at once.
std::size_t writers_of(const WorkerConfig& config, std::size_t bands) {
  return std::clamp<std::size_t>(config.store_permits * bands, 1, usable_processors());
}

}  // namespace

// A small cache by address. Another template may be at the address of a freed one, so the name is compared.
OperatorRegistry::Found OperatorCache::find(const Template& program) {
  Known& known = known_[(reinterpret_cast<std::uintptr_t>(&program) >> 6U) % known_.size()];
  if (known.program == &program && known.name == program.program) return known.found;
  known = {&program, program.program, operators_.find(program.program)};
  return known.found;
}

ProcessWorld::ProcessWorld(const WorkerConfig& config, const std::vector<BandDescription>& bands,
                           const std::vector<std::vector<int>>& processors, const OperatorRegistry& operators,
                           ObjectStore& store, WorkerPorts ports, Calls calls)
    : operators_(operators),
      store_(store),
      ports_(std::move(ports)),
      calls_(std::move(calls)),
      logs_({static_cast<std::size_t>(config.job_log_bytes_max.value()), config.job_logs_max}),
      outbox_(ports_.description),
      writers_(writers_of(config, bands.size())) {
  for (std::size_t i = 0; i < bands.size(); ++i)
    add_band(config, bands[i], i < processors.size() ? processors[i] : std::vector<int>{});
}

void ProcessWorld::add_band(const WorkerConfig& config, const BandDescription& description,
                            std::vector<int> processors) {
  const BandIndex index{static_cast<std::uint16_t>(bands_.size())};
  NativeLanesConfig lanes;
  lanes.life = ports_.life;
  if (index.value() < ports_.devices.size()) lanes.devices = ports_.devices[index.value()];
  lanes.processors = std::move(processors);
  if (usable_processors() < 2) lanes.spin = lanes.spin_max = Duration{0};  // The lane's next run needs the processor.
  ProcessRunnersConfig processes{config, description.name, lanes.devices.visible(), ports_.cluster, lanes.processors};
  processes.logs = &logs_;
  processes.users = ports_.users;
  processes.worker = ports_.description.name;
  processes.data_address = ports_.description.data_address;
  processes.slots =
      static_cast<std::size_t>(std::max<std::int64_t>(description.capacity.slots.value() / kOneSlot.value(), 1));
  if (index.value() < ports_.reapers.size()) processes.reaper = ports_.reapers[index.value()];
  if (ports_.runner_gone)
    processes.on_gone = [tell = ports_.runner_gone, index](const std::string& mark) { tell(index, mark); };
  Band& band = bands_.emplace_back();
  band.processes = std::make_unique<ProcessRunners>(std::move(processes));
  band.slots = static_cast<std::uint16_t>(description.capacity.slots.value() / kOneSlot.value());
  lanes.processes = band.processes.get();
  lanes.tell_slot_wish = calls_.on_slot_wish;
  band.lanes = std::make_unique<NativeLanes>(store_, lanes, calls_.on_idle);
}

void ProcessWorld::warm(const Template& runner, std::uint32_t count) {
  for (const Band& band : bands_) {
    std::vector<SlotIndex> lanes;
    for (std::uint16_t lane = 0; lane < band.slots && count > 0; ++lane, --count) lanes.emplace_back(lane);
    if (!lanes.empty()) band.processes->warm(lanes, runner);
  }
}

void ProcessWorld::end() {
  // The lanes of all bands end at the same time.
  for (const Band& band : bands_) band.lanes->begin_end();
  // A lane that ends may still be combining, and then it uses the lanes of all bands.
  for (const Band& band : bands_) band.lanes->end();
  writers_.end();
}

void ProcessWorld::withdraw(std::vector<NativeEnd>& ends) {
  ends.swap(refused_);
  for (const Band& band : bands_) band.lanes->withdraw(ends);
}

ProcessWorld::Measured ProcessWorld::measure() {
  Measured measured;
  for (std::size_t i = 0; i < bands_.size(); ++i) {
    bands_[i].processes->end_spare(monotonic_now());
    const RunnersMemory memory = bands_[i].processes->measure();
    for (const RunnerMemory& run : memory.runs)
      measured.runs.push_back({record_of(run.ticket), run.attempt, Bytes{run.resident_bytes}});
    const bool had_none = std::exchange(bands_[i].told_bytes, memory.own_bytes) == 0;
    if (had_none && memory.own_bytes == 0) continue;
    measured.bands.push_back({BandIndex{static_cast<std::uint16_t>(i)}, Bytes{memory.own_bytes}, RunnerKind::Process,
                              Bytes{memory.idle_bytes}});
  }
  return measured;
}

void ProcessWorld::end_round() {
  for (const Band& band : bands_) band.lanes->open_offers();
  if (!outbox_.empty()) ports_.send(outbox_.take());
}

void ProcessWorld::carry_out(const worker_action::StartSubtask& action) {
  // Commands cannot lend their slot, so it is a lane's.
  if (action.resumed)
    return bands_[action.band.value()].lanes->resume(action.lane, ticket_of(action.record, action.attempt));
  switch (action.program->runner) {
    case RunnerKind::Native:
    case RunnerKind::Process: return start_on_lane(action);
    case RunnerKind::Command:
      ports_.start_command({action.band, CommandRun{ticket_of(action.record, action.attempt), action.id, action.attempt,
                                                    action.lane, *action.program, std::string{action.payload},
                                                    all_inputs_of(action), action.identity, action.devices}});
      return;
  }
}

void ProcessWorld::start_on_lane(const worker_action::StartSubtask& action) {
  const bool native = action.program->runner == RunnerKind::Native;
  const OperatorRegistry::Found known = native ? operators_.find(*action.program) : OperatorRegistry::Found{};
  const bool unknown = native && known.run == nullptr;
  const bool foreign = native && ports_.users != nullptr && !ports_.users->runs_operators_for(*action.program->user);
  // The refusal of a run on offer waits until its turn comes.
  if ((unknown || foreign) && action.offered) return;
  if (unknown) return refuse(action, "this worker has no operator '" + action.program->program + "'");
  if (foreign) return refuse(action, "this worker runs no jobs of user '" + *action.program->user + "'");
  NativeLanes& lanes = *bands_[action.band.value()].lanes;
  NativeRun started;
  const JobId after = action.within_job ? action.id.job : JobId::none();
  NativeRun& run = action.offered ? lanes.add_offer(after, inputs_of(action)) : started;
  run.ticket = ticket_of(action.record, action.attempt);
  run.id = action.id;
  run.attempt = action.attempt;
  run.identity = action.identity;
  run.program = action.program;
  run.function = known.run;
  run.payload = action.payload;
  run.empty_inputs = action.omitted_inputs;
  run.on_devices = known.on_devices;
  run.devices = action.devices;
  if (!action.offered) lanes.start(action.lane, started, inputs_of(action));
}

void ProcessWorld::refuse(const worker_action::StartSubtask& action, std::string message) {
  NativeEnd end;
  end.ticket = ticket_of(action.record, action.attempt);
  end.attempt = action.attempt;
  end.succeeded = false;
  end.failure = std::make_unique<FailureDetail>();
  end.failure->failure = FailureClass::Refused;
  end.failure->code = ErrorCode::UnknownOperator;
  end.failure->message = std::move(message);
  refused_.push_back(std::move(end));
}

void ProcessWorld::carry_out(const worker_action::StopRun& action) {
  // One of the two has the run; the other knows no such ticket and ignores it.
  const std::uint64_t ticket = ticket_of(action.record, action.attempt);
  NativeLanes& lanes = *bands_[action.band.value()].lanes;
  lanes.cancel(action.lane, ticket, action.kill);
  if (action.overdue) lanes.end_overdue(action.lane, ticket);
  ports_.stop_command(action.band, ticket, action.kill);
}

void ProcessWorld::carry_out(const worker_action::AnswerYield& answer) {
  bands_[answer.band.value()].lanes->answer_yield(answer.lane, ticket_of(answer.record, answer.attempt), answer.lent);
}

void ProcessWorld::carry_out(const worker_action::WarmRunners& order) {
  bands_[order.band.value()].processes->warm(order.lanes, *order.program);
}

void ProcessWorld::carry_out(const worker_action::SweepCheckpoints& order) {
  for (const Incarnation writer : order.writers) store_.remove_checkpoints(writer);
}

// Lanes and commands keep no memory from run to run and need no restart; memory that process runners keep is freed by
// ending them.
void ProcessWorld::carry_out(const worker_action::RestartRunners& order) {
  bands_[order.band.value()].processes->end_idle([later = calls_.tell_later, order] {
    later([order](Shell& shell) { shell.handle(worker_event::LanesRestarted{order.band, order.lanes}); });
  });
}

// Spec: worker 5, storing overlaps with the next run of the slot.
void ProcessWorld::store(const worker_action::StoreOutputs& order, std::string bytes) {
  writers_.add([&to = store_, later = calls_.tell_later, order, bytes = std::move(bytes)] {
    const bool written = to.put_copy(DataKey{order.id, 0}, bytes);
    later([order, written](Shell& shell) {
      FailureDetail failure;
      failure.failure = FailureClass::Exhausted;
      failure.message = "there is no memory for its output";
      shell.handle(worker_event::OutputsStored{order.record, order.attempt, written ? nullptr : &failure});
    });
  });
}

// The store answers on its own thread; the answer is submitted to the combiner like all other news.
void ProcessWorld::carry_out(const worker_action::SpillDatum& order) {
  store_.spill(order.key, [later = calls_.tell_later, failed = ports_.storage_failed,
                           key = order.key](const Result<void>& done) {
    if (!done && done.error().code != ErrorCode::NotFound) failed(done.error());
    later([event = worker_event::DatumSpilled{key, done.has_value()}](Shell& shell) { shell.handle(event); });
  });
}

void ProcessWorld::carry_out(const worker_action::RestoreInput& order) {
  store_.restore(order.key, [later = calls_.tell_later, failed = ports_.storage_failed, key = order.key,
                             &from = store_](const Result<void>& done) {
    if (!done) failed(done.error());
    const BlobPtr blob = done ? from.find_here(key) : nullptr;
    const Bytes bytes{blob == nullptr ? 0 : static_cast<std::int64_t>(blob->bytes().size())};
    later([event = worker_event::DatumRestored{key, done.has_value(), bytes}](Shell& shell) { shell.handle(event); });
  });
}

void ProcessWorld::carry_out(const worker_action::CheckpointDatum& order) {
  store_.checkpoint(
      order.key, ports_.life,
      [later = calls_.tell_later, failed = ports_.storage_failed, key = order.key](const Result<void>& done) {
        if (!done) failed(done.error());
        later([event = worker_event::DatumCheckpointed{key, done.has_value()}](Shell& shell) { shell.handle(event); });
      });
}

}  // namespace penstock::worker
