#include "worker/actors/worker_host.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "common/host/clock.hpp"
#include "worker/runner/process/process_runners.hpp"
#include "worker/store/writer_threads.hpp"

namespace penstock::worker {
namespace {

/// Combine rounds after which the combining thread goes back to its own work: a lane to its subtask, the loop to its
/// sockets. The loop continues in its next turn.
constexpr int kRoundsOfALane = 64;
constexpr int kRoundsOfTheLoop = 8;

/// Identifies a run for its runner: a record that is used again has another attempt.
std::uint64_t ticket_of(RecordIndex record, Attempt attempt) {
  return (std::uint64_t{record.value()} << 32U) | (attempt.value() & 0xffffffffU);
}
RecordIndex record_of(std::uint64_t ticket) { return RecordIndex{static_cast<std::uint32_t>(ticket >> 32U)}; }

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

/// One writer for each write that permits allow at once, but no more than the processors can run at once.
std::size_t writers_of(const WorkerConfig& config, std::size_t bands) {
  return std::clamp<std::size_t>(config.store_permits * bands, 1, std::max(1U, std::thread::hardware_concurrency()));
}

std::vector<DataKey> all_inputs_of(const worker_action::StartSubtask& action) {
  std::vector<DataKey> inputs = inputs_of(action);
  inputs.resize(inputs.size() + action.omitted_inputs);
  return inputs;
}

}  // namespace

struct WorkerHost::State : std::enable_shared_from_this<State> {
  State(const WorkerConfig& config, const std::vector<BandDescription>& bands, const OperatorRegistry& registry,
        ObjectStore& object_store, WorkerPorts worker_ports)
      : operators(registry),
        store(object_store),
        ports(std::move(worker_ports)),
        logs({static_cast<std::size_t>(config.job_log_bytes_max.value()), config.job_logs_max}),
        core(config, bands),
        writers(writers_of(config, bands.size())) {}

  enum class Caller { Lane, Loop };
  using News = std::function<void(State&)>;

  void lane_is_idle();
  void slot_wished(std::uint64_t ticket, Attempt attempt, SlotWish wish);
  void enter(Caller caller);
  void handle_ends();
  void handle(const WorkerEvent& event) { core.handle(event, now, actions); }
  void receive(const ToWorker& message);
  void carry_out_all();
  // One function for each action: an action without one does not compile.
  void carry_out(const worker_action::StartSubtask& action);
  void carry_out(const worker_action::StopRun& action);
  void carry_out(const worker_action::AnswerYield& answer) {
    lanes[answer.band.value()]->answer_yield(answer.lane, ticket_of(answer.record, answer.attempt), answer.lent);
  }
  void carry_out(const worker_action::RestartRunners& order);
  void carry_out(const worker_action::StoreOutputs& order);
  void carry_out(const worker_action::DiscardOutputs& order) {
    unstored.erase(ticket_of(order.record, order.attempt));
  }
  void carry_out(const worker_action::SpillDatum& order);
  void carry_out(const worker_action::RestoreInput& order);
  void carry_out(const worker_action::CheckpointDatum& order);
  void carry_out(const worker_action::SweepCheckpoints& order) {
    for (const Incarnation writer : order.writers) store.remove_checkpoints(writer);
  }
  void carry_out(const worker_action::SweepAttempts& order) { store.remove_attempts(order.key); }
  void carry_out(const worker_action::AdoptCheckpoint& order) { store.adopt_checkpoint(order.key, order.writer); }
  void carry_out(const worker_action::DropDatum& order) { store.drop(order.key); }
  void carry_out(const worker_action::ReleaseDatum& order) { store.release(order.key); }
  void carry_out(const worker_action::NameJob& order) { store.name_job(order.job, order.identity); }
  void carry_out(const worker_action::FetchInput& order) { ports.fetch(order); }
  void carry_out(const worker_action::CancelFetch& order) { ports.cancel_fetch(order.key); }
  void carry_out(const worker_action::WarmRunners& order) {
    processes[order.band.value()]->warm(order.lanes, *order.program);
  }
  void carry_out(worker_action::SendReport& word) { messages.emplace_back(std::move(word.batch)); }
  void carry_out(worker_action::SendClaim& word) { messages.emplace_back(std::move(word.claim)); }
  void carry_out(const worker_action::SendDrainState& word) { messages.emplace_back(word.state); }
  void carry_out(const worker_action::SendBarrierAnswer& word) { messages.emplace_back(word.answer); }
  void carry_out(const worker_action::SendExplanation& word) { messages.emplace_back(word.answer); }
  void carry_out(const worker_action::Reclaim&) { messages.assign(1, FromWorker{ports.description}); }
  void carry_out(const worker_action::Reject& word) { ports.complain(*word.error); }
  void start_on_lane(const worker_action::StartSubtask& action);
  template <class Event>
  static void tell_later(const std::function<void(std::function<void()>)>& post, std::weak_ptr<State> weak,
                         const Event& event);
  void refuse(const worker_action::StartSubtask& action, std::string message);
  OperatorRegistry::Found operator_of(const Template& program);
  void arm();

