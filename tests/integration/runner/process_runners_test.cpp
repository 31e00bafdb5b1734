// Real runner processes, driven from threads as lanes do.
#include "worker/runner/process/process_runners.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "common/host/cgroup.hpp"
#include "common/host/clock.hpp"
#include "common/loop/actor_host.hpp"
#include "tests/support/scratch_directory.hpp"
#include "worker/actors/blocking_actor.hpp"

namespace penstock::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

void open_reaper(caf::event_based_actor* self, std::shared_ptr<BlockingWork>* reaper) {
  *reaper = std::make_shared<ActorWork>(*self, "reaper");
}

class ProcessRunnersTest : public ::testing::Test {
 protected:
  ProcessRunnersTest() {
    program.runner = RunnerKind::Process;
    program.program = PENSTOCK_TEST_RUNNER;
    program.payload = "program";
    config.band = "numa-0";
    config.logs = &logs;
    actors.system().spawn(open_reaper, &config.reaper);
    while (loop.turn()) {
    }
    loan.serve(&decide, &cancelled, &ending);
  }

  ~ProcessRunnersTest() override {
    runners.reset();
    config.reaper = nullptr;  // The host of actors waits for its end.
  }

  static std::string variable_of(int process, const std::string& name) {
    const std::string all = read_small_file("/proc/" + std::to_string(process) + "/environ");
    const std::size_t at = ('\0' + all).find('\0' + name + "=");
    return at == std::string::npos ? std::string{} : std::string{all.c_str() + at + name.size() + 1};
  }

  JobLogs logs{{1 << 20, 4}};
  ProcessRunners& open() {
    if (runners == nullptr) runners = std::make_unique<ProcessRunners>(config);
    return *runners;
  }

