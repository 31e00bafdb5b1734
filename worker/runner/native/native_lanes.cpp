#include "worker/runner/native/native_lanes.hpp"

#include <pthread.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "common/base/cpu_relax.hpp"
#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/protocol/external_input.hpp"
#include "worker/runner/native/bound_arena.hpp"
#include "worker/runner/native/crash_note.hpp"
#include "worker/runner/native/device_run.hpp"
#include "worker/runner/native/operator_call.hpp"
#include "worker/runner/native/operator_registry.hpp"
#include "worker/runner/native/pace.hpp"
#include "worker/runner/process/process_runners.hpp"

namespace penstock::worker {
namespace {

penstock_view view_of(std::string_view bytes) { return {bytes.empty() ? nullptr : bytes.data(), bytes.size()}; }

}  // namespace

constexpr int kLongWaits = 4;

struct OfferedRun {
  NativeRun run;
  std::vector<DataKey> inputs;
};

/// One lane: a thread and a mailbox for one run.
/// Invariant of `mail`: 0 empty, 1 a run waits or is run, 2 the lane is to end. The starter fills `work` while it is 0
/// and publishes it by storing 1 (release); the thread takes it after it has seen 1 (acquire), and stores 0 before it
/// notes down an end without a next run, after which the next may be put. Invariant of `mutex`: a lane takes a run
/// over, copies it and notes that down in one critical section. So a thread that has closed the offers and then held
/// the mutex of each busy lane knows all runs that were taken over, and may change the offers. Thread-sanitized by
/// tests/integration/runner.
struct Lane {
  std::atomic<std::uint32_t> mail{0};
  std::atomic<std::uint64_t> cancelled_ticket{kNoTicket};
  std::atomic<std::uint64_t> overdue_ticket{kNoTicket};
  OfferedRun work;
  bool busy = false;  ///< Has a run with an end that was not withdrawn yet; of the starter.
  std::mutex mutex;
  std::vector<NativeEnd> ends;
  std::thread thread;

  // Of the starter, while there is no run.
  DeviceSet devices = 0;
  std::string visible;         ///< UUIDs of these devices.
  DeviceTier* tier = nullptr;  ///< The memory of the first of them.

  // Of the thread.
  OperatorCall call{};
  bool on_short_runs = false;  ///< Counted in `State::on_short_runs`.
  Pace pace;
  Preemptions preemptions;
  Duration typical_wait{};  ///< Mean of the latest waits for a run; a long one counts as `kLongWaits` of `spin_max`.
  std::vector<BlobPtr> blobs;
  std::vector<penstock_view> views;
  std::vector<penstock_view> empty_views;  ///< As many as a run has asked for.
  std::unique_ptr<BoundArena> wide_arena;
  RunningOperator running;  ///< Also for threads of that arena, which may leave it late.
  SlotLoan loan;            ///< Guards itself.
};

/// The runs on offer, in a list for all lanes, or in one for each job if runs may only follow runs of their own job.
/// Invariant of `range`: the first that is left (upper half) and the end; a lane takes one by moving the first on.
/// Invariant of `open`: the number of lists that lanes may read. All else is written only while it is 0 and no busy
/// lane is within its critical section.
struct Offers {
  struct List {
    JobId after;  ///< None: after runs of any job.
    std::atomic<std::uint64_t> range{0};
    std::vector<OfferedRun> runs;
    std::size_t added = 0;
  };
  std::atomic<std::size_t> open{0};
  std::deque<List> lists;  ///< Lists never move.
  std::size_t used = 0;

  List& list_for(JobId after) {
    // Offers come sorted by job, or nearly.
    for (std::size_t i = used; i-- > 0;)
      if (lists[i].after == after) return lists[i];
    if (used == lists.size()) lists.emplace_back();
    List& list = lists[used++];
    list.after = after;
    list.added = 0;
    return list;
  }
};

struct NativeLanes::State {
  State(ObjectStore& object_store, NativeLanesConfig lanes_config, OnIdle idle_handler)
      : store(object_store), config(std::move(lanes_config)), on_idle(std::move(idle_handler)) {}