  // Constant after construction.
  const OperatorRegistry& operators;
  ObjectStore& store;
  const WorkerPorts ports;
  JobLogs logs;  ///< Guards itself.

  // The combiner, under `mutex`.
  std::mutex mutex;
  bool busy = false;
  bool lane_waiting = false;
  std::vector<News> news_waiting;

  // Used by the combining thread only.
  WorkerCore core;
  Actions<WorkerAction> actions;
  Instant now{};
  std::vector<NativeEnd> refused;  ///< Runs that could not be started, for the next round.
  std::vector<NativeEnd> ends;
  std::vector<RunEnd> run_ends;
  std::vector<News> news;
  std::vector<FromWorker> messages;
  Instant armed = kNever;
  struct KnownFunction {
    const Template* program = nullptr;
    std::string name;
    OperatorRegistry::Found found;
  };
  std::array<KnownFunction, 16> known_functions;

  std::map<std::uint64_t, std::string> unstored;  ///< By ticket of the run: output 0, until the core has it stored.

  WriterThreads writers;  ///< Of outputs; they use the store.
  std::vector<std::unique_ptr<ProcessRunners>> processes;  ///< Of each band.
  std::vector<std::uint16_t> lanes_of;                     ///< Whole slots of each band.
  std::vector<std::int64_t> runners_told;                  ///< Memory that was reported last. Of the loop's thread.
  // Last: their threads use all of the above.
  std::vector<std::unique_ptr<NativeLanes>> lanes;
};

WorkerHost::WorkerHost(const WorkerConfig& config, std::vector<BandDescription> bands,
                       std::vector<std::vector<int>> processors, const OperatorRegistry& operators, ObjectStore& store,
                       WorkerPorts ports)
    : state_(std::make_shared<State>(config, bands, operators, store, std::move(ports))) {
  State* state = state_.get();
  for (std::size_t i = 0; i < bands.size(); ++i) {
    NativeLanesConfig lanes;
    lanes.life = state->ports.life;
    lanes.device = bands[i].device_uuid;
    if (i < state->ports.devices.size()) lanes.tier = state->ports.devices[i];
    if (i < processors.size()) lanes.processors = processors[i];
    ProcessRunnersConfig processes{config, bands[i].name, lanes.device, lanes.processors, &state->logs};
    if (state->ports.runner_gone)
      processes.on_gone = [tell = state->ports.runner_gone, band = BandIndex{static_cast<std::uint16_t>(i)}](
                              const std::string& mark) { tell(band, mark); };
    state->processes.push_back(std::make_unique<ProcessRunners>(std::move(processes)));
    state->runners_told.push_back(0);
    lanes.processes = state->processes.back().get();
    lanes.tell_slot_wish = [state](std::uint64_t ticket, Attempt attempt, SlotWish wish) {
      state->slot_wished(ticket, attempt, wish);
    };
    state->lanes_of.push_back(static_cast<std::uint16_t>(bands[i].capacity.slots.value() / kOneSlot.value()));
    state->lanes.push_back(std::make_unique<NativeLanes>(store, lanes, [state] { state->lane_is_idle(); }));
  }
}

void WorkerHost::warm(const Template& runner, std::uint32_t count) {
  for (std::size_t i = 0; i < state_->processes.size() && count > 0; ++i) {
    std::vector<SlotIndex> lanes;
    for (std::uint16_t lane = 0; lane < state_->lanes_of[i] && count > 0; ++lane, --count) lanes.emplace_back(lane);
    state_->processes[i]->warm(lanes, runner);
  }
}

WorkerHost::~WorkerHost() {
  // The lanes of all bands end at the same time.
  for (const std::unique_ptr<NativeLanes>& band : state_->lanes) band->begin_end();
  // A lane that ends may still be combining, and then it uses the lanes of all bands.
  for (const std::unique_ptr<NativeLanes>& band : state_->lanes) band->end();
  state_->writers.end();
}

namespace {

/// Submits news to the combiner; true if the caller has to run its rounds.
template <class State, class News>
bool put_at_door(State& state, News&& news) {
  const std::lock_guard lock{state.mutex};
  state.news_waiting.emplace_back(std::forward<News>(news));
  if (state.busy) return false;
  state.busy = true;
  return true;
}

}  // namespace

void WorkerHost::receive(std::shared_ptr<const std::vector<ToWorker>> batch) {
  const auto news = [batch = std::move(batch)](State& state) {
    for (const ToWorker& message : *batch) state.receive(message);
  };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::run_ended(ForeignEnd end) {
  auto held = std::make_shared<ForeignEnd>(std::move(end));
  const auto news = [held](State& state) {
    RunEnd run;
    run.record = record_of(held->ticket);
    run.attempt = held->attempt;
    run.succeeded = held->succeeded;
    run.stored = held->unstored.empty();
    run.run_us = held->run_us;
    run.peak = Bytes{held->peak_bytes};
    run.outputs = held->outputs;
    run.failure = held->failure.get();
    if (!run.stored) state.unstored[held->ticket] = std::move(held->unstored);
    state.handle(worker_event::RunsEnded{std::span{&run, 1}});
  };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

// The store gets the datum when the core handles the event and not before: until then the core may drop the key, and
// that means an earlier copy.
void WorkerHost::fetched(const FetchEnd& end, std::shared_ptr<Blob> blob) {
  const auto news = [end, blob = std::move(blob)](State& state) {
    if (blob != nullptr) state.store.put(end.key, blob);
    state.handle(worker_event::FetchesEnded{std::span{&end, 1}});
  };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::memory_measured(BandIndex band, Bytes used) {
  const auto news = [band, used](State& state) { state.handle(worker_event::MemoryMeasured{band, used}); };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::data_mapped(std::vector<DataKey> here, Bytes beyond) {
  const auto news = [here = std::move(here), beyond](State& state) {
    state.handle(worker_event::DataMapped{here, beyond});
  };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::measure_runners() {
  std::vector<RunMemory> runs;
  std::vector<worker_event::MemoryMeasured> bands;
  for (std::size_t i = 0; i < state_->processes.size(); ++i) {
    const RunnersMemory memory = state_->processes[i]->measure();
    for (const RunnerMemory& run : memory.runs)
      runs.push_back({record_of(run.ticket), run.attempt, Bytes{run.resident_bytes}});
    const bool had_none = state_->runners_told[i] == 0;
    state_->runners_told[i] = memory.own_bytes;
    if (had_none && memory.own_bytes == 0) continue;
    bands.push_back({BandIndex{static_cast<std::uint16_t>(i)}, Bytes{memory.own_bytes}, RunnerKind::Process,
                     Bytes{memory.idle_bytes}});
  }
  if (runs.empty() && bands.empty()) return;
  const auto news = [runs = std::move(runs), bands = std::move(bands)](State& state) {
    state.handle(worker_event::RunsMeasured{runs});
    for (const worker_event::MemoryMeasured& band : bands) state.handle(band);
  };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::tick() {
  const auto news = [](State& state) {
    state.armed = kNever;
    state.handle(worker_event::Tick{});
  };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::supervisor_returned() {
  const auto news = [](State& state) { state.handle(worker_event::SupervisorReturned{}); };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::supervisor_heard(Instant sent) {
  const auto news = [sent](State& state) { state.handle(worker_event::SupervisorHeard{sent}); };
  if (put_at_door(*state_, news)) state_->enter(State::Caller::Loop);
}

void WorkerHost::State::lane_is_idle() {
  {
    const std::lock_guard lock{mutex};
    lane_waiting = true;
    if (busy) return;
    busy = true;
  }
  enter(Caller::Lane);
}

void WorkerHost::State::slot_wished(std::uint64_t ticket, Attempt attempt, SlotWish wish) {
  const auto wished = [record = record_of(ticket), attempt, wish](State& state) {
    if (wish == SlotWish::Lend)
      state.handle(worker_event::SlotYielded{record, attempt});
    else
      state.handle(worker_event::SlotWanted{record, attempt});
  };
  if (put_at_door(*this, wished)) enter(Caller::Lane);
}

// REQUIRES: the caller has set `busy`.
void WorkerHost::State::enter(Caller caller) {
  for (int round = 0;; ++round) {
    {
      const std::lock_guard lock{mutex};
      if (!lane_waiting && refused.empty() && news_waiting.empty()) {
        arm();
        busy = false;
        return;
      }
      if (round == (caller == Caller::Lane ? kRoundsOfALane : kRoundsOfTheLoop)) {
        // `busy` stays set.
        ports.post([weak = weak_from_this()] {
          if (const auto alive = weak.lock()) alive->enter(Caller::Loop);
        });
        return;
      }
      lane_waiting = false;
      news.swap(news_waiting);
    }
    handle_ends();
    for (const News& one : news) one(*this);
    news.clear();
    handle(worker_event::OffersWanted{});
    carry_out_all();
  }
}

// Logs are no state of the core: it gets no event for what runners write.
void WorkerHost::State::receive(const ToWorker& message) {
  if (const auto* question = std::get_if<LogQuestion>(&message)) {
    messages.emplace_back(LogAnswer{question->question, logs.text(question->job)});
    return;
  }
  // A supervisor of protocol 1.0 asks for logs in this way.
  const auto* old = std::get_if<ExplainQuestion>(&message);
  if (old == nullptr || old->subtask.index.valid()) return handle(worker_event::MessageArrived{message});
  std::string log = logs.text(old->subtask.job);
  const bool known = !log.empty();
  messages.emplace_back(ExplainAnswer{old->question, known, {}, std::move(log)});
}

// First step of each round: from here to `open_offers` the lanes take no run over, and the core knows what they hold.
void WorkerHost::State::handle_ends() {
  ends.swap(refused);
  for (const std::unique_ptr<NativeLanes>& band : lanes) band->withdraw(ends);
  now = monotonic_now();
  run_ends.clear();
  for (const NativeEnd& end : ends) {
    RunEnd& run = run_ends.emplace_back();
    run.record = record_of(end.ticket);
    run.attempt = end.attempt;
    run.succeeded = end.succeeded;
    run.run_us = end.run_us;
    run.run_ns = end.run_ns;
    run.peak = Bytes{end.peak_bytes};
    run.outputs = end.outputs;
    run.failure = end.failure.get();
    if (end.ended != Instant{}) run.ended = end.ended;
    if (end.next_ticket != kNoTicket) run.next = record_of(end.next_ticket);
  }
  handle(worker_event::RunsEnded{run_ends, true});
  ends.clear();
}

void WorkerHost::State::carry_out_all() {
  for (WorkerAction& action : actions) std::visit([this](auto& concrete) { carry_out(concrete); }, action);
  actions.clear();
  for (const std::unique_ptr<NativeLanes>& band : lanes) band->open_offers();
  if (!messages.empty()) ports.send(std::exchange(messages, {}));
}

// Lanes and commands keep no memory from run to run and need no restart; memory that process runners keep is freed by
// ending them.
void WorkerHost::State::carry_out(const worker_action::RestartRunners& order) {
  const auto restarted = [order](State& state) { state.handle(worker_event::LanesRestarted{order.band, order.lanes}); };
  processes[order.band.value()]->end_idle([post = ports.post, weak = weak_from_this(), restarted] {
    post([weak, restarted] {
      const auto alive = weak.lock();
      if (alive != nullptr && put_at_door(*alive, restarted)) alive->enter(Caller::Loop);
    });
  });
}

// Spec: worker 5, storing overlaps with the next run of the slot.
void WorkerHost::State::carry_out(const worker_action::StoreOutputs& order) {
  auto kept = unstored.extract(ticket_of(order.record, order.attempt));
  PENSTOCK_CHECK_MSG(!kept.empty(), to_string(order.id));
  writers.add([&to = store, post = ports.post, order, bytes = std::move(kept.mapped()), weak = weak_from_this()] {
    const bool written = to.put_copy(DataKey{order.id, 0}, bytes);
    post([weak, order, written] {
      const auto stored = [order, written](State& state) {
        FailureDetail failure;
        failure.failure = FailureClass::Exhausted;
        failure.message = "there is no memory for its output";
        state.handle(worker_event::OutputsStored{order.record, order.attempt, written ? nullptr : &failure});
      };
      const auto alive = weak.lock();
      if (alive != nullptr && put_at_door(*alive, stored)) alive->enter(Caller::Loop);
    });
  });
}

// The store answers on its own thread; the answer is submitted to the combiner like all other news.
void WorkerHost::State::carry_out(const worker_action::SpillDatum& order) {
  store.spill(
      order.key,
      [post = ports.post, failed = ports.storage_failed, key = order.key, weak = weak_from_this()](
          const Result<void>& done) {
        if (!done && done.error().code != ErrorCode::NotFound) failed(done.error());
        tell_later<worker_event::DatumSpilled>(post, weak, {key, done.has_value()});
      });
}

void WorkerHost::State::carry_out(const worker_action::RestoreInput& order) {
  store.restore(
      order.key, [post = ports.post, failed = ports.storage_failed, key = order.key, &from = store,
                  weak = weak_from_this()](const Result<void>& done) {
        if (!done) failed(done.error());
        const BlobPtr blob = done ? from.find_here(key) : nullptr;
        const Bytes bytes{blob == nullptr ? 0 : static_cast<std::int64_t>(blob->bytes().size())};
        tell_later<worker_event::DatumRestored>(post, weak, {key, done.has_value(), bytes});
      });
}

void WorkerHost::State::carry_out(const worker_action::CheckpointDatum& order) {
  store.checkpoint(
      order.key, ports.life,
      [post = ports.post, failed = ports.storage_failed, key = order.key, weak = weak_from_this()](
          const Result<void>& done) {
        if (!done) failed(done.error());
        tell_later<worker_event::DatumCheckpointed>(post, weak, {key, done.has_value()});
      });
}

template <class Event>
void WorkerHost::State::tell_later(const std::function<void(std::function<void()>)>& post, std::weak_ptr<State> weak,
                                   const Event& event) {
  post([weak = std::move(weak), event] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    if (put_at_door(*alive, [event](State& state) { state.handle(event); })) alive->enter(Caller::Loop);
  });
}

void WorkerHost::State::carry_out(const worker_action::StartSubtask& action) {
  // Commands cannot lend their slot, so it is a lane's.
  if (action.resumed) return lanes[action.band.value()]->resume(action.lane, ticket_of(action.record, action.attempt));
  switch (action.program->runner) {
    case RunnerKind::Native:
    case RunnerKind::Process: return start_on_lane(action);
    case RunnerKind::Command:
      ports.start_command({action.band, CommandRun{ticket_of(action.record, action.attempt), action.id, action.attempt,
                                                   action.lane, *action.program, std::string{action.payload},
                                                   all_inputs_of(action), action.identity}});
      return;
  }
}

void WorkerHost::State::start_on_lane(const worker_action::StartSubtask& action) {
  const bool native = action.program->runner == RunnerKind::Native;
  const OperatorRegistry::Found known = native ? operator_of(*action.program) : OperatorRegistry::Found{};
  const bool unknown = native && known.run == nullptr;
  // The refusal of a run on offer waits until its turn comes.
  if (unknown && action.offered) return;
  if (unknown) return refuse(action, "this worker has no operator '" + action.program->program + "'");
  NativeLanes& band = *lanes[action.band.value()];
  NativeRun started;
  const JobId after = action.within_job ? action.id.job : JobId::none();
  NativeRun& run = action.offered ? band.add_offer(after, inputs_of(action)) : started;
  run.ticket = ticket_of(action.record, action.attempt);
  run.id = action.id;
  run.attempt = action.attempt;
  run.identity = action.identity;
  run.program = action.program;
  run.function = known.run;
  run.payload = action.payload;
  run.empty_inputs = action.omitted_inputs;
  run.on_devices = known.on_devices;
  if (!action.offered) band.start(action.lane, started, inputs_of(action));
}

// A small cache by address. Another template may be at the address of a freed one, so the name is compared.
OperatorRegistry::Found WorkerHost::State::operator_of(const Template& program) {
  KnownFunction& known = known_functions[(reinterpret_cast<std::uintptr_t>(&program) >> 6U) % known_functions.size()];
  if (known.program == &program && known.name == program.program) return known.found;
  known = {&program, program.program, operators.find(program.program)};
  return known.found;
}

void WorkerHost::State::refuse(const worker_action::StartSubtask& action, std::string message) {
  NativeEnd end;
  end.ticket = ticket_of(action.record, action.attempt);
  end.attempt = action.attempt;
  end.succeeded = false;
  end.failure = std::make_unique<FailureDetail>();
  end.failure->failure = FailureClass::Refused;
  end.failure->code = ErrorCode::UnknownOperator;
  end.failure->message = std::move(message);
  refused.push_back(std::move(end));
}

void WorkerHost::State::carry_out(const worker_action::StopRun& action) {
  // One of the two has the run; the other knows no such ticket and ignores it.
  const std::uint64_t ticket = ticket_of(action.record, action.attempt);
  lanes[action.band.value()]->cancel(action.lane, ticket, action.kill);
  if (action.overdue) lanes[action.band.value()]->end_overdue(action.lane, ticket);
  ports.stop_command(action.band, ticket, action.kill);
}

void WorkerHost::State::arm() {
  const std::optional<Instant> deadline = core.next_deadline();
  if (!deadline || *deadline >= armed) return;
  armed = *deadline;
  ports.arm(armed);
}

}  // namespace penstock::worker
