#include "worker/runner/process/process_runners.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/wire/codec_runner.hpp"
#include "worker/runner/command/command_line.hpp"
#include "worker/runner/command/group_guard.hpp"
#include "worker/runner/process/child.hpp"
#include "worker/runner/process/runner_lane.hpp"

namespace penstock::worker {
namespace {

std::unique_ptr<FailureDetail> failure_of(FailureClass failure, std::string message) {
  auto detail = std::make_unique<FailureDetail>();
  detail->failure = failure;
  detail->message = std::move(message);
  return detail;
}

std::unique_ptr<FailureDetail> refusal(const Error& error) {
  const bool exhausted = error.code == ErrorCode::ResourceExhausted;
  auto detail = failure_of(exhausted ? FailureClass::Exhausted : FailureClass::Refused, to_string(error));
  if (where_to_try_again(error.code) == TryAgain::OnOtherWorkers) detail->code = error.code;
  return detail;
}

/// A runner may report any number.
std::int64_t told_peak(const RunnerEnd& end) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(end.peak_bytes, INT64_MAX));
}

std::string visible(std::string_view devices) { return "CUDA_VISIBLE_DEVICES=" + std::string{devices}; }

/// Children that were killed and have to be reaped.
struct Parting {
  std::vector<Kept> children;
  std::function<void()> gone;
};

}  // namespace

struct ProcessRunners::State {
  explicit State(ProcessRunnersConfig runners_config) : config(std::move(runners_config)) {
    child_options.environment = own_environment();
    own_words = {"PENSTOCK_BAND=" + config.band, "PENSTOCK_RUNNER=" + guard.token()};
    if (!config.devices.empty()) own_words.push_back(visible(config.devices));
    if (!config.cluster.empty()) own_words.push_back("PENSTOCK_SUPERVISOR=" + config.cluster);
    if (!config.worker.empty()) own_words.push_back("PENSTOCK_WORKER=" + config.worker);
    if (!config.data_address.empty()) own_words.push_back("PENSTOCK_WORKER_ADDRESS=" + config.data_address);
    set_variables(child_options.environment, own_words);
    child_options.processors = config.processors;
    child_options.message_bytes_max = config.limits.runner_message_bytes_max;
    child_options.tail_bytes = config.tail_bytes;
    child_options.logs = config.logs;
  }

  RunnerLane& lane_at(SlotIndex index);
  Result<Child*> child_for(RunnerLane& lane, const Template& program, std::string_view devices);
  Result<Child*> quiet_child_for(RunnerLane& lane, const Template& program, std::string_view devices);
  Result<Child*> start_in(RunnerLane& lane, const Template& program, std::string_view devices);
  void reap_soon();
  void reap_next();
  void warm_next();
  void warm(RunnerLane& lane, const Template& program);
  void forget_warming();
  Result<Kept> start(const Template& program, std::string_view devices);
  void part_with(RunnerLane& lane, const Child* child);
  void end_all(std::vector<Kept> gone);
  void end_child(const RunnerLane& lane, Child& child) const;
  static void leave_run(RunnerLane& lane);
  bool begin(RunnerLane& lane, const ProcessRun& run);
  std::unique_ptr<FailureDetail> introduce(Child& child, const Template& program);
  std::unique_ptr<FailureDetail> send(Child& child, const ProcessRun& run);
  std::unique_ptr<FailureDetail> await_end(Child& child, const ProcessRun& run, ProcessResult& result);
  Duration sleep_max(const ProcessRun& run, bool looks) const;
  std::unique_ptr<FailureDetail> move_slot(Child& child, const ProcessRun& run, const RunnerSlot& wish, bool& wants);
  std::unique_ptr<FailureDetail> answer_slot(Child& child, const Result<void>& answer);
  std::unique_ptr<FailureDetail> take_end(Child& child, const RunnerEnd& end, ProcessResult& result);
  std::unique_ptr<FailureDetail> crash(Child& child, const Error& error);

