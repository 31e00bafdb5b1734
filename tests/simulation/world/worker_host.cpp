#include "tests/simulation/world/worker_host.hpp"

#include <algorithm>

#include "common/protocol/external_input.hpp"
#include "tests/simulation/world/graphs.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;
using std::chrono::microseconds;
using std::chrono::milliseconds;

WorkerHost::WorkerHost(World& world, std::string name)
    : world_(world),
      name_(std::move(name)),
      knows_barriers_(!Rng{mix_bits(world_.options().seed) ^ 0xba44 ^ world_.workers().size()}.chance(1, 10)) {
  Rng& rng = world_.rng();
  const auto count = static_cast<std::uint32_t>(1 + rng.below(2));
  for (std::uint32_t i = 0; i < count; ++i) {
    BandDescription band;
    band.name = "numa-" + std::to_string(i);
    band.capacity.slots = kOneSlot * rng.between(1, 4);
    band.capacity.memory = kMiB * rng.between(60, rng.chance(1, 3) ? 140 : 400);
    band.memory_hard_limit = band.capacity.memory * 2;
    bands_.push_back(band);
  }
  if (world_.has_devices()) {
    BandDescription& band = bands_.emplace_back();
    band.name = "gpu-0";
    band.kind = BandKind::Gpu;
    band.capacity.slots = kOneSlot;
    band.capacity.gpu = MilliGpu{1000};
    band.capacity.device_memory = kGiB * 8;
    band.capacity.memory = kMiB * 400;
    band.memory_hard_limit = band.capacity.memory * 2;
  }
  Rng amounts{mix_bits(world_.options().seed) ^ mix_bits(world_.workers().size() + 0xc9d)};
  for (BandDescription& band : bands_) {
    const std::int64_t slots = band.capacity.slots.value();
    band.capacity.cpu = MilliCpu{std::max(slots, kLeastCpu.value()) + slots * amounts.between(0, 2)};
    band.capacity.named = {{kLicence, amounts.between(kLeastLicences, 2 * kLeastLicences)}};
  }
  begin_life();
}

void WorkerHost::begin_life() {
  life_ = world_.next_life();
  id_ = WorkerId::none();
  if (core_ != nullptr) forward_hits_ += core_->counters().forward_hits;
  core_ = std::make_unique<WorkerCore>(world_.worker_config(), bands_);
  entitled_.clear();
  entitlement_version_ = 0;
  reservations_.clear();
  graces_.clear();
  given_.clear();
  begins_.clear();
  endpoint_.reset();
  store_.clear();
  spilled_.clear();
  mapped_.clear();
  adopted_.clear();
  fetching_.clear();
  storing_.clear();
  unstored_.clear();
  draining_ = said_empty_ = false;
  tick_at_ = kNever;
  world_.note("life % begins", {life_});
}

void WorkerHost::end_life() {
  for (const auto& [record, run] : runs_) world_.oracle().run_ended(life_, run.id, false);
  runs_.clear();
  measured_.clear();
  offers_open_ = false;
  offers_.clear();
  untold_.clear();
  world_.oracle().life_ended(life_);
}

void WorkerHost::deliver(std::function<void()> what) {
  const std::uint64_t life = life_;
  world_.queue().at(std::max(world_.now(), hung_until_), [this, life, what = std::move(what)] {
    if (life != life_ || !up_) return;
    if (hung()) return deliver(what);
    what();
  });
}

void WorkerHost::connect() {
  if (!up_) return;
  const std::uint64_t connection = asked_on_ = world_.next_connection();
  // A hello that is lost on the way is tried again.
  deliver([this, connection] {
    if (!asks_on(connection)) return;
    const std::uint64_t received = endpoint_ == nullptr ? 0 : endpoint_->link().received_through();
    if (can_connect()) {
      world_.queue().after(world_.latency(), [this, connection, received, life = life_, to = supervisor_] {
        if (up_ && life == life_ && asks_on(connection) && can_connect())
          world_.supervisor().accept_worker(*this, connection, to, received);
      });
    }
    world_.queue().after(milliseconds{200}, [this, connection, life = life_] {
      const bool linked = endpoint_ != nullptr && endpoint_->link().attached();
      if (up_ && life == life_ && asks_on(connection) && !linked) connect();
    });
  });
}