  Lane* lane_at(SlotIndex index);
  void refuse(Lane& lane, const NativeRun& run);
  static void forget_stops(Lane& lane, std::uint64_t ticket);
  static void put_mail(Lane& lane);
  void note_pace(Lane& lane, bool short_runs);
  void run_lane(Lane& lane, std::uint32_t number);
  bool wait_for_mail(Lane& lane) const;
  bool take_over(Lane& lane, NativeEnd&& end);
  OfferedRun* claim(JobId ended);
  NativeEnd execute(Lane& lane, std::uint32_t number);
  bool gather_inputs(Lane& lane, NativeEnd& end) const;
  void prepare_call(Lane& lane, std::uint32_t number) const;
  static void fill_call(Lane& lane, DeviceRun& on_device);
  void use_devices(Lane& lane, DeviceSet devices) const;
  void call_operator(Lane& lane, NativeEnd& end) const;
  void make_alias(OperatorCall& call, NativeEnd& end) const;
  static void pass_on(Lane& lane, NativeEnd& end);
  void run_in_child(Lane& lane, std::uint32_t number, NativeEnd& end);
  void keep_output(const SubtaskId& id, std::uint16_t output, std::shared_ptr<Blob> blob, NativeEnd& end);

  ObjectStore& store;
  const NativeLanesConfig config;
  const OnIdle on_idle;
  std::mutex mutex;  ///< Guards `lanes` while it grows; lanes themselves never move.
  std::deque<Lane> lanes;
  std::atomic<bool> ending{false};
  std::atomic<std::uint32_t> on_short_runs{0};  ///< Lanes.
  Offers offers;
  // Of the combining thread.
  std::vector<Lane*> starting;  ///< Their runs begin with the next `open_offers`.
  bool any_short_end = false;   ///< Among those that were withdrawn last.
};

NativeLanes::NativeLanes(ObjectStore& store, NativeLanesConfig config, OnIdle on_idle)
    : state_(std::make_unique<State>(store, std::move(config), std::move(on_idle))) {}

NativeLanes::~NativeLanes() { end(); }

void NativeLanes::begin_end() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->ending = true;
    for (Lane& lane : state_->lanes) lane.loan.ring();
  }
  if (state_->config.processes != nullptr) state_->config.processes->end();
}

void NativeLanes::end() {
  begin_end();
  for (Lane& lane : state_->lanes) {
    std::uint32_t seen = lane.mail.load();
    while (!lane.mail.compare_exchange_weak(seen, 2)) {
    }
    lane.mail.notify_one();
  }
  for (Lane& lane : state_->lanes)
    if (lane.thread.joinable()) lane.thread.join();
}

void NativeLanes::start(SlotIndex index, const NativeRun& run, std::vector<DataKey> inputs) {
  Lane* place = state_->lane_at(index);
  if (place == nullptr) return;  // Shutting down.
  Lane& lane = *place;
  lane.busy = true;
  if (!lane.thread.joinable()) return state_->refuse(lane, run);
  State::forget_stops(lane, run.ticket);
  if (lane.devices != run.devices || lane.tier == nullptr) state_->use_devices(lane, run.devices);
  lane.work.run = run;
  lane.work.inputs = std::move(inputs);
  // A lane that ended its run before the next ones are on offer would be idle again at once.
  if (state_->any_short_end)
    state_->starting.push_back(place);
  else
    State::put_mail(lane);
}

void NativeLanes::State::use_devices(Lane& lane, DeviceSet devices) const {
  if (config.devices.empty()) return;
  lane.devices = devices;
  lane.visible = config.devices.visible(devices);
  lane.tier = config.devices.tier(devices);
}

NativeRun& NativeLanes::add_offer(JobId after, std::vector<DataKey> inputs) {
  Offers::List& list = state_->offers.list_for(after);
  if (list.added == list.runs.size()) list.runs.emplace_back();
  OfferedRun& offered = list.runs[list.added++];
  offered.inputs = std::move(inputs);
  return offered.run;
}

void NativeLanes::open_offers() {
  Offers& offers = state_->offers;
  for (std::size_t i = 0; i < offers.used; ++i)
    offers.lists[i].range.store(offers.lists[i].added, std::memory_order_relaxed);
  offers.open.store(offers.used, std::memory_order_release);
  for (Lane* lane : state_->starting) State::put_mail(*lane);
  state_->starting.clear();
}