  const ProcessRunnersConfig config;
  ChildOptions child_options;
  std::vector<std::string> own_words;  ///< Told to every child.
  std::atomic<bool> ending{false};
  mutable std::mutex mutex;  ///< Guards `lanes` while it grows (lanes never move), and the guard.
  std::deque<RunnerLane> lanes;
  GroupGuard guard;
  std::uint64_t children_started = 0;  ///< Under the mutex, too.
  // Of `config.reaper`, under the mutex, too. A piece of its work takes one of them, if there is still one.
  std::deque<Parting> to_reap;
  std::deque<SlotIndex> to_warm;  ///< Lanes, one entry for each of their own lists.
};

ProcessRunners::ProcessRunners(ProcessRunnersConfig config) : state_(std::make_unique<State>(std::move(config))) {
  survive_broken_pipes();
}

ProcessRunners::~ProcessRunners() {
  end();
  if (state_->config.reaper != nullptr) state_->config.reaper->quiesce();
  std::vector<Kept> gone;
  for (Parting& parting : state_->to_reap)
    std::move(parting.children.begin(), parting.children.end(), std::back_inserter(gone));
  state_->to_reap.clear();
  for (RunnerLane& lane : state_->lanes)
    std::move(lane.kept.begin(), lane.kept.end(), std::back_inserter(gone)), lane.kept.clear();
  state_->end_all(std::move(gone));
  state_->guard.end_daemons();  // Not earlier: it would also end daemons that are about to end by themselves.
}

void ProcessRunners::end() {
  const std::lock_guard lock{state_->mutex};
  state_->ending = true;
  for (RunnerLane& lane : state_->lanes) {
    const std::lock_guard lane_lock{lane.mutex};
    lane.stopped = true;
    for (const Kept& kept : lane.kept) state_->end_child(lane, *kept.child);
  }
}

std::size_t ProcessRunners::children() const {
  std::size_t count = 0;
  const std::lock_guard lock{state_->mutex};
  for (RunnerLane& lane : state_->lanes) {
    const std::lock_guard lane_lock{lane.mutex};
    count += lane.kept.size();
  }
  return count;
}

void ProcessRunners::stop(SlotIndex index, std::uint64_t ticket, bool kill) {
  RunnerLane& lane = state_->lane_at(index);
  const std::lock_guard lock{lane.mutex};
  if (lane.ticket != ticket) return;
  lane.stopped = true;
  if (lane.current == nullptr) return;
  if (kill)
    lane.current->kill();
  else
    lane.current->interrupt();
}

RunnersMemory ProcessRunners::measure() const {
  RunnersMemory all;
  const std::lock_guard lock{state_->mutex};
  for (RunnerLane& lane : state_->lanes) {
    const std::lock_guard lane_lock{lane.mutex};
    const bool runs = lane.current != nullptr && lane.ticket != kNobody;
    for (const Kept& kept : lane.kept) {
      const ChildMemory memory = kept.child->memory();
      // Ending a runner frees nothing of its interpreter and libraries: the next one would have them as well.
      const std::int64_t spared = state_->config.limits.runner_bytes_spared.value();
      const std::int64_t own = std::max<std::int64_t>(memory.own_bytes - spared, 0);
      all.own_bytes += own;
      if (runs && kept.child.get() == lane.current)
        all.runs.push_back({lane.ticket, lane.attempt, memory.resident_bytes});
      else if (lane.ticket == kNobody || runs)  // Otherwise it is still open which child gets the run.
        all.idle_bytes += own;
    }
  }
  return all;
}

std::size_t ProcessRunners::to_be_warmed() const {
  const std::lock_guard lock{state_->mutex};
  return state_->to_warm.size();
}

void ProcessRunners::end_idle(std::function<void()> gone) {
  Parting parting{{}, std::move(gone)};
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->ending) return;
    state_->forget_warming();
    for (RunnerLane& lane : state_->lanes) {
      const std::lock_guard lane_lock{lane.mutex};
      std::vector<Kept> idle = lane.take_idle();
      std::move(idle.begin(), idle.end(), std::back_inserter(parting.children));
    }
    for (const Kept& kept : parting.children) kept.child->kill();
    state_->to_reap.push_back(std::move(parting));
  }
  state_->reap_soon();
}

