#include "worker/runner/command/command_runner.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "common/base/attempt_id.hpp"
#include "common/host/cgroup.hpp"
#include "common/host/clock.hpp"
#include "common/host/process.hpp"
#include "common/loop/descriptor_watch.hpp"
#include "worker/runner/command/captured_output.hpp"
#include "worker/runner/command/checkpoint_directory.hpp"
#include "worker/runner/command/command_line.hpp"
#include "worker/runner/command/daemons.hpp"
#include "worker/runner/command/group_guard.hpp"
#include "worker/runner/command/input_feed.hpp"
#include "worker/runner/command/memory_groups.hpp"
#include "worker/runner/command/spool.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;  ///< The capacity of a pipe.
constexpr Duration kLookAgain = std::chrono::milliseconds{10};
// Names in the environment of programs that tell which run they belong to.
constexpr const char* kMark = "PENSTOCK_RUNNER=";
constexpr const char* kSubtask = "PENSTOCK_SUBTASK=";
constexpr const char* kAttempt = "PENSTOCK_ATTEMPT=";
constexpr int kReadsInARow = 4;            ///< Then the loop serves other descriptors.
constexpr std::size_t kProgramsMax = 256;  ///< Remembered paths of programs; at the limit all are forgotten.

// Moves itself into a memory group and then becomes the program, which is limited from its first instruction.
constexpr const char* kEnterGroup = "echo 0 >\"$0\" || exit 125; exec \"$@\"";

/// The standard streams of a program. Watches are destroyed before their descriptors.
struct Streams {
  InputFeed input;
  Descriptor output;
  Descriptor error;
  std::optional<DescriptorWatch> input_watch;
  std::optional<DescriptorWatch> output_watch;
  std::optional<DescriptorWatch> error_watch;
};

/// Everything that one run holds.
struct Running {
  Running(CommandRun&& what, const CommandRunnerConfig& config)
      : run(std::move(what)),
        head(static_cast<std::uint64_t>(run.program.output_limit_bytes > 0 ? run.program.output_limit_bytes
                                                                           : config.output_bytes_max)),
        tail(config.tail_bytes) {}

  CommandRun run;
  bool told = false;  ///< Its end is reported, or nobody waits for it.
  Instant started{};
  std::string directory;   ///< Its own working directory, to be removed.
  std::string checkpoint;  ///< Saved state for a later attempt to continue from; empty: none.
  bool asked_to_stop = false;
  std::optional<MemoryGroup> memory;
  std::vector<DeviceClaim> claims;  ///< Of memory of its devices, from just before the start until the end.
  OutputHead head;
  OutputTail tail;
  std::optional<Process> process;
  std::size_t guard_line = 0;
  std::int64_t peak_bytes = 0;
  Streams streams;
  std::optional<DescriptorWatch> end_watch;
};