void NativeLanes::withdraw(std::vector<NativeEnd>& ends) {
  state_->offers.open.store(0, std::memory_order_release);
  state_->offers.used = 0;
  state_->any_short_end = false;
  for (Lane& lane : state_->lanes) {
    if (!lane.busy) continue;
    const std::lock_guard lock{lane.mutex};
    if (lane.ends.empty()) continue;
    lane.busy = lane.ends.back().next_ticket != kNoTicket;
    // From now on the tickets may be used again, and a late cancel must not stop the next run with one of them.
    for (const NativeEnd& end : lane.ends) {
      if (lane.cancelled_ticket == end.ticket) lane.cancelled_ticket = kNoTicket;
      if (lane.overdue_ticket == end.ticket) lane.overdue_ticket = kNoTicket;
      state_->any_short_end |= end.run_ns < state_->config.short_run_ns;
    }
    std::move(lane.ends.begin(), lane.ends.end(), std::back_inserter(ends));
    lane.ends.clear();
  }
}

bool NativeLanes::any_on_short_runs() const { return state_->on_short_runs > 0; }

void NativeLanes::cancel(SlotIndex index, std::uint64_t ticket, bool kill) {
  {
    const std::lock_guard lock{state_->mutex};
    if (index.value() >= state_->lanes.size()) return;
    state_->lanes[index.value()].cancelled_ticket = ticket;
    state_->lanes[index.value()].loan.ring();
  }
  if (state_->config.processes != nullptr) state_->config.processes->stop(index, ticket, kill);
}

void NativeLanes::end_overdue(SlotIndex index, std::uint64_t ticket) {
  const std::lock_guard lock{state_->mutex};
  if (state_->ending || index.value() >= state_->lanes.size()) return;
  Lane& lane = state_->lanes[index.value()];
  if (!lane.thread.joinable()) return;  // Commands have lanes, too, and no threads.
  lane.overdue_ticket = ticket;
  if (!end_overdue_operator(lane.thread.native_handle()))
    log_line(LogLevel::Warn, "an operator runs beyond its time limit, and nothing can end it",
             "lane=" + std::to_string(index.value()));
}

void NativeLanes::answer_yield(SlotIndex index, std::uint64_t ticket, bool lent) {
  const std::lock_guard lock{state_->mutex};
  if (index.value() < state_->lanes.size()) state_->lanes[index.value()].loan.answer(ticket, lent);
}

void NativeLanes::resume(SlotIndex index, std::uint64_t ticket) {
  const std::lock_guard lock{state_->mutex};
  if (index.value() < state_->lanes.size()) state_->lanes[index.value()].loan.grant(ticket);
}

// Null when the lanes are to end.
Lane* NativeLanes::State::lane_at(SlotIndex index) {
  const std::lock_guard lock{mutex};
  if (ending) return nullptr;
  while (lanes.size() <= index.value()) lanes.emplace_back();
  Lane& lane = lanes[index.value()];
  if (lane.thread.joinable()) return &lane;
  try {
    lane.thread = std::thread{[this, &lane, number = index.value()] { run_lane(lane, number); }};
  } catch (const std::system_error&) {
    // Fault F33: the host has no threads left. The next run of the lane asks again.
  }
  return &lane;
}

// A command that was stopped on this lane may have had the same ticket; its stop is not cleared elsewhere.
void NativeLanes::State::forget_stops(Lane& lane, std::uint64_t ticket) {
  if (lane.cancelled_ticket.load(std::memory_order_relaxed) == ticket) lane.cancelled_ticket = kNoTicket;
  if (lane.overdue_ticket.load(std::memory_order_relaxed) == ticket) lane.overdue_ticket = kNoTicket;
}

void NativeLanes::State::put_mail(Lane& lane) {
  std::uint32_t empty = 0;
  if (!lane.mail.compare_exchange_strong(empty, 1, std::memory_order_release)) return;  // Shutting down.
  lane.mail.notify_one();
}

// The host has no thread for the run.
void NativeLanes::State::refuse(Lane& lane, const NativeRun& run) {
  {
    const std::lock_guard lock{lane.mutex};
    NativeEnd& end = lane.ends.emplace_back();
    end.ticket = run.ticket;
    end.attempt = run.attempt;
    end.succeeded = false;
    end.ended = monotonic_now();
    end.failure = std::make_unique<FailureDetail>();
    end.failure->failure = FailureClass::Exhausted;
    end.failure->message = "the host has no thread left for its lane";
  }
  on_idle();
}

