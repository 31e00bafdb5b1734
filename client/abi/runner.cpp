// The runner's side of schema/runner.capnp, for programs in any language.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "client/abi/arguments.hpp"
#include "client/abi/data.hpp"
#include "client/abi/last_error.hpp"
#include "client/abi/memory_peak.hpp"
#include "client/abi/nesting.hpp"
#include "common/base/attempt_id.hpp"
#include "common/base/error_code_of.hpp"
#include "common/host/clock.hpp"
#include "common/net/runner_channel.hpp"
#include "common/wire/codec_runner.hpp"

using penstock::Descriptor;
using penstock::Error;
using penstock::ErrorCode;
using penstock::MemorySegment;
using penstock::Result;
using penstock::RunnerChannel;
using penstock::RunnerDatum;
using penstock::RunnerEnd;
using penstock::RunnerEnds;
using penstock::RunnerOutput;
using penstock::RunnerRun;
using penstock::abi::fail;

namespace {

/// Of the first version.
constexpr std::size_t kRunBytesMin = offsetof(penstock_run, output_count) + sizeof(std::uint32_t);
constexpr std::uint64_t kInlineBytesMax = 64 << 10;  ///< A larger output travels as a segment.
constexpr std::size_t kEndsMax = 64;                 ///< Ends that are sent together while further runs wait here.
constexpr penstock::Duration kTellAfter = std::chrono::milliseconds{1};  ///< The first of them is sent after this.

penstock_bytes bytes_of(std::string_view text) { return {text.empty() ? nullptr : text.data(), text.size()}; }

}  // namespace

/// One conversation with a worker. For one thread.
struct penstock_runner {
  explicit penstock_runner(Descriptor socket) : channel(std::move(socket), UINT32_MAX) {}

  Result<void> tell();
  Result<std::int32_t> receive();
  Result<void> open_run(penstock_run& run);
  void end_run(bool succeeded);
  void keep_alive(RunnerOutput& output);
  Result<void> ask_about_slot(bool lends);
  Result<bool> hear_about_slot();

  const int process = ::getpid();
  RunnerChannel channel;
  std::map<std::uint64_t, std::string> programs;
  std::uint64_t generation = 1;

  /// The received message: runs before `next` have ended.
  struct {
    penstock::ToRunner message;
    std::vector<Descriptor> descriptors;
    std::size_t next = 0;
    std::vector<std::uint64_t> bytes;  ///< Of `message`, if something else was received since.
  } inbox;

  // The present run.
  bool running = false;
  enum class Slot { Held, Lent, Wanted } slot = Slot::Held;
  penstock::Instant started{};
  RunnerEnd end;
  std::vector<penstock_bytes> inputs;
  std::unique_ptr<penstock_data> large;
  std::string attempt_text;
  penstock::abi::MemoryPeak peak;

  /// Ends that were not sent yet, with the memory that they refer to.
  struct {
    RunnerEnds ends;
    penstock::Instant first_end{};
    std::vector<std::unique_ptr<std::byte[]>> inline_outputs;
    std::vector<MemorySegment> segments;
  } unsent;
};

// An output that was filled after its segment was made is sealed before it is sent.
Result<void> penstock_runner::tell() {
  if (unsent.ends.ends.empty()) return {};
  std::vector<int> numbers;
  for (MemorySegment& segment : unsent.segments) {
    PENSTOCK_TRY(segment.seal());
    numbers.push_back(segment.descriptor().get());
  }
  const Result<void> sent =
      channel.send(penstock::encode_runner(penstock::FromRunner{std::move(unsent.ends)}), numbers);
  unsent.ends = RunnerEnds{};
  unsent.inline_outputs.clear();
  unsent.segments.clear();
  return sent;
}

// 1: there is a run; -2: a signal came.
Result<std::int32_t> penstock_runner::receive() {
  Result<std::optional<RunnerChannel::Message>> heard = channel.receive(RunnerChannel::Wait::Yes);
  if (!heard) return std::move(heard).error();
  if (!heard->has_value()) return -2;
  inbox.bytes = {};
  inbox.descriptors = std::move((*heard)->descriptors);
  Result<penstock::ToRunner> decoded = penstock::decode_to_runner((*heard)->bytes, inbox.descriptors.size());
  if (!decoded) return std::move(decoded).error();
  inbox.message = std::move(decoded).value();
  inbox.next = 0;
  if (!inbox.message.forgotten.empty()) ++generation;
  for (const std::uint64_t hash : inbox.message.forgotten) programs.erase(hash);
  for (const penstock::RunnerProgram& program : inbox.message.programs) programs[program.hash] = program.content;
  return 1;
}