/// Resident memory of a process; 0 if it has ended.
std::int64_t resident_bytes(int process) {
  // The file lists all pages, then the pages in memory.
  const std::string pages = read_small_file("/proc/" + std::to_string(process) + "/statm");
  const std::size_t at = pages.find(' ');
  std::int64_t resident = 0;
  if (at != std::string::npos) std::from_chars(pages.data() + at + 1, pages.data() + pages.size(), resident);
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::unique_ptr<FailureDetail> failure_of(FailureClass failure, std::string message) {
  auto detail = std::make_unique<FailureDetail>();
  detail->failure = failure;
  detail->message = std::move(message);
  return detail;
}

std::unique_ptr<FailureDetail> refusal(const Error& error) {
  const bool exhausted = error.code == ErrorCode::ResourceExhausted || error.code == ErrorCode::StorageFull;
  auto detail = failure_of(exhausted ? FailureClass::Exhausted : FailureClass::Refused, to_string(error));
  if (where_to_try_again(error.code) == TryAgain::OnOtherWorkers) detail->code = error.code;
  return detail;
}

std::int64_t peak_of(const Running& running, const ProcessEnd& end) {
  const std::int64_t seen = std::max(running.peak_bytes, end.peak_bytes);
  return running.memory ? std::max(seen, running.memory->peak_bytes()) : seen;
}

std::unique_ptr<FailureDetail> judge(const Running& running, const ProcessEnd& end) {
  const bool exceeded = running.memory && running.memory->exceeded();
  if (end.exit_code == 0) return nullptr;
  std::unique_ptr<FailureDetail> detail;
  if (exceeded)
    detail = failure_of(FailureClass::OutOfMemory, "OOMKilled: used more than its limit of " +
                                                       std::to_string(running.run.program.request.memory.value()) +
                                                       " bytes of memory; its peak was " +
                                                       std::to_string(running.memory->peak_bytes()) + " bytes");
  else if (end.signal != 0)
    detail = failure_of(FailureClass::RunnerCrash, "was ended by " + signal_name(end.signal));
  else
    detail = failure_of(FailureClass::UserError, "exited with code " + std::to_string(end.exit_code));
  detail->exit_code = end.exit_code;
  detail->signal = end.signal;
  detail->peak_memory_bytes = peak_of(running, end);
  return detail;
}

/// A part of the output would be taken for all of it, unless the template asks for a cut.
std::unique_ptr<FailureDetail> judge_output(const Running& running, std::int64_t bytes_max) {
  const std::uint64_t dropped = running.head.dropped_bytes();
  const Template& program = running.run.program;
  if (program.output_count == 0 || program.output_limit_bytes > 0 || dropped == 0) return nullptr;
  auto detail =
      failure_of(FailureClass::UserError,
                 "wrote " + std::to_string(running.head.kept().size() + dropped) +
                     " bytes to standard output, and worker.command_output_max is " + std::to_string(bytes_max) +
                     ": write large results to a file, or set `output_limit`, at which the output is cut");
  detail->code = ErrorCode::InvalidArgument;  // Another attempt would write as much.
  return detail;
}

}  // namespace

struct CommandRunner::State {
  State(Loop& event_loop, ObjectStore& object_store, CommandRunnerConfig runner_config, OnEnd end_told)
      : loop(event_loop),
        store(object_store),
        config(std::move(runner_config)),
        on_end(std::move(end_told)),
        base_environment(own_environment()),
        spool(config.spool, config.removals),
        left_behind{GroupGuard{}, 0, LoopTimer{event_loop}, {}},
        measurement{LoopTimer{event_loop}} {
    if (config.ends_daemons) left_behind.daemons.emplace();
    std::vector<std::string> additions{"PENSTOCK_BAND=" + config.band, kMark + left_behind.guard.token()};
    if (!config.devices.empty()) additions.push_back("CUDA_VISIBLE_DEVICES=" + config.devices.visible());
    if (!config.cluster.empty()) additions.push_back("PENSTOCK_SUPERVISOR=" + config.cluster);
    set_variables(base_environment, additions);
    own_words = std::move(additions);
  }

  using Runs = std::map<std::uint64_t, std::unique_ptr<Running>>;

  std::vector<DataKey> inputs_elsewhere(const CommandRun& run) const;
  void wait_for_device(std::unique_ptr<Running> owned, std::vector<DataKey> inputs);
  void begin(std::unique_ptr<Running> owned);
  Result<void> launch(Running& running);
  Result<void> check_texts(const CommandRun& run) const;
  Result<std::string> locate(const Template& program, const std::string& search_path, const AccountPtr& account);
  void limit_memory(Running& running, ProcessStart& start);
  Result<std::string> open_directory(Running& running, const AccountPtr& account);
  std::vector<std::string> environment_of(const CommandRun& run, const AccountPtr& account) const;
  void end_daemons(std::vector<std::string> marks);
  bool gather_input(Running& running);
  void watch(Running& running);
  void feed(Running& running);
  void read_output(Running& running);
  void read_error(Running& running);
  template <class Sink>
  bool read_some(Descriptor& from, int reads, Sink& sink);
  void ended(Running& running);
  void conclude(Running& running, const ProcessEnd& process_end);
  void tell(Running& running, std::unique_ptr<FailureDetail> failure);
  void release(Running& running);
  void measure();
  void tell_measured(std::int64_t bytes);