void ProcessRunners::end_spare(Instant now) {
  Parting parting{{}, [] {}};
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->ending) return;
    std::vector<std::optional<Instant>> idle;
    for (RunnerLane& lane : state_->lanes) {
      const std::lock_guard lane_lock{lane.mutex};
      idle.push_back(lane.is_idle() ? std::optional{lane.idle_since} : std::nullopt);
    }
    for (const std::size_t spare : spare_lanes(idle, state_->config.slots, later(now, -state_->config.spare_kept))) {
      RunnerLane& lane = state_->lanes[spare];
      const std::lock_guard lane_lock{lane.mutex};
      if (!lane.is_idle()) continue;  // A run came meanwhile.
      std::vector<Kept> children = lane.take_idle();
      std::move(children.begin(), children.end(), std::back_inserter(parting.children));
    }
    if (parting.children.empty()) return;
    state_->to_reap.push_back(std::move(parting));
  }
  state_->reap_soon();
}

void ProcessRunners::warm(std::span<const SlotIndex> lanes, const Template& program) {
  BlockingWork* const reaper = state_->config.reaper.get();
  if (reaper == nullptr || !reaper->has_thread()) return;             // Runs start what they need.
  if (state_->config.devices.find(',') != std::string::npos) return;  // The run's devices are not known yet.
  const auto kind = std::make_shared<const Template>(kind_of(program));
  for (const SlotIndex index : lanes) state_->lane_at(index);
  const std::lock_guard lock{state_->mutex};
  if (state_->ending) return;
  for (const SlotIndex index : lanes) {
    auto& waiting = state_->lanes[index.value()].to_warm;
    const bool known =
        std::any_of(waiting.begin(), waiting.end(), [&](const auto& other) { return same_kind(*other, program); });
    if (known || waiting.size() >= state_->config.limits.runner_kinds_max) continue;
    waiting.push_back(kind);
    state_->to_warm.push_back(index);
    reaper->add(BlockingWork::Turn::Later, [state = state_.get()] { state->warm_next(); });
  }
}

// REQUIRES: the mutex is held.
void ProcessRunners::State::forget_warming() {
  for (RunnerLane& lane : lanes) lane.to_warm.clear();
  to_warm.clear();
}

void ProcessRunners::State::reap_soon() {
  if (config.reaper == nullptr) return reap_next();
  config.reaper->add(BlockingWork::Turn::Waited, [this] { reap_next(); });
}

void ProcessRunners::State::reap_next() {
  Parting parting;
  {
    const std::lock_guard lock{mutex};
    if (ending || to_reap.empty()) return;
    parting = std::move(to_reap.front());
    to_reap.pop_front();
  }
  end_all(std::move(parting.children));
  parting.gone();
}

void ProcessRunners::State::warm_next() {
  std::shared_ptr<const Template> program;
  RunnerLane* lane = nullptr;
  {
    const std::lock_guard lock{mutex};
    if (ending || to_warm.empty()) return;
    lane = &lanes[to_warm.front().value()];
    to_warm.pop_front();
    program = std::move(lane->to_warm.front());
    lane->to_warm.pop_front();
  }
  warm(*lane, *program);
}

void ProcessRunners::State::warm(RunnerLane& lane, const Template& program) {
  std::uint64_t emptied = 0;
  {
    const std::lock_guard lock{lane.mutex};
    emptied = lane.emptied;
    const bool known = std::any_of(lane.kept.begin(), lane.kept.end(),
                                   [&](const Kept& kept) { return same_kind(kept.kind, program); });
    if (known || lane.starting || lane.ticket != kNobody || lane.kept.size() >= config.limits.runner_kinds_max) return;
    lane.starting = true;
  }
  const Result<Child*> started = start_in(lane, program, {});
  if (!started) return;
  std::vector<Kept> unwanted;  // The lane was emptied meanwhile, and has no run.
  {
    const std::lock_guard lock{lane.mutex};
    if (lane.emptied != emptied && lane.ticket == kNobody) unwanted = lane.take_idle();
  }
  end_all(std::move(unwanted));
}