Result<void> penstock_runner::open_run(penstock_run& run) {
  const RunnerRun& said = inbox.message.runs[inbox.next];
  const auto program = programs.find(said.program);
  if (program == programs.end())
    return Error{ErrorCode::MalformedFrame, "worker", "it names a program that it has not sent", {}};
  inputs.clear();
  large.reset();
  for (const RunnerDatum& input : said.inputs) {
    if (input.descriptor == RunnerDatum::kInline) {
      inputs.push_back(bytes_of(input.bytes));
      continue;
    }
    Result<MemorySegment> segment = MemorySegment::map(std::move(inbox.descriptors[input.descriptor]), input.size);
    if (!segment) return std::move(segment).error();
    if (large == nullptr) large = std::make_unique<penstock_data>();
    inputs.push_back({segment->bytes().data(), segment->bytes().size()});
    large->views.push_back(inputs.back());
    large->segments.push_back(std::move(segment).value());
  }
  run.program = said.program;
  run.programs_generation = generation;
  run.program_content = bytes_of(program->second);
  run.payload = bytes_of(said.payload);
  run.inputs = inputs.data();
  run.input_count = static_cast<std::uint32_t>(inputs.size());
  run.large_inputs = large == nullptr ? 0 : static_cast<std::uint32_t>(large->segments.size());
  run.job = said.id.job.value();
  run.subtask = said.id.index.value();
  run.attempt = static_cast<std::uint32_t>(said.attempt.value());
  run.output_count = said.output_count;
  run.attempt_number = said.attempt.value();
  attempt_text = penstock::attempt_id_of(said.identity, said.id.index, said.attempt);
  run.attempt_id = attempt_text.c_str();
  end = RunnerEnd{};
  end.ticket = said.ticket;
  running = true;
  penstock::abi::set_present_run(penstock::ParentRun{said.id, said.attempt, said.identity});
  slot = Slot::Held;
  started = penstock::monotonic_now();
  return {};
}

void penstock_runner::end_run(bool succeeded) {
  const penstock::Instant now = penstock::monotonic_now();
  end.succeeded = succeeded;
  end.run_ns = static_cast<std::uint64_t>((now - started).count());
  end.peak_bytes = peak.take(now);
  if (unsent.ends.ends.empty()) unsent.first_end = now;
  unsent.ends.ends.push_back(std::move(end));
  running = false;
  penstock::abi::set_present_run(std::nullopt);
  ++inbox.next;
}

// The ends of earlier runs go first, unless their unsent.segments are numbered with those of the present one.
Result<void> penstock_runner::ask_about_slot(bool lends) {
  if (inbox.bytes.empty()) inbox.bytes = channel.hand_over_bytes();
  if (end.outputs.empty()) PENSTOCK_TRY(tell());
  return channel.send(penstock::encode_runner(penstock::FromRunner{penstock::RunnerSlot{end.ticket, lends}}));
}

// True: as it was asked. False: a signal came. An answer to an earlier run has come too late, and means nothing.
Result<bool> penstock_runner::hear_about_slot() {
  for (;;) {
    Result<std::optional<RunnerChannel::Message>> heard = channel.receive(RunnerChannel::Wait::Yes);
    if (!heard) return std::move(heard).error();
    if (!heard->has_value()) return false;
    const Result<penstock::ToRunner> decoded =
        penstock::decode_to_runner((*heard)->bytes, (*heard)->descriptors.size());
    if (!decoded) return decoded.error();
    if (!decoded->slot || !decoded->runs.empty())
      return Error{ErrorCode::MalformedFrame, "worker", "it answers what it was not asked", {}};
    const penstock::RunnerSlotAnswer& answer = *decoded->slot;
    if (answer.ticket != end.ticket) continue;
    if (!answer.refused) return true;
    return Error{*answer.refused, "slot", std::string{answer.message}, std::string{answer.remedy}};
  }
}