  ProcessResult run(const std::string& payload, std::vector<BlobPtr> inputs = {}, std::uint16_t lane = 0,
                    std::string_view devices = {}) {
    ProcessRun wanted;
    wanted.lane = SlotIndex{lane};
    wanted.ticket = ++ticket;
    wanted.id = SubtaskId{JobId{1}, SubtaskIndex{2}};
    wanted.attempt = attempt;
    wanted.identity = {0xa, 0xb};
    wanted.program = &program;
    wanted.payload = payload;
    wanted.inputs = inputs;
    wanted.cancelled_ticket = &cancelled;
    wanted.loan = may_yield ? &loan : nullptr;
    wanted.devices = devices;
    return open().run(wanted);
  }
  std::string text(const ProcessResult& result) {
    if (result.failure != nullptr) return "failed: " + result.failure->message;
    if (result.outputs.empty()) return {};
    const auto bytes = result.outputs.front().second->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// The number of the process that serves a lane.
  int pid_of(std::uint16_t lane = 0, std::string_view devices = {}) {
    const std::string said = text(run("say", {}, lane, devices));
    int pid = 0;
    if (said.size() > 7) std::from_chars(said.data() + 7, said.data() + said.size(), pid);
    return pid;
  }
  static BlobPtr blob(const std::string& content) {
    auto made = Blob::allocate(content.size());
    std::memcpy(made->data(), content.data(), content.size());
    return made;
  }
  static bool lives(int process) {
    const std::string stat = read_small_file("/proc/" + std::to_string(process) + "/stat");
    return !stat.empty() && stat.find(") Z ") == std::string::npos;
  }
  static void wait_until(const std::function<bool()>& condition) {
    const Instant late = monotonic_now() + seconds{20};
    while (!condition() && monotonic_now() < late) std::this_thread::yield();
    ASSERT_TRUE(condition()) << "the condition did not come true";
  }
  /// Stops the run of lane 0 as soon as it has begun, and until it has ended: a runner that reads its run at the moment
  /// takes an interrupt for one of the run before.
  void stop_what_runs(std::uint64_t wanted) {
    wait_until([&] { return !open().measure().runs.empty(); });
    while (!open().measure().runs.empty()) open().stop(SlotIndex{0}, wanted, false);
  }
  /// Starts `payload` on a thread, calls `meanwhile` when its process runs, and tells how it ended.
  ProcessResult run_while(const std::string& payload, const std::function<void()>& meanwhile) {
    EXPECT_GT(pid_of(), 0);
    auto ended = std::async(std::launch::async, [&] { return run(payload); });
    meanwhile();
    return ended.get();
  }

  Loop loop{Duration{0}};
  ActorHost actors{loop};
  ProcessRunnersConfig config;
  Template program;
  std::uint64_t ticket = 0;
  Attempt attempt{1};
  std::atomic<std::uint64_t> cancelled{0};
  std::unique_ptr<ProcessRunners> runners;
  // The slot of its runs, and the core that decides about it.
  bool may_yield = true;
  bool lends = true;
  std::function<void()> on_wanted = [this] { loan.grant(ticket); };
  const std::atomic<bool> ending{false};
  const TellSlotWish decide = [this](std::uint64_t of, Attempt, SlotWish wish) {
    if (wish == SlotWish::Lend) return loan.answer(of, lends);
    on_wanted();
  };
  SlotLoan loan;
};

TEST_F(ProcessRunnersTest, OneChildServesOneRunAfterTheOther) {
  const int first = pid_of();
  EXPECT_GT(first, 0);
  EXPECT_EQ(pid_of(), first);
  EXPECT_NE(pid_of(1), first) << "each lane has a child of its own";
  EXPECT_EQ(open().children(), 2U);
}

// Its low half begins anew with each life of the supervisor.
TEST_F(ProcessRunnersTest, AChildIsToldTheWholeAttemptAndItsName) {
  const std::string identity = "000000000000000a000000000000000b";
  EXPECT_EQ(text(run("attempt")), "1 1 " + identity + "-2-1");
  attempt = Attempt{attempts_begin(2).value() + 1};
  EXPECT_EQ(text(run("attempt")), "1 4294967297 " + identity + "-2-4294967297");
}

TEST_F(ProcessRunnersTest, AnotherEnvironmentIsAnotherChild) {
  const int first = pid_of();
  program.environment = {"A=1"};
  const int second = pid_of();
  EXPECT_NE(second, first);
  program.environment.clear();
  EXPECT_EQ(pid_of(), first);
}

// The former child would keep memory of a GPU that is another run's by now.
TEST_F(ProcessRunnersTest, OtherDevicesAreAnotherChildAndTheFormerOneEnds) {
  config.devices = "GPU-1,GPU-2,GPU-3";
  const int first = pid_of(0, "GPU-1,GPU-2");
  EXPECT_EQ(variable_of(first, "CUDA_VISIBLE_DEVICES"), "GPU-1,GPU-2");
  EXPECT_EQ(pid_of(0, "GPU-1,GPU-2"), first);
  const int second = pid_of(0, "GPU-3");
  EXPECT_NE(second, first);
  EXPECT_FALSE(lives(first));
  EXPECT_EQ(variable_of(second, "CUDA_VISIBLE_DEVICES"), "GPU-3");
  EXPECT_EQ(open().children(), 1U);
}

TEST_F(ProcessRunnersTest, TheKindUnusedForLongestGoesAtTheLimit) {
  config.limits.runner_kinds_max = 2;
  const int first = pid_of();
  program.environment = {"A=1"};
  pid_of();
  program.environment = {"A=2"};
  pid_of();
  EXPECT_EQ(open().children(), 2U);
  EXPECT_FALSE(lives(first));
}

TEST_F(ProcessRunnersTest, OneThatIsNeededNoLongerEndsByItself) {
  const ScratchDirectory scratch;
  config.limits.runner_kinds_max = 1;
  run("end " + scratch.at("first"));
  program.environment = {"A=1"};
  run("end " + scratch.at("second"));
  EXPECT_EQ(scratch.read("first"), "ended") << "another kind took its place";
  run("end " + scratch.at("third"), {}, 1);
  runners.reset();
  EXPECT_EQ(scratch.read("second"), "ended");
  EXPECT_EQ(scratch.read("third"), "ended");
}

TEST_F(ProcessRunnersTest, OneThatDoesNotEndIsKilledAfterTheGrace) {
  config.limits.kill_grace = milliseconds{20};
  const int child = pid_of();
  run("end never");
  runners.reset();
  EXPECT_FALSE(lives(child));
}

TEST_F(ProcessRunnersTest, InputsArriveInTheirOrderHoweverLargeTheyAre) {
  config.limits.runner_inline_bytes_max = 8;
  EXPECT_EQ(text(run("join", {blob("small"), nullptr, blob("longer than eight"), blob("eight...")})),
            "small;;longer than eight;eight...;");
}

TEST_F(ProcessRunnersTest, ALargeOutputComesBackWhole) {
  const std::string output = text(run("fill 5000000"));
  EXPECT_EQ(output, std::string(5000000, 'x'));
}

TEST_F(ProcessRunnersTest, AFailureSaysWhyAndTheChildGoesOn) {
  const int before = pid_of();
  const ProcessResult result = run("fail");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::UserError);
  EXPECT_EQ(result.failure->message, "it does not work");
  EXPECT_EQ(result.failure->detail, "opaque");
  EXPECT_EQ(pid_of(), before);
}