ProcessResult ProcessRunners::run(const ProcessRun& run) {
  ProcessResult result;
  RunnerLane& lane = state_->lane_at(run.lane);
  if (!state_->begin(lane, run)) {
    result.failure = failure_of(FailureClass::Refused, "the worker is ending");
    return result;
  }
  const Result<Child*> child = state_->quiet_child_for(lane, *run.program, run.devices);
  if (!child) {
    result.failure = refusal(child.error());
    const std::lock_guard lock{lane.mutex};
    lane.ticket = kNobody;
    return result;
  }
  bool stopped = false;
  {
    const std::lock_guard lock{lane.mutex};
    stopped = lane.stopped || (run.cancelled_ticket != nullptr && run.cancelled_ticket->load() == run.ticket);
    if (!stopped) lane.current = *child;  // Otherwise the child without the run could be killed for it.
  }
  if (stopped)
    result.failure = failure_of(FailureClass::UserError, "was stopped before it began");
  else
    result.failure = state_->await_end(**child, run, result);
  const bool lives = result.failure == nullptr || result.failure->failure == FailureClass::UserError;
  state_->leave_run(lane);
  if (!lives) state_->part_with(lane, *child);
  if (result.failure != nullptr) result.outputs.clear();
  return result;
}

RunnerLane& ProcessRunners::State::lane_at(SlotIndex index) {
  const std::lock_guard lock{mutex};
  while (lanes.size() <= index.value()) lanes.emplace_back();
  return lanes[index.value()];
}

bool ProcessRunners::State::begin(RunnerLane& lane, const ProcessRun& run) {
  const std::lock_guard lock{lane.mutex};
  if (ending) return false;
  lane.ticket = run.ticket;
  lane.attempt = run.attempt;
  lane.stopped = false;
  ++lane.runs;
  return true;
}

// Children on other GPUs are ended: these may be other runs' by now.
Result<Child*> ProcessRunners::State::child_for(RunnerLane& lane, const Template& program, std::string_view devices) {
  std::vector<Kept> unneeded;
  {
    std::unique_lock lock{lane.mutex};
    lane.started.wait(lock, [&lane] { return !lane.starting; });
    const auto elsewhere = std::stable_partition(lane.kept.begin(), lane.kept.end(),
                                                 [&](const Kept& kept) { return kept.devices == devices; });
    if (!devices.empty()) {
      unneeded.assign(std::make_move_iterator(elsewhere), std::make_move_iterator(lane.kept.end()));
      lane.kept.erase(elsewhere, lane.kept.end());
    }
    for (Kept& kept : lane.kept) {
      if (kept.devices != devices || !same_kind(kept.kind, program)) continue;
      kept.used = lane.runs;
      if (unneeded.empty()) return kept.child.get();
      Child* const found = kept.child.get();
      lock.unlock();
      end_all(std::move(unneeded));
      return found;
    }
    if (lane.kept.size() >= config.limits.runner_kinds_max) {
      const auto oldest = std::min_element(lane.kept.begin(), lane.kept.end(),
                                           [](const Kept& a, const Kept& b) { return a.used < b.used; });
      unneeded.push_back(std::move(*oldest));
      lane.kept.erase(oldest);
    }
    lane.starting = true;
  }
  end_all(std::move(unneeded));
  return start_in(lane, program, devices);
}

// A child with an unexpected message since its last run gets no further run: the next run must not suffer from it.
Result<Child*> ProcessRunners::State::quiet_child_for(RunnerLane& lane, const Template& program,
                                                      std::string_view devices) {
  Result<Child*> child = child_for(lane, program, devices);
  if (!child || (*child)->runs == 0) return child;
  const bool speaks = (*child)->can_be_heard();
  const Result<std::optional<FromRunner>> said = (*child)->receive();
  // The message may also have been read with the end of the last run. The run itself notices a child that is gone.
  if (said ? !said->has_value() && !speaks : said.error().code == ErrorCode::Disconnected) return child;
  const std::string what = said && said->has_value() ? "told an end twice" : "sent a malformed message";
  log_line(LogLevel::Warn, "runner", "program=" + program.program + " text=\"" + what + "; it was ended\"");
  part_with(lane, *child);
  return child_for(lane, program, devices);
}

// REQUIRES: the caller has set `starting`.
Result<Child*> ProcessRunners::State::start_in(RunnerLane& lane, const Template& program, std::string_view devices) {
  Result<Kept> started = start(program, devices);
  const std::lock_guard lock{lane.mutex};
  lane.starting = false;
  lane.started.notify_all();
  if (!started) return std::move(started).error();
  started->used = lane.runs;
  lane.idle_since = monotonic_now();
  lane.kept.push_back(std::move(started).value());
  if (ending) lane.kept.back().child->kill();
  return lane.kept.back().child.get();
}