void NativeLanes::State::run_lane(Lane& lane, std::uint32_t number) {
  pthread_setname_np(pthread_self(), ("lane-" + std::to_string(number)).c_str());
  bind_thread(config.processors);
  const CrashStack crash_stack;
  prepare_call(lane, number);
  lane.typical_wait = config.spin_max * kLongWaits;
  BoundArena own_arena{1, config.processors};
  own_arena.execute([&] {
    while (wait_for_mail(lane)) {
      // One look at the clock for each run: the end of one is the start of the next.
      Instant start = monotonic_now();
      for (bool more = true; more;) {
        NativeEnd end = execute(lane, number);
        if (lane.loan.used()) lane.loan.reset();
        end.ended = monotonic_now();
        const std::int64_t ns = (end.ended - start).count();
        end.run_us = static_cast<std::uint32_t>(std::min<std::int64_t>(ns / 1000, UINT32_MAX));
        const std::int64_t told = lane.pace.told(ns, [&] { return lane.preemptions.any_since(); });
        end.run_ns = static_cast<std::uint32_t>(std::min<std::int64_t>(told, UINT32_MAX - 1));
        start = end.ended;
        more = take_over(lane, std::move(end));
      }
      on_idle();
    }
  });
}

// Records the end, and takes over the next run if there is one: true.
bool NativeLanes::State::take_over(Lane& lane, NativeEnd&& end) {
  const std::lock_guard lock{lane.mutex};
  OfferedRun* next = claim(lane.work.run.id.job);
  note_pace(lane, next != nullptr && end.run_ns < config.short_run_ns);
  if (next != nullptr) {
    forget_stops(lane, next->run.ticket);
    lane.work.run = next->run;
    std::swap(lane.work.inputs, next->inputs);
    end.next_ticket = next->run.ticket;
  } else {
    std::uint32_t busy = 1;
    lane.mail.compare_exchange_strong(busy, 0, std::memory_order_acq_rel);
  }
  lane.ends.push_back(std::move(end));
  return next != nullptr;
}

// Before the lane calls `on_idle`, so that news which were left to it by then are seen in that call.
void NativeLanes::State::note_pace(Lane& lane, bool short_runs) {
  if (short_runs == lane.on_short_runs) return;
  lane.on_short_runs = short_runs;
  if (short_runs)
    ++on_short_runs;
  else
    --on_short_runs;
}

// REQUIRES: the caller holds the mutex of its lane.
OfferedRun* NativeLanes::State::claim(JobId ended) {
  const std::size_t open = offers.open.load(std::memory_order_acquire);
  if (ending.load(std::memory_order_relaxed)) return nullptr;
  for (std::size_t i = 0; i < open; ++i) {
    Offers::List& list = offers.lists[i];
    if (list.after.valid() && list.after != ended) continue;
    std::uint64_t range = list.range.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t first = range >> 32U;
      if (first == (range & UINT32_MAX)) return nullptr;  // There is no other list for it.
      if (list.range.compare_exchange_weak(range, range + (std::uint64_t{1} << 32U), std::memory_order_acq_rel))
        return &list.runs[first];
    }
  }
  return nullptr;
}

// False when the lane is to end.
bool NativeLanes::State::wait_for_mail(Lane& lane) const {
  std::uint32_t mail = lane.mail.load(std::memory_order_acquire);
  if (mail != 0) return mail != 2;
  const Instant begin = monotonic_now();
  const Duration spin = lane.typical_wait <= config.spin_max ? config.spin_max : config.spin;
  Duration waited{};
  while (waited < spin && (mail = lane.mail.load(std::memory_order_acquire)) == 0) {
    cpu_relax();
    // A lane that looks for longer must not keep others from a processor, least of all those on which its next run
    // depends.
    if (waited >= config.spin) std::this_thread::yield();
    waited = monotonic_now() - begin;
  }
  if (mail == 0) {
    lane.mail.wait(0, std::memory_order_acquire);
    mail = lane.mail.load(std::memory_order_acquire);
    waited = monotonic_now() - begin;
  }
  // One long pause is forgotten after a few short ones.
  lane.typical_wait = (lane.typical_wait * 3 + std::min(waited, config.spin_max * kLongWaits)) / 4;
  return mail != 2;
}