void WorkerHost::welcomed(std::uint64_t connection, const Greeting& greeting) {
  if (!asks_on(connection)) return;
  if (greeting.supervisor != world_.supervisor().incarnation()) return;  // The worker has died since; we try again.
  if (greeting.resumed) {
    endpoint_->attach(connection, true, greeting.received_through, world_.now());
    plan_link_tick();
    return;
  }
  const bool renewed = endpoint_ != nullptr;
  if (renewed && supervisor_ == greeting.supervisor) return;  // An earlier answer than the one that made the link.
  if (renewed && branch_ != greeting.branch) return refused();
  supervisor_ = greeting.supervisor;
  branch_ = greeting.branch;
  id_ = greeting.id;
  make_endpoint();
  endpoint_->attach(connection, false, 0, world_.now());
  plan_link_tick();
  entitled_.clear();
  entitlement_version_ = 0;
  reservations_.returned();
  if (renewed)
    handle(worker_event::SupervisorReturned{});
  else
    send(description(false));
}

Register WorkerHost::description(bool reclaims) const {
  Register description;
  description.reclaims = reclaims;
  description.name = name_;
  description.host = "host-" + name_;
  description.data_address = description.host + ":1";
  description.bands = bands_;
  description.shared_storage = true;
  const Bytes store_max = world_.worker_config().store_bytes_max;
  description.store_bytes_max = store_max.is_zero() ? kGiB : store_max;
  description.labels = {"any"};
  if (name_ == "worker-1") description.labels.push_back("first");
  description.log_questions = true;
  description.barriers = knows_barriers_;
  description.crash = crash_;
  return description;
}

void WorkerHost::make_endpoint() {
  LinkConfig config = world_.link_config();
  config.reconnect_grace = config.supervisor_absence_max;
  endpoint_ = std::make_unique<Endpoint>(config, Incarnation{life_}, supervisor_, world_.now(), OnSilence::Reconnect);
  endpoint_->resends = world_.options().defect != Defect::NoResend;
  endpoint_->transmit = [this](const Frame& frame) {
    world_.carry(wire_, cut_off_ || one_way_ == OneWay::Mute, [this, frame, to = id_, life = life_] {
      if (life == life_) world_.supervisor().arrive(to, frame);
    });
  };
  endpoint_->deliver = [this](const MessagePtr& message) { receive(message); };
  endpoint_->heard = [this](Instant sent) { handle(worker_event::SupervisorHeard{sent}); };
  endpoint_->silent = [this] {
    world_.queue().after(Duration{0}, [this, life = life_, connection = endpoint_->connection()] {
      if (life == life_) connection_broke(connection);
    });
  };
  endpoint_->lost = [this](const char*) {
    world_.note("life % has lost its link", {life_});
    // The supervisor was away for too long; it begins another life.
    world_.queue().after(Duration{0}, [this, life = life_] {
      if (life == life_ && up_) refused();
    });
  };
}

// The supervisor has reassigned what this life had: it ends what runs and begins another life.
void WorkerHost::refused() {
  world_.note("life % is fenced", {life_});
  end_life();
  crash_.reset();
  begin_life();
  connect();
}

void WorkerHost::connection_broke(std::uint64_t connection) {
  if (!up_ || endpoint_ == nullptr || endpoint_->connection() != connection) return;
  endpoint_->detach(world_.now());
  plan_link_tick();
  world_.queue().after(milliseconds{world_.rng().between(1, 50)}, [this, life = life_] {
    if (up_ && life == life_ && !endpoint_->link().attached()) connect();
  });
}