// The bytes of an output are the caller's; the caller may use them for something else before the end is told.
void penstock_runner::keep_alive(RunnerOutput& output) {
  auto copy = std::make_unique<std::byte[]>(output.datum.bytes.size());
  if (!output.datum.bytes.empty()) std::memcpy(copy.get(), output.datum.bytes.data(), output.datum.bytes.size());
  output.datum.bytes = {reinterpret_cast<const char*>(copy.get()), output.datum.bytes.size()};
  unsent.inline_outputs.push_back(std::move(copy));
}

namespace {

Error no_run() { return {ErrorCode::WrongState, "runner", "has no run", "call penstock_runner_next first"}; }

/// A function that forks and returns twice would end its run twice, and take the runs of the parent.
bool is_forked(const penstock_runner& runner) { return runner.process != ::getpid(); }
Error forked() {
  return {ErrorCode::WrongState, "runner", "is another process's: this one was forked from it", "end the child"};
}

/// Sends the ends if it is time: no other work, many ends, or the first of them is old.
std::int32_t tell_if_due(penstock_runner& runner) {
  const bool due = runner.inbox.next == runner.inbox.message.runs.size() ||
                   runner.unsent.ends.ends.size() >= kEndsMax ||
                   runner.unsent.segments.size() + 1 >= RunnerChannel::kDescriptorsMax ||
                   penstock::monotonic_now() - runner.unsent.first_end >= kTellAfter;
  if (!due) return 0;
  const Result<void> told = runner.tell();
  return told ? 0 : fail(told.error());
}

}  // namespace

penstock_runner* penstock_runner_open(int32_t descriptor, const char* language, const char* version) try {
  auto runner = std::make_unique<penstock_runner>(Descriptor{descriptor});
  penstock::RunnerHello hello;
  hello.language = language == nullptr ? "" : language;
  hello.version = version == nullptr ? "" : version;
  const Result<void> sent = runner->channel.send(penstock::encode_runner(penstock::FromRunner{hello}));
  if (!sent) return penstock::abi::refuse(sent.error());
  return runner.release();
}
PENSTOCK_NOTHING_THROWN(penstock::abi::refuse)

int32_t penstock_runner_next(penstock_runner* runner, penstock_run* run) try {
  if (runner == nullptr) return fail(penstock::abi::is_null("runner"));
  Result<penstock_run> all = penstock::abi::whole(run, kRunBytesMin, "penstock_run");
  if (!all) return fail(std::move(all).error());
  if (is_forked(*runner)) return fail(forked());
  if (runner->running) return fail({ErrorCode::WrongState, "runner", "has a run that has not ended", {}});
  while (runner->inbox.next == runner->inbox.message.runs.size()) {
    const Result<std::int32_t> received = runner->receive();
    if (!received && received.error().code == ErrorCode::Disconnected) return 0;
    if (!received) return fail(received.error());
    if (*received < 0) return *received;
  }
  const Result<void> opened = runner->open_run(*all);
  if (!opened) return fail(opened.error());
  std::memcpy(run, &*all, std::min<std::uint64_t>(run->size, sizeof *all));
  return 1;
}
PENSTOCK_NOTHING_THROWN(fail)

penstock_data* penstock_runner_take_inputs(penstock_runner* runner) { return runner->large.release(); }

void* penstock_runner_output(penstock_runner* runner, uint32_t output, uint64_t bytes) try {
  if (!runner->running) return penstock::abi::refuse(no_run());
  if (output >= runner->inbox.message.runs[runner->inbox.next].output_count)
    return penstock::abi::refuse(
        {ErrorCode::InvalidArgument, "output " + std::to_string(output), "is not promised", {}});
  std::erase_if(runner->end.outputs, [&](const RunnerOutput& known) { return known.output == output; });
  RunnerOutput& made = runner->end.outputs.emplace_back();
  made.output = static_cast<std::uint16_t>(output);
  if (bytes <= kInlineBytesMax) {
    runner->unsent.inline_outputs.push_back(std::make_unique<std::byte[]>(bytes + 1));
    made.datum.bytes = {reinterpret_cast<const char*>(runner->unsent.inline_outputs.back().get()), bytes};
    return runner->unsent.inline_outputs.back().get();
  }
  Result<MemorySegment> segment = MemorySegment::make(bytes);
  if (!segment) {
    runner->end.outputs.pop_back();
    return penstock::abi::refuse(segment.error());
  }
  made.datum.descriptor = static_cast<std::uint32_t>(runner->unsent.segments.size());
  made.datum.size = bytes;
  runner->unsent.segments.push_back(std::move(segment).value());
  return runner->unsent.segments.back().data();
}
PENSTOCK_NOTHING_THROWN(penstock::abi::refuse)