NativeEnd NativeLanes::State::execute(Lane& lane, std::uint32_t number) {
  const NativeRun& run = lane.work.run;
  NativeEnd end;
  end.ticket = run.ticket;
  end.attempt = run.attempt;
  lane.blobs.clear();
  lane.views.clear();
  if (!lane.work.inputs.empty() && !gather_inputs(lane, end)) return end;
  const std::vector<DeviceClaim> others = config.devices.claim_others(lane.devices, run.program->request.device_memory);
  DeviceRun on_device{lane.tier, lane.work.inputs, run.program->request.device_memory};
  on_device.make_free(run.on_devices);
  if (run.function == nullptr) {
    run_in_child(lane, number, end);
    lane.blobs.clear();
    return end;
  }
  fill_call(lane, on_device);
  if (run.function == alias_operator)
    make_alias(lane.call, end);
  else if (run.function == pass_operator)
    pass_on(lane, end);
  else
    call_operator(lane, end);
  lane.blobs.clear();
  for (auto& [output, blob] : lane.call.made)
    if (end.succeeded) keep_output(run.id, output, std::move(blob), end);
  lane.call.made.clear();  // Outputs of a failed run are dropped with it.
  if (end.succeeded) on_device.keep_outputs(run.id, end.outputs);
  return end;
}

// Sets the members that are the same for all runs of the lane; `fill_call` sets the others.
void NativeLanes::State::prepare_call(Lane& lane, std::uint32_t number) const {
  OperatorCall& call = lane.call;
  call.abi = PENSTOCK_OPERATOR_ABI;
  call.slot = number;
  set_functions(call);
  call.store = &store;
  call.cancelled_ticket = &lane.cancelled_ticket;
  call.ending = &ending;
  call.run = &lane.work.run;
  lane.loan.serve(&config.tell_slot_wish, &lane.cancelled_ticket, &ending);
  call.loan = &lane.loan;
  call.thread = std::this_thread::get_id();
  lane.running.life = config.life;
  lane.running.overdue = &lane.overdue_ticket;
}

void NativeLanes::State::fill_call(Lane& lane, DeviceRun& on_device) {
  const NativeRun& run = lane.work.run;
  // Often all inputs are empty: then the views of the last such run are used again.
  std::vector<penstock_view>& views = lane.views.empty() ? lane.empty_views : lane.views;
  const std::size_t input_count = lane.views.size() + run.empty_inputs;
  if (views.size() < input_count) views.resize(input_count, penstock_view{nullptr, 0});
  OperatorCall& call = lane.call;
  call.milli_slots = static_cast<std::uint32_t>(run.program->request.slots.value());
  call.attempt = static_cast<std::uint32_t>(run.attempt.value());
  call.attempt_number = run.attempt.value();
  call.memory_bytes = static_cast<std::uint64_t>(run.program->request.memory.value());
  call.template_payload = view_of(run.program->payload);
  call.payload = view_of(run.payload);
  call.inputs = views.data();
  call.input_count = input_count;
  call.device = lane.visible.c_str();
  call.on_device = &on_device;
  call.attempt_text.clear();
  call.failure.clear();
  call.exhausted = false;
  call.knows_of_stop.store(false, std::memory_order_relaxed);
}

void NativeLanes::State::make_alias(OperatorCall& call, NativeEnd& end) const {
  BlobPtr blob;
  const std::optional<ExternalDatum> datum =
      read_external_datum({static_cast<const char*>(call.payload.data), static_cast<std::size_t>(call.payload.bytes)});
  // The number may belong to another job by now, and its bytes are not the ones asked for.
  if (datum && !store.is_another(datum->producer.job, datum->identity))
    blob = store.load_now(DataKey{datum->producer, datum->output});
  if (blob != nullptr) {
    call.made.emplace_back(0, std::const_pointer_cast<Blob>(blob));  // Sealed long ago: `put` does not touch it.
    return;
  }
  end.succeeded = false;
  end.failure = std::make_unique<FailureDetail>();
  end.failure->failure = FailureClass::InputLost;
  end.failure->message = "the borrowed output is not here";
}

void NativeLanes::State::pass_on(Lane& lane, NativeEnd& end) {
  if (lane.call.input_count == 1) {
    for (BlobPtr& blob : lane.blobs)
      lane.call.made.emplace_back(0, std::const_pointer_cast<Blob>(blob));  // An empty one has none.
    return;
  }
  end.succeeded = false;
  end.failure = std::make_unique<FailureDetail>();
  end.failure->failure = FailureClass::UserError;
  end.failure->message = "pass takes one input, not " + std::to_string(lane.call.input_count);
}