TEST_F(ProcessRunnersTest, AFailureMaySayThatRepeatingDoesNotMendIt) {
  EXPECT_EQ(run("refuse ProgramNotFound").failure->code, ErrorCode::ProgramNotFound);
  const ProcessResult unknown = run("refuse Nonsense");
  EXPECT_EQ(unknown.failure->code, std::nullopt);
  EXPECT_EQ(unknown.failure->message, "Nonsense: it never will") << "the run has ended, and the runner goes on";
  EXPECT_EQ(run("fail").failure->code, std::nullopt);
}

TEST_F(ProcessRunnersTest, AFailureTellsTheLastLinesThatWereWritten) {
  EXPECT_EQ(run("write").failure->output_tail, "before the end\n");
  EXPECT_EQ(run("fail").failure->output_tail, "") << "those of another run are not told";
}

TEST_F(ProcessRunnersTest, WhatIsWrittenIsInTheLogOfTheJobBeforeTheRunHasEnded) {
  run("write");
  EXPECT_EQ(logs.text(JobId{1}), "1:2#1 before the end\n");
  run("exit");
  EXPECT_EQ(logs.text(JobId{1}), "1:2#1 before the end\n1:2#1 leaving\n");
}

// A report that carried it all would break the link to the supervisor.
TEST_F(ProcessRunnersTest, WhatAFailureSaysHasLimits) {
  config.message_bytes_max = 100;
  config.detail_bytes_max = 200;
  EXPECT_EQ(run("boast 200").failure->detail.size(), 200U);
  const ProcessResult result = run("boast 201");
  EXPECT_EQ(result.failure->message.size(), 100U);
  EXPECT_TRUE(result.failure->detail.empty());
}

TEST_F(ProcessRunnersTest, AChildThatExitsFailsItsRunAndIsReplaced) {
  const int before = pid_of();
  const ProcessResult result = run("exit");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::RunnerCrash);
  EXPECT_EQ(result.failure->exit_code, 7);
  EXPECT_EQ(result.failure->output_tail, "leaving\n");
  EXPECT_NE(pid_of(), before);
  EXPECT_EQ(open().children(), 1U);
}

TEST_F(ProcessRunnersTest, AChildThatCrashesIsToldWithItsSignal) {
  const ProcessResult result = run("crash");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::RunnerCrash);
  EXPECT_EQ(result.failure->signal, SIGSEGV);
}

TEST_F(ProcessRunnersTest, AChildThatSaysGarbageIsEndedAndOnlyItsRunIsBlamed) {
  const int other = pid_of(1);
  const int bad = pid_of();
  const ProcessResult result = run("garbage");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::RunnerCrash);
  EXPECT_NE(result.failure->message.find("broke the protocol"), std::string::npos) << result.failure->message;
  EXPECT_FALSE(lives(bad));
  EXPECT_EQ(pid_of(1), other);
  EXPECT_GT(pid_of(), 0);
}

// The run after it got its end, and so on: each the value of the one before.
TEST_F(ProcessRunnersTest, WhoSpeaksWithoutBeingAskedIsReplacedBeforeTheNextRun) {
  const ScratchDirectory scratch;
  for (const std::string how : {"chatter", "babble", "stammer"}) {
    const int before = pid_of();
    EXPECT_EQ(text(run(how + " " + scratch.at(how))), how);
    wait_until([&] { return std::filesystem::exists(scratch.at(how)); });
    const int after = pid_of();
    EXPECT_GT(after, 0) << how;
    EXPECT_NE(after, before) << how;
    EXPECT_FALSE(lives(before)) << how;
  }
}

TEST_F(ProcessRunnersTest, AChildThatARunHasForkedTellsNoEnd) {
  const int before = pid_of();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(text(run("fork")), "forked");
    EXPECT_EQ(pid_of(), before);
  }
}

TEST_F(ProcessRunnersTest, ARunThatIsCancelledBeforeItBeginsIsNotGivenToTheChild) {
  const int before = pid_of();
  cancelled = ticket + 1;
  EXPECT_EQ(text(run("wait")), "failed: was stopped before it began");
  EXPECT_EQ(pid_of(), before);
}