Result<Kept> ProcessRunners::State::start(const Template& program, std::string_view devices) {
  Kept kept;
  kept.devices = devices;
  ChildOptions options = child_options;
  if (config.users != nullptr) {
    Result<AccountPtr> account = config.users->account_of(*program.user, monotonic_now());
    if (!account) return std::move(account).error();
    options.account = std::move(account).value();
  }
  if (options.account != nullptr) {
    options.environment = environment_of(*options.account, config.users.get());
    set_variables(options.environment, own_words);
  }
  {
    const std::lock_guard lock{mutex};
    kept.mark = "PENSTOCK_CHILD=" + guard.token() + "-" + std::to_string(++children_started);
  }
  set_variables(options.environment, {kept.mark});
  if (!devices.empty()) set_variables(options.environment, {visible(devices)});
  Result<std::unique_ptr<Child>> child = Child::start(program, options);
  if (!child) return std::move(child).error();
  kept.kind = kind_of(program);
  kept.child = std::move(child).value();
  const std::lock_guard lock{mutex};
  kept.guard_line = guard.enter(kept.child->group());
  return kept;
}

void ProcessRunners::State::part_with(RunnerLane& lane, const Child* child) {
  std::vector<Kept> gone;
  {
    const std::lock_guard lock{lane.mutex};
    const auto found =
        std::find_if(lane.kept.begin(), lane.kept.end(), [&](const Kept& kept) { return kept.child.get() == child; });
    if (found == lane.kept.end()) return;
    gone.push_back(std::move(*found));
    lane.kept.erase(found);
  }
  gone.front().child->kill();
  end_all(std::move(gone));
}

// REQUIRES: no lock is held, as it waits for their ends; all end at once.
void ProcessRunners::State::end_all(std::vector<Kept> gone) {
  for (const Kept& kept : gone) kept.child->let_go(config.limits.kill_grace);
  for (Kept& kept : gone) {
    kept.child.reset();
    if (config.on_gone) config.on_gone(kept.mark);
    const std::lock_guard lock{mutex};
    guard.leave(kept.guard_line);
  }
}

// A child that has a run, or may be chosen for one, is killed. REQUIRES: the lane's mutex is held.
void ProcessRunners::State::end_child(const RunnerLane& lane, Child& child) const {
  if (lane.ticket == kNobody || (lane.current != nullptr && lane.current != &child))
    child.let_go(config.limits.kill_grace);
  else
    child.kill();
}

void ProcessRunners::State::leave_run(RunnerLane& lane) {
  const std::lock_guard lock{lane.mutex};
  lane.current = nullptr;
  lane.ticket = kNobody;
  lane.idle_since = monotonic_now();
}

// Null when it has said hello, now or before.
std::unique_ptr<FailureDetail> ProcessRunners::State::introduce(Child& child, const Template& program) {
  const Instant late = monotonic_now() + config.limits.runner_start_max;
  while (!child.introduced) {
    Result<std::optional<FromRunner>> message = child.receive();
    if (!message) {
      auto failure = crash(child, message.error());
      // A child that waited for its first run may have been killed for lack of memory; another one would do.
      if (failure->signal == 0) failure->failure = FailureClass::Refused;
      failure->message = "the runner '" + program.program + "' left before it introduced itself: " + failure->message;
      return failure;
    }
    if (!message->has_value()) {
      const Instant now = monotonic_now();
      if (now >= late)
        return failure_of(FailureClass::Refused, "the runner '" + program.program +
                                                     "' has not introduced itself within `worker.runner_start_max`");
      child.wait(late - now);
      continue;
    }
    const auto* hello = std::get_if<RunnerHello>(&**message);
    if (hello == nullptr) return failure_of(FailureClass::Refused, "the runner answers before it is asked");
    if (hello->major != kRunnerMajor)
      return refusal({ErrorCode::VersionMismatch, "the runner of " + hello->language + " " + hello->version,
                      "speaks version " + std::to_string(hello->major) + " of the runner protocol, this worker " +
                          std::to_string(kRunnerMajor),
                      "install the same version of both"});
    child.introduced = true;
  }
  return nullptr;
}