void WorkerHost::crash() {
  world_.note("life % crashes", {life_});
  crash_.reset();
  go_down();
}

// Fault F25: an operator takes its worker along. The process begins again by itself, and names the culprit.
void WorkerHost::crash_of(const Run& culprit) {
  world_.note("subtask %:% brings life % down", {culprit.id.job.value(), culprit.id.index.value(), life_});
  crash_ = OperatorCrash{Incarnation{life_}, culprit.id, culprit.attempt, 11, "an operator crashed"};
  go_down();
  world_.queue().after(milliseconds{world_.rng().between(1, world_.rng().chance(3, 4) ? 100 : 2000)}, [this] {
    if (!up_) come_back();
  });
}

void WorkerHost::go_down() {
  up_ = false;
  end_life();
  if (endpoint_ != nullptr && world_.rng().chance(2, 3)) {
    // The kernel closes its sockets; otherwise the host is gone without a word.
    world_.queue().after(world_.latency(), [this, id = id_, connection = endpoint_->connection()] {
      world_.supervisor().connection_broke(id, connection);
    });
  }
}

void WorkerHost::come_back() {
  up_ = true;
  hung_until_ = Instant{};
  begin_life();
  connect();
}

void WorkerHost::hang(Duration duration) {
  world_.note("life % hangs for % us", {life_, static_cast<std::uint64_t>(duration.count() / 1000)});
  hung_until_ = std::max(hung_until_, later(world_.now(), duration));
  if (duration > world_.supervisor_config().overlap_margin / 2) world_.oracle().stood_still(life_);
}

void WorkerHost::spill_something() {
  tell_ends();
  if (store_.empty() || hung()) return;
  auto victim = store_.begin();
  std::advance(victim, static_cast<std::ptrdiff_t>(world_.rng().below(store_.size())));
  const DataKey key = victim->first;
  if (is_pinned(key) || storing_.contains(key.producer)) return;
  // Its memory goes when the core says so: outputs that still wait for room are not data yet.
  if (!spilled_.contains(key)) handle(worker_event::DatumSpilled{key});
}

void WorkerHost::arrive(const Frame& frame) {
  if (endpoint_ == nullptr) return;
  endpoint_->arrive(frame, world_.now());
  plan_link_tick();
}

void WorkerHost::receive(const MessagePtr& message) {
  const auto* order = std::get_if<ToWorker>(message.get());
  if (order == nullptr) return world_.oracle().breach("a worker received what is not for workers");
  note_order(*order);
  const auto* entitlements = std::get_if<EntitlementBatch>(order);
  if (entitlements == nullptr) {
    handle(worker_event::MessageArrived{*order});
    return check_followed(*order);
  }
  tell_ends();  // A run that starts because of them is not yet under these.
  EntitlementBatch batch = *entitlements;
  if (!knows_barriers_)
    for (Entitlement& each : batch.entitlements) each.barrier = 0;
  note_entitlements(batch);
  handle(worker_event::MessageArrived{std::move(batch)});
}

void WorkerHost::send(FromWorker message) {
  if (endpoint_ == nullptr) return;
  endpoint_->send(std::make_shared<const Message>(std::move(message)), world_.now());
  plan_link_tick();
}

void WorkerHost::handle(const WorkerEvent& event) {
  tell_ends();
  handle_one(event);
  if (world_.rng().chance(2, 3)) handle_one(worker_event::OffersWanted{});
}

// As in a real worker, a bringer of reports closes the offers first and tells what lanes have taken over.
void WorkerHost::tell_ends() {
  if (untold_.empty() && !offers_open_) return;
  offers_open_ = false;
  offers_.clear();
  std::vector<UntoldEnd> ends = std::exchange(untold_, {});
  std::vector<RunEnd> runs;
  for (UntoldEnd& end : ends) {
    end.run.outputs = end.outputs;
    end.run.failure = end.run.succeeded ? nullptr : &end.failure;
    runs.push_back(end.run);
  }
  handle_one(worker_event::RunsEnded{runs, true});
}