TEST_F(ProcessRunnersTest, AStopInterruptsTheRunAndTheChildGoesOn) {
  const int before = pid_of();
  const std::uint64_t wanted = ticket + 2;  // run_while looks at the child first.
  const ProcessResult result = run_while("wait", [&] { stop_what_runs(wanted); });
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::UserError);
  EXPECT_EQ(result.failure->message, "was interrupted");
  EXPECT_EQ(pid_of(), before);
}

// The answers come into the memory in which the inputs have arrived.
TEST_F(ProcessRunnersTest, ARunLendsItsSlotAndItsInputsStayWhereTheyAre) {
  const ScratchDirectory scratch;
  config.limits.runner_inline_bytes_max = 8;
  const std::string path = scratch.write("file", "told");
  const int before = pid_of();
  EXPECT_EQ(text(run("yield " + path + " twice", {blob("small"), blob("longer than eight")})),
            "told WrongState WrongState;small;longer than eight");
  EXPECT_EQ(text(run("yield " + path)), "told");
  EXPECT_EQ(pid_of(), before);
}

TEST_F(ProcessRunnersTest, ARunWhoseSlotIsNotTakenSaysWhy) {
  const ScratchDirectory scratch;
  lends = false;
  EXPECT_EQ(text(run("yield " + scratch.at("file"))), "failed: as many runs of this band as may have lent theirs");
  may_yield = false;
  EXPECT_EQ(text(run("yield " + scratch.at("file"))), "failed: this worker lends none")
      << "as one of an earlier version";
}

TEST_F(ProcessRunnersTest, ARunThatWaitsForItsSlotHearsOfAStop) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("file", "told");
  const int before = pid_of();
  on_wanted = [&] {
    cancelled = ticket;
    loan.ring();
  };
  EXPECT_EQ(text(run("yield " + path)), "failed: Cancelled");
  cancelled = 0;
  loan.reset();
  on_wanted = [&] { loan.grant(ticket); };
  EXPECT_EQ(text(run("yield " + path)), "told") << "the same child has another run";
  EXPECT_EQ(pid_of(), before);
}

TEST_F(ProcessRunnersTest, AChildThatDiesWhileItWaitsForItsSlotEndsItsRun) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("file", "told");
  const int before = pid_of();
  on_wanted = [&] { ::kill(before, SIGKILL); };
  const ProcessResult result = run("yield " + path);
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->signal, SIGKILL);
}

TEST_F(ProcessRunnersTest, AKillEndsAChildThatDoesNotListen) {
  const int before = pid_of();
  const std::uint64_t wanted = ticket + 2;
  const ScratchDirectory scratch;
  const std::string hangs = scratch.at("hangs");
  const ProcessResult result = run_while("hang " + hangs, [&] {
    while (!std::filesystem::exists(hangs)) std::this_thread::yield();
    open().stop(SlotIndex{0}, wanted, true);
  });
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->signal, SIGKILL);
  EXPECT_NE(pid_of(), before);
}

TEST_F(ProcessRunnersTest, AStopThatComesBeforeTheRunCostsNoChild) {
  const int before = pid_of();
  cancelled = ticket + 1;
  const ProcessResult result = run("hang");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->message, "was stopped before it began");
  EXPECT_EQ(pid_of(), before);
}

TEST_F(ProcessRunnersTest, AStopOfAnotherTicketIsNotHeard) {
  const int before = pid_of();
  open().stop(SlotIndex{0}, 12345, true);
  EXPECT_EQ(pid_of(), before);
}

TEST_F(ProcessRunnersTest, WhoUsesMoreMemoryThanRequestedIsEnded) {
  program.request.memory = Bytes{64 << 20};
  config.measure_every = milliseconds{10};
  const ProcessResult result = run("eat");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::OutOfMemory);
  EXPECT_GT(result.failure->peak_memory_bytes, 64 << 20);
}

TEST_F(ProcessRunnersTest, AnEndComesWithTheMemoryThatTheRunHasUsed) {
  const ProcessResult small = run("say");
  const ProcessResult large = run("use");
  ASSERT_EQ(large.failure, nullptr);
  EXPECT_GT(large.peak_bytes, 256 << 20);
  EXPECT_LT(small.peak_bytes, 256 << 20);
}