  Loop& loop;
  ObjectStore& store;
  const CommandRunnerConfig config;
  const OnEnd on_end;
  std::vector<std::string> base_environment;
  std::vector<std::string> own_words;           ///< Told to every program.
  std::map<std::string, std::string> programs;  ///< Paths where programs were found.

  /// Processes that an attempt has left behind.
  struct LeftBehind {
    GroupGuard guard;
    std::uint64_t count = 0;  ///< Runs of earlier lives of the worker; numbers their tickets.
    LoopTimer timer;          ///< To look again for them.
    std::optional<Daemons> daemons;
  };
  /// The control groups by which the kernel keeps programs to their memory.
  struct HardLimits {
    bool tried = false;
    std::unique_ptr<MemoryGroups> groups;  ///< Null: there are none here.
  };
  /// Runs by order of arrival: a program starts when data have left the device for it.
  struct Waiting {
    Runs runs;
    std::uint64_t turns = 0;
  };
  /// Of the memory of all programs.
  struct Measurement {
    LoopTimer timer;
    std::int64_t reported = 0;  ///< Last reported value.
  };

  Spool spool;
  HardLimits memory;
  Waiting waiting;
  LeftBehind left_behind;
  Measurement measurement;
  std::array<char, kReadBytes> scratch;
  Runs runs;
  /// For functions posted to the loop, which outlives this object.
  std::shared_ptr<State*> self = std::make_shared<State*>(this);
};

CommandRunner::CommandRunner(Loop& loop, ObjectStore& store, CommandRunnerConfig config, OnEnd on_end)
    : state_(std::make_unique<State>(loop, store, std::move(config), std::move(on_end))) {
  survive_broken_pipes();
}

void CommandRunner::end() {
  state_->waiting.runs.clear();
  for (auto& [ticket, running] : state_->runs) running->process->signal_group(SIGKILL);
  state_->left_behind.guard.end_daemons();
}

CommandRunner::~CommandRunner() {
  end();
  for (auto& [ticket, running] : state_->runs) {
    ProcessEnd end;
    // A killed process ends unless the kernel is stuck in it; then nothing more can be done.
    for (int tries = 0; !running->process->try_reap(end) && tries < 5; ++tries)
      running->process->wait_for_end(std::chrono::seconds{1});
    state_->release(*running);
  }
  if (state_->config.device_moves != nullptr) state_->config.device_moves->quiesce();
}

void CommandRunner::end_daemons(const std::string& mark) {
  if (state_->left_behind.daemons) state_->end_daemons({mark});
}

std::size_t CommandRunner::running() const { return state_->runs.size() + state_->waiting.runs.size(); }

void CommandRunner::start(CommandRun run) {
  auto owned = std::make_unique<Running>(std::move(run), state_->config);
  Running& running = *owned;
  running.started = monotonic_now();
  const BandDevices& devices = state_->config.devices;
  const Bytes bytes = running.run.program.request.device_memory;
  running.claims = devices.claim(running.run.devices, bytes);
  std::vector<DataKey> elsewhere = state_->inputs_elsewhere(running.run);
  if (!elsewhere.empty() || (bytes > Bytes{0} && devices.any_open(running.run.devices)))
    state_->wait_for_device(std::move(owned), std::move(elsewhere));
  else
    state_->begin(std::move(owned));
}

// An input that is not in the host's memory is on a device.
std::vector<DataKey> CommandRunner::State::inputs_elsewhere(const CommandRun& run) const {
  std::vector<DataKey> elsewhere;
  if (!run.program.standard_input.empty()) return elsewhere;
  for (const DataKey& key : run.inputs)
    if (key.producer.job.valid() && store.find_here(key) == nullptr) elsewhere.push_back(key);
  return elsewhere;
}