std::unique_ptr<FailureDetail> ProcessRunners::State::send(Child& child, const ProcessRun& run) {
  ToRunner message;
  RunnerRun& said = message.runs.emplace_back();
  said.ticket = ++child.runs;
  said.program = hash_of_program(run.program->payload);
  said.id = run.id;
  said.attempt = run.attempt;
  said.identity = run.identity;
  said.output_count = run.program->output_count;
  said.payload = run.payload;
  said.may_yield = run.loan != nullptr;
  std::vector<Descriptor> copies;
  std::vector<int> descriptors;
  for (const BlobPtr& blob : run.inputs) {
    RunnerDatum& input = said.inputs.emplace_back();
    if (blob == nullptr) continue;
    const std::span<const std::byte> bytes = blob->bytes();
    if (bytes.size() <= config.limits.runner_inline_bytes_max || descriptors.size() == RunnerChannel::kDescriptorsMax) {
      input.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      continue;
    }
    const auto position = static_cast<std::uint32_t>(descriptors.size());
    if (const Segment* segment = blob->segment()) {
      descriptors.push_back(segment->handle().get());
    } else if (Result<Descriptor> copy = blob->share()) {
      descriptors.push_back(copy->get());
      copies.push_back(std::move(copy).value());
    } else {
      input.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // No descriptor is left.
      continue;
    }
    input.descriptor = position;
    input.size = bytes.size();
  }
  if (child.programs.size() >= config.limits.runner_programs_max) {
    message.forgotten.assign(child.programs.begin(), child.programs.end());
    child.programs.clear();
  }
  if (child.programs.insert(said.program).second) message.programs.push_back({said.program, run.program->payload});
  if (const Result<void> sent = child.send(message, descriptors); !sent) return crash(child, sent.error());
  return nullptr;
}

std::unique_ptr<FailureDetail> ProcessRunners::State::await_end(Child& child, const ProcessRun& run,
                                                                ProcessResult& result) {
  if (auto failure = introduce(child, *run.program); failure != nullptr) return failure;
  child.forget_tail();
  child.work_for(run.id, run.attempt);
  if (auto failure = send(child, run); failure != nullptr) return failure;
  const std::int64_t limit = run.program->request.memory.value();
  std::int64_t peak = 0;
  bool wants_slot = false;
  bool heard = false;  // The child's next message may have been read with this one.
  for (;;) {
    const int bell = wants_slot ? run.loan->bell() : -1;
    if (const auto got = wants_slot ? run.loan->look() : std::nullopt; got.has_value()) {
      wants_slot = false;
      if (auto failure = answer_slot(child, *got); failure != nullptr) return failure;
    }
    if (!std::exchange(heard, false)) child.wait(sleep_max(run, wants_slot && bell < 0), bell);
    Result<std::optional<FromRunner>> message = child.receive();
    if (!message) {
      auto failure = crash(child, message.error());
      failure->peak_memory_bytes = std::max(peak, failure->peak_memory_bytes);
      return failure;
    }
    if (message->has_value()) {
      if (const auto* wish = std::get_if<RunnerSlot>(&**message); wish != nullptr) {
        if (auto failure = move_slot(child, run, *wish, wants_slot); failure != nullptr) return failure;
        heard = true;
        continue;
      }
      const auto* ends = std::get_if<RunnerEnds>(&**message);
      if (ends == nullptr || ends->ends.size() != 1 || ends->ends.front().ticket != child.runs)
        return failure_of(FailureClass::RunnerCrash,
                          "the runner told the end of a run that it does not have; it was ended");
      child.end_lines();  // Its output before the end is in the pipe by now.
      // The runner's own report counts if it is more than the observed memory, but not if it is less.
      if (limit > 0) peak = std::max(peak, child.memory().resident_bytes);
      peak = std::max(peak, told_peak(ends->ends.front()));
      result.peak_bytes = peak;
      auto failure = take_end(child, ends->ends.front(), result);
      if (failure != nullptr) failure->peak_memory_bytes = std::max(peak, failure->peak_memory_bytes);
      return failure;
    }
    if (limit <= 0) continue;
    peak = std::max(peak, child.memory().resident_bytes);
    if (peak <= limit) continue;
    auto failure = failure_of(FailureClass::OutOfMemory, "the runner used " + std::to_string(peak) +
                                                             " bytes, its subtask requested " + std::to_string(limit) +
                                                             "; it was ended");
    failure->peak_memory_bytes = peak;
    failure->output_tail = child.take_tail();
    return failure;
  }
}