int32_t penstock_runner_succeed(penstock_runner* runner) try {
  if (is_forked(*runner)) return fail(forked());
  if (!runner->running) return fail(no_run());
  runner->end_run(true);
  return tell_if_due(*runner);
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_runner_succeed_with(penstock_runner* runner, const void* data, uint64_t size) try {
  if (is_forked(*runner)) return fail(forked());
  if (!runner->running) return fail(no_run());
  if (size > kInlineBytesMax) {
    void* memory = penstock_runner_output(runner, 0, size);
    if (memory == nullptr) return -1;
    std::memcpy(memory, data, size);
    return penstock_runner_succeed(runner);
  }
  RunnerOutput output;
  output.datum.bytes = {static_cast<const char*>(data), size};
  if (runner->inbox.next + 1 < runner->inbox.message.runs.size()) runner->keep_alive(output);
  runner->end.outputs.push_back(output);
  return penstock_runner_succeed(runner);
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_runner_fail(penstock_runner* runner, const char* message, const void* detail, uint64_t size) {
  return penstock_runner_fail_as(runner, nullptr, message, detail, size);
}

int32_t penstock_runner_fail_as(penstock_runner* runner, const char* code, const char* message, const void* detail,
                                uint64_t size) try {
  if (is_forked(*runner)) return fail(forked());
  if (!runner->running) return fail(no_run());
  std::string told = message == nullptr ? "" : message;
  if (code != nullptr) {
    runner->end.code = penstock::error_code_of(std::string_view{code});
    if (!runner->end.code) told = told.empty() ? code : code + (": " + told);
  }
  runner->end.outputs.clear();
  RunnerOutput text;
  text.datum.bytes = told;
  runner->keep_alive(text);
  RunnerOutput opaque;
  opaque.datum.bytes = {static_cast<const char*>(detail), detail == nullptr ? 0 : size};
  runner->keep_alive(opaque);
  runner->end.message = text.datum.bytes;
  runner->end.detail = opaque.datum.bytes;
  runner->end_run(false);
  return tell_if_due(*runner);
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_runner_yield_slot(penstock_runner* runner) try {
  using Slot = penstock_runner::Slot;
  if (runner == nullptr) return fail(penstock::abi::is_null("runner"));
  if (is_forked(*runner)) return fail(forked());
  if (!runner->running) return fail(no_run());
  if (runner->slot != Slot::Held)
    return fail({ErrorCode::WrongState, "slot", "is lent already", "take it back before it is lent again"});
  if (!runner->inbox.message.runs[runner->inbox.next].may_yield)
    return fail({ErrorCode::Unsupported, "slot", "this worker lends none", "use a worker of version 0.2.0 or later"});
  if (const Result<void> asked = runner->ask_about_slot(true); !asked) return fail(asked.error());
  for (;;) {
    // The answer comes soon: a signal is dealt with after it.
    const Result<bool> answer = runner->hear_about_slot();
    if (!answer) return fail(answer.error());
    if (!*answer) continue;
    runner->slot = Slot::Lent;
    return 0;
  }
}
PENSTOCK_NOTHING_THROWN(fail)

int32_t penstock_runner_take_slot_back(penstock_runner* runner) try {
  using Slot = penstock_runner::Slot;
  if (runner == nullptr) return fail(penstock::abi::is_null("runner"));
  if (is_forked(*runner)) return fail(forked());
  if (!runner->running) return fail(no_run());
  if (runner->slot == Slot::Held) return fail({ErrorCode::WrongState, "slot", "is not lent", "lend it first"});
  if (runner->slot == Slot::Lent) {
    if (const Result<void> asked = runner->ask_about_slot(false); !asked) return fail(asked.error());
    runner->slot = Slot::Wanted;
  }
  const Result<bool> answer = runner->hear_about_slot();
  if (answer && !*answer) return -2;
  runner->slot = Slot::Held;
  return answer ? 0 : fail(answer.error());
}
PENSTOCK_NOTHING_THROWN(fail)

void penstock_runner_close(penstock_runner* runner) {
  if (runner != nullptr && runner->running) penstock::abi::set_present_run(std::nullopt);
  delete runner;
}