// Moving the data of a whole device takes seconds, and the loop carries the heartbeats of the worker.
void CommandRunner::State::wait_for_device(std::unique_ptr<Running> owned, std::vector<DataKey> inputs) {
  const std::uint64_t turn = waiting.turns++;
  waiting.runs[turn] = std::move(owned);
  const CommandRun& run = waiting.runs[turn]->run;
  const bool claims = run.program.request.device_memory > Bytes{0};
  const auto free_device = [this, claims, devices = run.devices, turn, inputs = std::move(inputs)] {
    for (const DataKey& key : inputs) store.find(key);  // Copies the datum to the host.
    if (claims) config.devices.make_free(devices);
    loop.post([turn, weak = std::weak_ptr<State*>{self}] {
      const std::shared_ptr<State*> state = weak.lock();
      if (state == nullptr) return;
      auto node = (*state)->waiting.runs.extract(turn);
      if (!node.empty()) (*state)->begin(std::move(node.mapped()));
    });
  };
  if (config.device_moves == nullptr) return free_device();
  config.device_moves->add(BlockingWork::Turn::Waited, free_device);
}

void CommandRunner::State::begin(std::unique_ptr<Running> owned) {
  Running& running = *owned;
  if (!gather_input(running)) return;
  if (const Result<void> launched = launch(running); !launched) {
    release(running);
    return tell(running, refusal(launched.error()));
  }
  runs[running.run.ticket] = std::move(owned);
  watch(running);
}

void CommandRunner::stop(std::uint64_t ticket, bool kill) {
  const auto waits = std::find_if(state_->waiting.runs.begin(), state_->waiting.runs.end(),
                                  [&](const auto& entry) { return entry.second->run.ticket == ticket; });
  if (waits != state_->waiting.runs.end()) {
    const std::unique_ptr<Running> held = std::move(state_->waiting.runs.extract(waits).mapped());
    state_->release(*held);
    auto failure = failure_of(FailureClass::RunnerCrash, "was ended before its program began");
    failure->signal = kill ? SIGKILL : SIGTERM;
    return state_->tell(*held, std::move(failure));
  }
  const auto found = state_->runs.find(ticket);
  if (found == state_->runs.end()) return;
  const Process& process = *found->second->process;
  found->second->asked_to_stop = true;
  process.signal_group(kill ? SIGKILL : SIGTERM);
  if (!kill) process.signal_group(SIGCONT);  // A stopped process receives no signal before SIGCONT.
}

void CommandRunner::kill_all() {
  state_->waiting.runs.clear();
  State::Runs killed;
  for (auto& [ticket, running] : state_->runs) {
    running->process->signal_group(SIGKILL);
    running->told = true;
    // Moved to a ticket that no new run uses; such runs are as rare as incarnations.
    running->run.ticket = ~state_->left_behind.count++;
    killed[running->run.ticket] = std::move(running);
  }
  state_->runs = std::move(killed);
}

// False if an input is missing, after the failure was reported.
bool CommandRunner::State::gather_input(Running& running) {
  const CommandRun& run = running.run;
  if (!run.program.standard_input.empty()) {
    running.streams.input.add(run.program.standard_input);
    return true;
  }
  for (const DataKey& key : run.inputs) {
    if (!key.producer.job.valid()) continue;
    BlobPtr blob = store.find(key);
    if (blob == nullptr) {
      auto failure = failure_of(FailureClass::InputLost, "input " + to_string(key) + " is not in the store");
      failure->lost_producer = key.producer.index;
      tell(running, std::move(failure));
      return false;
    }
    running.streams.input.add(std::move(blob));
  }
  return true;
}