// A limit of memory is looked at now and then; so is a slot that is wanted where no descriptor could be had to be told
// of it.
Duration ProcessRunners::State::sleep_max(const ProcessRun& run, bool looks) const {
  if (looks) return std::min<Duration>(config.measure_every, std::chrono::milliseconds{20});
  return run.program->request.memory > Bytes{0} ? config.measure_every : Duration{std::chrono::hours{1}};
}

// The child waits for the answer. `wants`: the answer comes when the slot is there.
std::unique_ptr<FailureDetail> ProcessRunners::State::move_slot(Child& child, const ProcessRun& run,
                                                                const RunnerSlot& wish, bool& wants) {
  if (run.loan == nullptr || wish.ticket != child.runs)
    return failure_of(FailureClass::RunnerCrash,
                      "the runner asked about the slot of a run that it does not have; it was ended");
  if (wish.lends) return answer_slot(child, run.loan->lend(run.ticket, run.attempt));
  const Result<void> asked = run.loan->want();
  wants = wants || asked.has_value();
  return asked ? nullptr : answer_slot(child, asked);
}

std::unique_ptr<FailureDetail> ProcessRunners::State::answer_slot(Child& child, const Result<void>& answer) {
  ToRunner message;
  RunnerSlotAnswer& said = message.slot.emplace();
  said.ticket = child.runs;
  if (!answer) said = {child.runs, answer.error().code, answer.error().message, answer.error().remedy};
  if (const Result<void> sent = child.send(message, {}); !sent) return crash(child, sent.error());
  return nullptr;
}

std::unique_ptr<FailureDetail> ProcessRunners::State::take_end(Child& child, const RunnerEnd& end,
                                                               ProcessResult& result) {
  if (!end.succeeded) {
    auto failure = failure_of(FailureClass::UserError, std::string{end.message.substr(0, config.message_bytes_max)});
    if (failure->message.empty()) failure->message = "failed without a message";
    if (end.detail.size() <= config.detail_bytes_max) failure->detail = end.detail;
    failure->code = end.code;
    failure->output_tail = child.take_tail();
    return failure;
  }
  for (const RunnerOutput& output : end.outputs) {
    if (output.datum.descriptor != RunnerDatum::kInline) {
      if (output.datum.size == 0) continue;
      // The bytes are not copied: readers here and in other processes map the same memory.
      Result<Segment> segment = Segment::adopt(std::move(child.segments()[output.datum.descriptor]), output.datum.size);
      if (!segment) return failure_of(FailureClass::RunnerCrash, to_string(segment.error()) + "; the runner was ended");
      result.outputs.emplace_back(output.output, Blob::of(std::move(segment).value()));
      continue;
    }
    const std::string_view bytes = output.datum.bytes;
    if (bytes.empty()) continue;
    const std::shared_ptr<Blob> blob = Blob::allocate(bytes.size());
    if (blob == nullptr) return failure_of(FailureClass::Exhausted, "there is no memory for its output");
    std::memcpy(blob->data(), bytes.data(), bytes.size());
    result.outputs.emplace_back(output.output, blob);
  }
  return nullptr;
}

// The child is gone, or its message is malformed; then it is ended.
std::unique_ptr<FailureDetail> ProcessRunners::State::crash(Child& child, const Error& error) {
  if (error.code != ErrorCode::Disconnected) child.kill();
  const ProcessEnd end = child.bury();
  std::string message;
  if (error.code != ErrorCode::Disconnected)
    message = "the runner broke the protocol and was ended: " + error.message;
  else if (end.signal != 0)
    message = "the runner was ended by " + signal_name(end.signal);
  else
    message = "the runner exited with code " + std::to_string(end.exit_code);
  auto failure = failure_of(FailureClass::RunnerCrash, std::move(message));
  failure->exit_code = end.exit_code;
  failure->signal = end.signal;
  failure->peak_memory_bytes = end.peak_bytes;
  failure->output_tail = child.take_tail();
  return failure;
}

}  // namespace penstock::worker