void NativeLanes::State::keep_output(const SubtaskId& id, std::uint16_t output, std::shared_ptr<Blob> blob,
                                     NativeEnd& end) {
  if (blob->bytes().empty()) return;
  end.outputs.push_back({output, static_cast<std::int64_t>(blob->bytes().size())});
  store.put(DataKey{id, output}, std::move(blob));
}

void NativeLanes::State::run_in_child(Lane& lane, std::uint32_t number, NativeEnd& end) {
  const NativeRun& run = lane.work.run;
  ProcessRun wanted{SlotIndex{static_cast<std::uint16_t>(number)},
                    run.ticket,
                    run.id,
                    run.attempt,
                    run.program,
                    run.payload,
                    {},
                    &lane.cancelled_ticket,
                    run.identity,
                    config.tell_slot_wish ? &lane.loan : nullptr,
                    lane.devices == 0 ? std::string_view{} : lane.visible};
  // An empty input has no blob, wherever it stands.
  std::vector<BlobPtr> inputs;
  inputs.reserve(lane.views.size() + run.empty_inputs);
  std::size_t next = 0;
  for (const penstock_view& view : lane.views) inputs.push_back(view.data == nullptr ? nullptr : lane.blobs[next++]);
  inputs.resize(lane.views.size() + run.empty_inputs);
  wanted.inputs = inputs;
  ProcessResult result = config.processes->run(wanted);
  for (auto& [output, blob] : result.outputs)
    if (output < run.program->output_count) keep_output(run.id, output, std::move(blob), end);
  end.peak_bytes = result.peak_bytes;
  end.succeeded = result.failure == nullptr;
  end.failure = std::move(result.failure);
}

bool NativeLanes::State::gather_inputs(Lane& lane, NativeEnd& end) const {
  for (const DataKey& key : lane.work.inputs) {
    if (!key.producer.job.valid()) {
      lane.views.push_back({nullptr, 0});  // An empty output.
      continue;
    }
    const bool may_stay = lane.work.run.on_devices && lane.tier != nullptr;
    BlobPtr blob = may_stay ? store.find_here(key) : store.find(key);
    if (blob == nullptr && may_stay) {
      if (const Bytes bytes = lane.tier->bytes_of(key); bytes > Bytes{0}) {
        lane.views.push_back({nullptr, static_cast<std::uint64_t>(bytes.value())});
        continue;
      }
      blob = store.find(key);
    }
    if (blob == nullptr) {
      end.succeeded = false;
      end.failure = std::make_unique<FailureDetail>();
      end.failure->failure = FailureClass::InputLost;
      end.failure->lost_producer = key.producer.index;
      end.failure->message = "input " + to_string(key) + " is not in the store";
      return false;
    }
    lane.views.push_back({blob->bytes().data(), blob->bytes().size()});
    lane.blobs.push_back(std::move(blob));
  }
  return true;
}

void NativeLanes::State::call_operator(Lane& lane, NativeEnd& end) const {
  const NativeRun& run = lane.work.run;
  OperatorCall& call = lane.call;
  int result = 1;
  std::string failure;
  lane.running.id = run.id;
  lane.running.attempt = run.attempt;
  lane.running.name = run.program->program;
  lane.running.ticket = run.ticket;
  set_running_operator(&lane.running);
  const auto guarded = [&] {
    try {
      result = run.function(&call);
      failure = call.failure;
      if (result != 0 && failure.empty()) failure = "returned " + std::to_string(result);
    } catch (const std::exception& exception) {
      failure = std::string{"threw: "} + exception.what();
    } catch (...) {
      failure = "threw something that is no std::exception";
    }
  };
  if (call.milli_slots > 1000) {
    lane.wide_arena = std::make_unique<BoundArena>(static_cast<int>((call.milli_slots + 999) / 1000), config.processors,
                                                   &lane.running);
    lane.wide_arena->execute(guarded);
  } else {
    guarded();
  }
  set_running_operator(nullptr);
  if (result == 0 && !call.knows_of_stop) return;
  end.succeeded = false;
  end.failure = std::make_unique<FailureDetail>();
  end.failure->failure = call.exhausted ? FailureClass::Exhausted : FailureClass::UserError;
  end.failure->exit_code = result;
  end.failure->message = result == 0 ? std::string{"returned early, as it was told to stop"} : std::move(failure);
}

}  // namespace penstock::worker