Result<void> CommandRunner::State::launch(Running& running) {
  const CommandRun& run = running.run;
  PENSTOCK_TRY(check_texts(run));
  Result<AccountPtr> account =
      config.users == nullptr ? AccountPtr{} : config.users->account_of(*run.program.user, running.started);
  if (!account) return std::move(account).error();
  ProcessStart start;
  start.name = run.program.program;
  start.environment = environment_of(run, *account);
  running.checkpoint = open_checkpoint_directory(config.checkpoints, run.program, run.id, account->get());
  if (!running.checkpoint.empty()) set_variables(start.environment, {"PENSTOCK_CHECKPOINT_DIR=" + running.checkpoint});
  const std::string search_path = variable_of(start.environment, "PATH", "/usr/local/bin:/usr/bin:/bin");
  Result<std::string> program = locate(run.program, search_path, *account);
  if (!program) return std::move(program).error();
  start.program = std::move(program).value();
  start.arguments = run.program.arguments;
  for (std::string& argument : split_arguments(run.payload)) start.arguments.push_back(std::move(argument));
  Result<std::string> directory = open_directory(running, *account);
  if (!directory) return std::move(directory).error();
  start.directory = std::move(directory).value();
  if (*account != nullptr) PENSTOCK_TRY(start_as(start, **account));
  Result<Pipe> output = open_pipe();
  if (!output) return std::move(output).error();
  Result<Pipe> error = open_pipe();
  if (!error) return std::move(error).error();
  Descriptor input;
  if (!running.streams.input.finished()) {
    Result<Descriptor> opened = running.streams.input.open();
    if (!opened) return std::move(opened).error();
    input = std::move(opened).value();
  }
  start.input = input.get();
  start.output = output->write.get();
  start.error = error->write.get();
  limit_memory(running, start);
  Result<Process> process = Process::start(start);
  if (!process) {
    programs.clear();  // The program may have moved since it was found.
    return std::move(process).error();
  }
  running.process = std::move(process).value();
  running.process->bind(config.processors);
  running.guard_line = left_behind.guard.enter(running.process->id());
  running.streams.output = std::move(output->read);
  running.streams.error = std::move(error->read);
  return {};
}

/// The directory that the program starts in.
Result<std::string> CommandRunner::State::open_directory(Running& running, const AccountPtr& account) {
  const std::string& wanted = running.run.program.working_directory;
  if (!wanted.empty()) return wanted;
  Result<std::string> own = spool.take(account.get());
  if (own) running.directory = *own;
  return own;
}

Result<void> CommandRunner::State::check_texts(const CommandRun& run) const {
  bool cut = has_nul(run.program.program) || has_nul(run.program.working_directory);
  for (const std::string& argument : run.program.arguments) cut = cut || has_nul(argument);
  for (const std::string& entry : run.program.environment) {
    cut = cut || has_nul(entry);
    if (entry.find('=') == std::string::npos || entry.front() == '=')
      return Error{ErrorCode::InvalidArgument, entry, "is no environment entry", "use NAME=value"};
  }
  if (cut)
    return Error{ErrorCode::InvalidArgument,
                 run.program.name,
                 "has a NUL in its program, arguments, environment or directory",
                 {}};
  return {};
}

Result<std::string> CommandRunner::State::locate(const Template& program, const std::string& search_path,
                                                 const AccountPtr& account) {
  const std::string key = program.program + '\0' + search_path + '\0' + program.working_directory + '\0' +
                          (account == nullptr ? std::string{} : account->name);
  if (const auto known = programs.find(key); known != programs.end()) return known->second;
  std::optional<FilesAs> as;
  if (account != nullptr) as.emplace(*account);
  Result<std::string> found = find_program(program.program, search_path, program.working_directory);
  if (!found) return found;
  if (programs.size() >= kProgramsMax) programs.clear();
  programs[key] = *found;
  return found;
}