TEST_F(ProcessRunnersTest, ARunTooShortToMeasureItselfIsSeenFromHereIfItHasALimit) {
  program.request.memory = Bytes{std::int64_t{1} << 30};
  for (int i = 0; i < 20; ++i) EXPECT_GT(run("say").peak_bytes, 1 << 19);
}

TEST_F(ProcessRunnersTest, ARunThatGoesOnIsMeasured) {
  const int child = pid_of();
  const std::uint64_t wanted = ticket + 2;
  std::vector<RunnerMemory> runs;
  run_while("eat", [&] {
    while (lives(child) && (runs.empty() || runs.front().resident_bytes < 256 << 20)) {
      runs = open().measure().runs;
      std::this_thread::yield();
    }
    stop_what_runs(wanted);
  });
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs.front().ticket, wanted);
  EXPECT_TRUE(open().measure().runs.empty());
}

TEST_F(ProcessRunnersTest, WhatRunnersHoldIsToldAndHowMuchOfItIsIdle) {
  config.limits.runner_bytes_spared = Bytes{0};
  EXPECT_EQ(open().measure().own_bytes, 0);
  pid_of(1);
  const RunnersMemory idle = open().measure();
  EXPECT_GT(idle.own_bytes, 0);
  EXPECT_EQ(idle.idle_bytes, idle.own_bytes);
  const std::uint64_t wanted = ticket + 2;
  RunnersMemory busy;
  run_while("wait", [&] {
    wait_until([&] { return !(busy = open().measure()).runs.empty(); });
    stop_what_runs(wanted);
  });
  EXPECT_GT(busy.own_bytes, busy.idle_bytes);
  EXPECT_GT(busy.idle_bytes, 0);
}

// Data are the store's, which counts them.
TEST_F(ProcessRunnersTest, DataThatARunnerHasMadeAreNotWhatItHolds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps memory of its own";
#endif
  config.limits.runner_bytes_spared = Bytes{0};
  EXPECT_EQ(text(run("fill 50000000")).size(), 50'000'000U);
  EXPECT_LT(open().measure().own_bytes, 40'000'000);
}

// On a small band their interpreters alone would have them ended again and again.
TEST_F(ProcessRunnersTest, WhatARunnerHasOfItselfIsSpared) {
  pid_of();
  EXPECT_EQ(open().measure().own_bytes, 0);
}

TEST_F(ProcessRunnersTest, IdleRunnersAreEndedAndReplaced) {
  const int one = pid_of(0);
  const int other = pid_of(1);
  std::promise<void> gone;
  open().end_idle([&] { gone.set_value(); });
  gone.get_future().wait();
  EXPECT_FALSE(lives(one));
  EXPECT_FALSE(lives(other));
  EXPECT_EQ(open().children(), 0U);
  EXPECT_NE(pid_of(0), one);
}

// Found by a try: the runners of runs that had lent their slots, a hundred beside two slots, stayed for ever.
TEST_F(ProcessRunnersTest, IdleRunnersBeyondTheSlotsEndWhenTheyAreNotUsedForAWhile) {
  config.slots = 2;
  std::vector<int> pids;
  for (const std::uint16_t lane : {0, 1, 2, 3}) pids.push_back(pid_of(lane));
  EXPECT_EQ(pid_of(1), pids[1]) << "used last";
  open().end_spare(monotonic_now());
  EXPECT_EQ(open().children(), 4U) << "they were used a moment ago";
  open().end_spare(later(monotonic_now(), config.spare_kept * 2));
  wait_until([&] { return !lives(pids[0]) && !lives(pids[2]); });
  EXPECT_EQ(open().children(), 2U);
  EXPECT_EQ(pid_of(3), pids[3]);
  EXPECT_EQ(pid_of(1), pids[1]);
}

TEST_F(ProcessRunnersTest, ARunnerThatHasARunIsNotIdleButThoseOfOtherKindsThatItsLaneKeepsAre) {
  program.environment = {"A=1"};
  const int kept = pid_of();
  program.environment.clear();
  const int child = pid_of();
  const std::uint64_t wanted = ticket + 2;
  const ProcessResult result = run_while("wait", [&] {
    wait_until([&] { return !open().measure().runs.empty(); });
    std::promise<void> gone;
    open().end_idle([&] { gone.set_value(); });
    gone.get_future().wait();
    stop_what_runs(wanted);
  });
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->message, "was interrupted");
  EXPECT_EQ(pid_of(), child);
  EXPECT_FALSE(lives(kept));
}