void WorkerHost::handle_one(const WorkerEvent& event) {
  constexpr const char* kEvents[] = {"life %: message arrived",        "life %: runs ended",
                                     "life %: transfers ended",        "life %: outputs stored",
                                     "life %: datum spilled",          "life %: datum restored",
                                     "life %: slot yielded",           "life %: slot wanted",
                                     "life %: lanes restarted",        "life %: memory measured",
                                     "life %: the supervisor is back", "life %: tick",
                                     "life %: offers wanted",          "life %: datum checkpointed",
                                     "life %: runs measured",         "life %: data are mapped",
                                     "life %: the supervisor has heard it"};
  static_assert(std::size(kEvents) == std::variant_size_v<WorkerEvent>);
  world_.note(kEvents[event.index()], {life_});
  Actions<WorkerAction> actions;
  core_->handle(event, own_time(), actions);
  if (world_.options().validate) core_->validate();
  carry_out_all(actions);
  check_capacity();
  check_begins();
  check_what_is_overdue();
  check_drained();
  plan_tick();
}

void WorkerHost::note_datum(const char* what, const DataKey& key) {
  world_.note(what, {life_, key.producer.job.value(), key.producer.index.value(), key.output});
}

// A few long ones among many short ones, as in real workflows.
Duration WorkerHost::draw_duration(const StartSubtask& action) {
  const SubtaskId subtask = action.id;
  Rng& rng = world_.rng();
  // Only a run that outlasts the silence of its worker can overlap another one. Not under a
  // policy: its witnesses expect of runs that they leave their places soon.
  if (action.program->overlap == Overlap::Never && !world_.options().policy && rng.chance(1, 3))
    return world_.supervisor_config().worker_lost_after * rng.between(1, 4);
  if (const Workflow* workflow = world_.options().workflow.get();
      workflow != nullptr && !workflow->graph.expected_ns.empty() &&
      workflow->graph.expected_ns[subtask.index.value()] > 0)
    return Duration{
        static_cast<std::int64_t>(workflow->graph.expected_ns[subtask.index.value()] / 1000 * workflow->time_permille)};
  // In some worlds nearly all are so short that lanes are offered runs.
  const std::uint64_t kind = mix_bits(world_.options().seed + 3) % 6;
  // Long enough to be told of, and to be preempted.
  if (world_.options().policy && rng.chance(1, 10)) return milliseconds{rng.between(50, 2000)};
  if (kind < 2 && !rng.chance(1, 200)) return Duration{rng.between(1, kind == 0 ? 500 : 30'000)};
  return rng.chance(1, 10) ? Duration{milliseconds{rng.between(1, 80)}} : Duration{microseconds{rng.between(1, 3000)}};
}

void WorkerHost::start(const StartSubtask& action) {
  if (action.resumed) return resume(action);
  if (runs_.contains(action.record)) return world_.oracle().breach("a record runs twice");
  if (unstored_.contains(action.record))
    world_.oracle().breach("outputs of a run were neither stored nor discarded when its record was used again");
  check_entitlement(action);
  check_reservations(action);
  note_start_beside(action);
  world_.oracle().run_started(life_, action.id, action.attempt,
                              of_another_branch() || world_.supervisor().knows_success(action.id) ||
                                  world_.supervisor().wanted_again(action.id, action.attempt));
  world_.note("life % runs %:%#% on band %",
              {life_, action.id.job.value(), action.id.index.value(), action.attempt.value(), action.band.value()});
  Run run{action.id, action.attempt, action.band, action.program, next_run_++, world_.now(), read_inputs(action)};
  runs_[action.record] = run;
  if (world_.options().defect == Defect::RunsTwice && world_.rng().chance(1, 100)) {
    world_.note("DEFECT: it is started twice");
    world_.oracle().run_started(life_, action.id, action.attempt);
  }
  const Duration duration = draw_duration(action);
  world_.note_work(duration);
  plan_yield(action.record, run, duration);
  world_.queue().after(duration, [this, record = action.record, number = run.number, life = life_] {
    if (life == life_ && up_) deliver([this, record, number] { end_run(record, number, false); });
  });
  if (action.program->request.memory.is_zero() || fate_of(action.id) % 2 == 0) return;
  world_.queue().after(duration / 2, [this, record = action.record, number = run.number, life = life_] {
    if (life == life_ && up_) deliver([this, record, number] { measure_run(record, number); });
  });
}

void WorkerHost::end_run(RecordIndex record, std::uint64_t number, bool killed) {
  const auto found = runs_.find(record);
  if (found == runs_.end() || found->second.number != number) return;
  if (!killed && found->second.yields != Yields::Nothing) {
    found->second.yields = Yields::LentAndOver;
    return;
  }
  const Run run = found->second;
  if (!killed && world_.faults_on() && world_.options().faults.crashes && world_.rng().chance(1, 200))
    return crash_of(run);
  runs_.erase(found);
  graces_.ended(run.id);
  untold_.push_back(make_end(record, run, killed));
  const auto offer = std::find_if(offers_.begin(), offers_.end(), [&](const StartSubtask& o) {
    return o.band == run.band && (!o.within_job || o.id.job == run.id.job);
  });
  if (offer != offers_.end() && world_.rng().chance(3, 4)) {
    const StartSubtask next = *offer;
    offers_.erase(offer);
    world_.note("life % takes over an offer", {life_});
    untold_.back().run.next = next.record;
    start(next);
    check_capacity();
    return;
  }
  tell_ends();
  if (world_.rng().chance(2, 3)) handle_one(worker_event::OffersWanted{});
}

std::uint64_t WorkerHost::fate_of(SubtaskId id) const { return mix_bits(hash_of(id) ^ world_.options().seed) % 100; }

WorkerHost::UntoldEnd WorkerHost::make_end(RecordIndex record, const Run& run, bool killed) {
  const std::uint64_t fate = fate_of(run.id);
  UntoldEnd end;
  bool succeeded = !killed;
  if (killed) end.failure.failure = FailureClass::RunnerCrash;
  if (succeeded && world_.options().faults.failures) {
    // One subtask that always fails ends most larger graphs: in most worlds there is none, so that they run.
    const bool always = fate < 2 && mix_bits(world_.options().seed ^ 0xa1fa) % 4 == 0;
    const bool sometimes = fate < 12 && world_.rng().chance(1, 2);
    if (always || sometimes) {
      succeeded = false;
      end.failure.failure = fate % 3 == 0   ? FailureClass::RunnerCrash
                            : fate % 3 == 1 ? FailureClass::UserError
                                            : FailureClass::OutOfMemory;
    }
  }
  // A reader that is told that it is not here believes it.
  const std::optional<Content> external = succeeded && is_alias(*run.program) ? read_external(run.id) : std::nullopt;
  if (succeeded && is_alias(*run.program) && !external.has_value()) {
    succeeded = false;
    end.failure.failure = FailureClass::InputLost;
  }
  // Of three runs one is not measured; the others have used anything up to what was requested.
  end.run.peak = used_by(run) * (fate % 3 > 0);
  if (end.run.peak > Bytes{0}) {
    Measured& measured = measured_[worker::program_of(*run.program)];
    ++measured.runs;
    measured.least = std::min(measured.least, end.run.peak);
  }
  world_.oracle().run_ended(life_, run.id, succeeded);
  const std::uint16_t count = std::max<std::uint16_t>(run.program->output_count, 1);
  for (std::uint16_t output = 0; succeeded && output < count; ++output) {
    const DataKey key{run.id, output};
    const Content made = external.value_or(Content{Bytes{output_bytes(key)}, mix_bits(run.read ^ hash_of(key))});
    if (made.bytes.is_zero()) continue;
    end.outputs.push_back(OutputReport{output, made.bytes.value()});
    store_[key] = made;
    if (!of_another_branch()) world_.oracle().output_made(key, made);
    note_datum("life % has stored %:%.%", key);
    spilled_.erase(key);
    map_output(key);
  }
  end.run.record = record;
  end.run.attempt = run.attempt;
  end.run.succeeded = succeeded;
  end.run.stored = world_.rng().chance(3, 4);
  end.run.run_us = static_cast<std::uint32_t>((world_.now() - run.started).count() / 1000);
  end.run.run_ns =
      static_cast<std::uint32_t>(std::min<std::int64_t>((world_.now() - run.started).count(), UINT32_MAX - 1));
  end.run.ended = own_time();
  if (!end.run.stored) storing_.insert(run.id);
  if (!end.run.stored && !end.outputs.empty()) unstored_[record] = run.attempt;
  return end;
}

// All that was requested; once enough runs were measured, at least what the most modest of them has used.
Bytes WorkerHost::least_grant(const Run& run) const {
  const Bytes requested = run.program->request.memory;
  const std::uint32_t enough = world_.worker_config().quota_peaks_min;
  const auto found = measured_.find(worker::program_of(*run.program));
  if (enough == 0 || found == measured_.end() || found->second.runs < enough) return requested;
  return std::min(requested, found->second.least);
}

void WorkerHost::check_capacity() const {
  for (std::uint16_t i = 0; i < bands_.size(); ++i) {
    MilliSlots slots;
    MilliGpu gpu;
    Bytes device_memory;
    Bytes memory;
    std::size_t holders = 0;
    for (const auto& [record, run] : runs_) {
      if (run.band.value() != i) continue;
      memory += least_grant(run);
      holders += !run.program->request.memory.is_zero();
      if (!run.holds_slots()) continue;
      slots += run.program->request.slots;
      gpu += run.program->request.gpu;
      device_memory += run.program->request.device_memory;
    }
    if (slots > bands_[i].capacity.slots)
      world_.oracle().breach(name_ + "/" + bands_[i].name + " runs more than it has slots");
    if (gpu > bands_[i].capacity.gpu || device_memory > bands_[i].capacity.device_memory)
      world_.oracle().breach(name_ + "/" + bands_[i].name + " runs more than its device holds");
    const ResourceVector undivided = undivided_on(BandIndex{i});
    if (undivided.cpu > bands_[i].capacity.cpu || !named_fit(undivided.named, bands_[i].capacity.named))
      world_.oracle().breach(name_ + "/" + bands_[i].name + " runs more than it has processors or licences");
    if (memory > bands_[i].capacity.memory && holders > 1)
      world_.oracle().breach(name_ + "/" + bands_[i].name + " runs more than its memory holds");
  }
}

std::uint32_t WorkerHost::largest_band() const {
  std::int64_t most = 1;
  for (const BandDescription& band : bands_)
    if (band.kind == BandKind::Cpu) most = std::max(most, band.capacity.slots.value() / 1000);
  return static_cast<std::uint32_t>(most);
}

void WorkerHost::plan_tick() {
  const auto deadline = core_->next_deadline();
  if (!deadline || *deadline - clock_of(Incarnation{life_}) >= tick_at_) return;
  tick_at_ = *deadline - clock_of(Incarnation{life_});
  world_.queue().at(tick_at_, [this, life = life_, at = tick_at_] {
    if (life != life_ || !up_ || tick_at_ != at) return;
    tick_at_ = kNever;
    deliver([this] { handle(worker_event::Tick{}); });
  });
}

void WorkerHost::plan_link_tick() {
  if (endpoint_ == nullptr) return;
  const Instant at = endpoint_->plan();
  if (at == kNever) return;
  world_.queue().at(at, [this, life = life_, at] {
    if (life != life_ || !up_) return;
    deliver([this, at] {
      if (endpoint_ != nullptr && endpoint_->due(at, world_.now())) plan_link_tick();
    });
  });
}

}  // namespace penstock::simulation