std::vector<std::string> CommandRunner::State::environment_of(const CommandRun& run, const AccountPtr& account) const {
  std::vector<std::string> environment =
      account == nullptr ? base_environment : worker::environment_of(*account, config.users.get());
  if (account != nullptr) set_variables(environment, own_words);
  set_variables(environment, run.program.environment);
  set_variables(environment, {"PENSTOCK_JOB=" + to_string(run.id.job), kSubtask + to_string(run.id),
                              kAttempt + std::to_string(run.attempt.value()),
                              "PENSTOCK_ATTEMPT_ID=" + attempt_id_of(run.identity, run.id.index, run.attempt),
                              "PENSTOCK_SLOT=" + std::to_string(run.lane.value())});
  if (run.devices != 0) set_variables(environment, {"CUDA_VISIBLE_DEVICES=" + config.devices.visible(run.devices)});
  return environment;
}

void CommandRunner::State::limit_memory(Running& running, ProcessStart& start) {
  const Bytes limit = running.run.program.request.memory;
  if (limit.is_zero()) return;
  if (!memory.tried) memory.groups = MemoryGroups::open();
  memory.tried = true;
  if (memory.groups == nullptr) return;
  Result<MemoryGroup> group = memory.groups->make(limit);
  if (!group) return;  // The program runs without a limit; the quota still counts it.
  running.memory = std::move(group).value();
  std::vector<std::string> arguments{"-c", kEnterGroup, running.memory->entrance(), start.program};
  for (std::string& argument : start.arguments) arguments.push_back(std::move(argument));
  start.arguments = std::move(arguments);
  start.program = "/bin/sh";
  start.name = "sh";
}

void CommandRunner::State::watch(Running& running) {
  running.streams.output_watch.emplace(loop, running.streams.output);
  running.streams.error_watch.emplace(loop, running.streams.error);
  running.end_watch.emplace(loop, running.process->end_descriptor());
  set_non_blocking(running.streams.output);
  set_non_blocking(running.streams.error);
  running.streams.output_watch->when_readable([this, &running] { read_output(running); });
  running.streams.error_watch->when_readable([this, &running] { read_error(running); });
  running.end_watch->when_readable([this, &running] { ended(running); });
  feed(running);
  if (measurement.timer.armed_for() == kNever)
    measurement.timer.arm(monotonic_now() + config.measure_every, [this] { measure(); });
}

void CommandRunner::State::feed(Running& running) {
  if (!running.streams.input.write_some()) {
    running.streams.input_watch.reset();
    running.streams.input.close();
    return;
  }
  if (!running.streams.input_watch) running.streams.input_watch.emplace(loop, running.streams.input.descriptor());
  running.streams.input_watch->when_writable([this, &running] { feed(running); });
}

/// False at the end of the stream.
template <class Sink>
bool CommandRunner::State::read_some(Descriptor& from, int reads, Sink& sink) {
  for (int done = 0; done < reads; ++done) {
    const ssize_t size = ::read(from.get(), scratch.data(), scratch.size());
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    sink.add(std::string_view{scratch.data(), static_cast<std::size_t>(size)});
    if (static_cast<std::size_t>(size) < scratch.size()) return true;
  }
  return true;
}

void CommandRunner::State::read_output(Running& running) {
  if (read_some(running.streams.output, kReadsInARow, running.head))
    running.streams.output_watch->when_readable([this, &running] { read_output(running); });
  else
    running.streams.output_watch.reset();
}

void CommandRunner::State::read_error(Running& running) {
  if (read_some(running.streams.error, kReadsInARow, running.tail))
    running.streams.error_watch->when_readable([this, &running] { read_error(running); });
  else
    running.streams.error_watch.reset();
}

void CommandRunner::State::ended(Running& running) {
  // The group's number is not used again until the process is reaped.
  running.process->signal_group(SIGKILL);
  ProcessEnd end;
  if (!running.process->try_reap(end)) {
    running.end_watch->when_readable([this, &running] { ended(running); });
    return;
  }
  // Reads the output written just before the end. The pipe holds at most this much, so a process outside the group that
  // still writes is not waited for.
  read_some(running.streams.output, 1024, running.head);
  read_some(running.streams.error, 1024, running.tail);
  const auto found = runs.find(running.run.ticket);
  const std::unique_ptr<Running> held = std::move(found->second);
  runs.erase(found);
  if (runs.empty()) {
    measurement.timer.cancel();
    tell_measured(0);
  }
  conclude(*held, end);
}