TEST_F(ProcessRunnersTest, AProgramThatIsNotThereIsRefused) {
  program.program = "/no/such/runner";
  const ProcessResult result = run("say");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::Refused);
}

TEST_F(ProcessRunnersTest, ARunnerThatLeavesWithoutAWordIsRefusedWithItsExitCode) {
  program.arguments = {"no-hello"};
  const ProcessResult result = run("say");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::Refused);
  EXPECT_EQ(result.failure->exit_code, 3);
}

TEST_F(ProcessRunnersTest, ARunnerThatSaysNothingIsRefusedInTime) {
  program.arguments = {"mute"};
  config.limits.runner_start_max = milliseconds{50};
  const ProcessResult result = run("say");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_NE(result.failure->message.find("runner_start_max"), std::string::npos);
}

TEST_F(ProcessRunnersTest, ProgramsAreSentOnceAndForgottenAtTheLimit) {
  config.limits.runner_programs_max = 2;
  for (const char* content : {"aaaaaaa", "bbbbbbb", "ccccccc", "aaaaaaa"}) {
    program.payload = content;
    EXPECT_EQ(text(run("say")).substr(0, 7), content);
  }
}

TEST_F(ProcessRunnersTest, AMessageThatIsTooLongEndsTheChild) {
  config.limits.runner_message_bytes_max = 4096;
  EXPECT_EQ(text(run("fill 3000")).size(), 3000U);
  const ProcessResult result = run("fill 6000");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_NE(result.failure->message.find("runner_message_bytes_max"), std::string::npos) << result.failure->message;
}

TEST_F(ProcessRunnersTest, AWarmChildIsThereBeforeTheFirstRun) {
  const std::vector<SlotIndex> lanes{SlotIndex{0}, SlotIndex{1}};
  open().warm(lanes, program);
  while (open().children() < 2) std::this_thread::yield();
  EXPECT_GT(pid_of(), 0);
  EXPECT_EQ(open().children(), 2U);
}

TEST_F(ProcessRunnersTest, NoMoreKindsWaitToBeWarmedThanALaneKeeps) {
  config.limits.runner_kinds_max = 2;
  const std::vector<SlotIndex> lanes{SlotIndex{0}, SlotIndex{1}};
  for (int kind = 0; kind < 50; ++kind) {
    program.environment = {"A=" + std::to_string(kind)};
    open().warm(lanes, program);
    open().warm(lanes, program);
    EXPECT_LE(open().to_be_warmed(), 4U);
  }
  wait_until([&] { return open().to_be_warmed() == 0 && open().children() == 4; });
}

TEST_F(ProcessRunnersTest, WhatWasToBeWarmedIsForgottenWhenIdleRunnersAreEnded) {
  std::vector<SlotIndex> lanes;
  for (std::uint16_t lane = 0; lane < 200; ++lane) lanes.emplace_back(lane);
  open().warm(lanes, program);
  wait_until([&] { return open().children() > 1; });
  std::promise<void> gone;
  open().end_idle([&] { gone.set_value(); });
  EXPECT_EQ(open().to_be_warmed(), 0U);
  gone.get_future().wait();
  EXPECT_EQ(open().children(), 0U) << "not even the one that was being started";
}

// No subtask is charged as if its runner had refused to run: another runner would have done.
TEST_F(ProcessRunnersTest, AWarmChildThatWasKilledIsACrash) {
  const std::vector<SlotIndex> lanes{SlotIndex{0}};
  open().warm(lanes, program);
  while (open().children() < 1) std::this_thread::yield();
  int warm = 0;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream file{thread.path() / "children"};
    for (int child = 0; file >> child;)
      if (std::filesystem::equivalent("/proc/" + std::to_string(child) + "/exe", PENSTOCK_TEST_RUNNER)) warm = child;
  }
  ASSERT_GT(warm, 0);
  ::kill(warm, SIGKILL);
  const ProcessResult result = run("say");
  ASSERT_NE(result.failure, nullptr);
  EXPECT_EQ(result.failure->failure, FailureClass::RunnerCrash) << result.failure->message;
  EXPECT_EQ(result.failure->signal, SIGKILL);
}

TEST_F(ProcessRunnersTest, AtTheEndNobodyIsLeft) {
  const int child = pid_of();
  runners.reset();
  EXPECT_FALSE(lives(child));
}

}  // namespace
}  // namespace penstock::worker