void CommandRunner::State::conclude(Running& running, const ProcessEnd& process_end) {
  std::unique_ptr<FailureDetail> failure = judge(running, process_end);
  if (failure == nullptr) failure = judge_output(running, config.output_bytes_max);
  running.peak_bytes = peak_of(running, process_end);
  release(running);
  // A program that was asked to stop and has saved its state leaves with status 0 as well: the next attempt goes on.
  if (failure == nullptr && running.asked_to_stop && has_saved_state(running.checkpoint))
    failure = failure_of(FailureClass::UserError, "has saved its state and left, as it was asked to stop");
  if (failure == nullptr) remove_checkpoint_directory(running.checkpoint);
  if (running.told) return;
  if (failure != nullptr) {
    const std::string& output = running.head.kept();
    if (running.tail.empty())
      running.tail.add(std::string_view{output}.substr(output.size() - std::min(output.size(), config.tail_bytes)));
    failure->output_tail = running.tail.take();
  }
  tell(running, std::move(failure));
}

void CommandRunner::State::tell(Running& running, std::unique_ptr<FailureDetail> failure) {
  CommandEnd end;
  end.ticket = running.run.ticket;
  end.attempt = running.run.attempt;
  end.peak_bytes = running.peak_bytes;
  end.run_us = static_cast<std::uint32_t>(
      std::min<std::int64_t>((monotonic_now() - running.started).count() / 1000, UINT32_MAX));
  if (failure == nullptr && running.run.program.output_count > 0) {
    std::string output = running.head.take();
    if (!output.empty()) end.outputs.push_back({0, static_cast<std::int64_t>(output.size())});
    if (output.size() > config.stored_at_once_max) {
      end.unstored = std::move(output);
    } else if (!output.empty() && !store.put_copy(DataKey{running.run.id, 0}, output)) {
      end.outputs.clear();
      failure = failure_of(FailureClass::Exhausted, "there is no memory for its output");
    }
  }
  end.succeeded = failure == nullptr;
  end.failure = std::move(failure);
  on_end(std::move(end));
}

/// Gives back all that the run holds outside this process.
void CommandRunner::State::release(Running& running) {
  if (running.process) left_behind.guard.leave(running.guard_line);
  if (running.memory) memory.groups->remove(*running.memory);
  if (running.process && left_behind.daemons)
    end_daemons({kMark + left_behind.guard.token(), kSubtask + to_string(running.run.id),
                 kAttempt + std::to_string(running.run.attempt.value())});
  running.memory.reset();
  running.claims.clear();
  if (!running.directory.empty()) spool.give_back(std::exchange(running.directory, {}));
}

void CommandRunner::State::end_daemons(std::vector<std::string> marks) {
  if (!left_behind.daemons->end(marks)) return;
  // The children of those come to us when they have ended. The marks of a younger attempt may replace these: an attempt
  // that forks faster than it is killed needs a memory group.
  left_behind.timer.arm(monotonic_now() + kLookAgain, [this, again = std::move(marks)] { end_daemons(again); });
}

void CommandRunner::State::tell_measured(std::int64_t bytes) {
  if (config.on_measured && (bytes != 0 || measurement.reported != 0)) config.on_measured(Bytes{bytes});
  measurement.reported = bytes;
}

void CommandRunner::State::measure() {
  std::int64_t sum = 0;
  for (auto& [ticket, running] : runs) {
    running->peak_bytes = std::max(running->peak_bytes, running->process->peak_bytes_so_far());
    sum += running->memory ? running->memory->current_bytes() : resident_bytes(running->process->id());
  }
  tell_measured(sum);
  if (!runs.empty()) measurement.timer.arm(monotonic_now() + config.measure_every, [this] { measure(); });
}

}  // namespace penstock::worker
