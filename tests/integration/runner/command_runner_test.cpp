// Real programs, run by the loop in this thread.
#include "worker/runner/command/command_runner.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "common/host/cgroup.hpp"
#include "common/host/clock.hpp"
#include "common/host/descriptor.hpp"
#include "common/loop/actor_host.hpp"
#include "worker/actors/blocking_actor.hpp"

namespace penstock::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CommandRunnerTest : public ::testing::Test {
 protected:
  CommandRunnerTest() {
    std::string name = ::testing::TempDir() + "spool-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    config.spool = name;
    config.band = "numa-0";
  }
  ~CommandRunnerTest() override {
    runner.reset();
    std::filesystem::remove_all(config.spool);
  }

  CommandRunner& open() {
    runner = std::make_unique<CommandRunner>(loop, store, config,
                                             [this](CommandEnd&& end) { ends[end.ticket] = std::move(end); });
    return *runner;
  }

  CommandRun shell(const std::string& script, std::uint64_t ticket = 1) {
    CommandRun run;
    run.ticket = ticket;
    run.id = SubtaskId{JobId{7}, SubtaskIndex{static_cast<std::uint32_t>(ticket)}};
    run.attempt = Attempt{2};
    run.lane = SlotIndex{3};
    run.program.program = "sh";
    run.program.arguments = {"-c", script};
    return run;
  }

  /// Runs the loop until `done`, at most twenty seconds.
  void run_until(const std::function<bool()>& done) {
    LoopTimer turn{loop};
    const Instant late = monotonic_now() + seconds{20};
    std::function<void()> look = [&] {
      if (done() || monotonic_now() > late) return loop.stop();
      turn.arm(monotonic_now() + milliseconds{1}, look);
    };
    look();
    loop.run();
    ASSERT_TRUE(done()) << "the condition did not come true";
  }

  const CommandEnd& end_of(CommandRun run) {
    const std::uint64_t ticket = run.ticket;
    ends.erase(ticket);
    if (runner == nullptr) open();
    runner->start(std::move(run));
    run_until([&] { return ends.contains(ticket); });
    return ends[ticket];
  }

  std::string text_at(const DataKey& key) {
    const BlobPtr blob = store.find(key);
    return blob == nullptr ? std::string{}
                           : std::string{reinterpret_cast<const char*>(blob->bytes().data()), blob->bytes().size()};
  }
  std::string output_of(std::uint64_t ticket) {
    return text_at({{JobId{7}, SubtaskIndex{static_cast<std::uint32_t>(ticket)}}, 0});
  }
  void put(const DataKey& key, const std::string& text) {
    const auto blob = Blob::allocate(text.size());
    std::memcpy(blob->data(), text.data(), text.size());
    store.put(key, blob);
  }
  bool spool_is_empty() { return std::filesystem::is_empty(config.spool); }
  /// An ended process that its adoptive parent has not reaped yet does not live.
  static bool lives(int process) {
    const std::string stat = read_small_file("/proc/" + std::to_string(process) + "/stat");
    return !stat.empty() && stat.find(") Z ") == std::string::npos;
  }
  static int number_in(const std::string& file) {
    int number = 0;
    std::ifstream{file} >> number;
    return number;
  }

  Loop loop;
  ObjectStore store;
  CommandRunnerConfig config;
  std::map<std::uint64_t, CommandEnd> ends;
  std::unique_ptr<CommandRunner> runner;
};

TEST_F(CommandRunnerTest, StandardOutputBecomesOutputZero) {
  const CommandEnd& end = end_of(shell("echo out; echo err >&2"));
  EXPECT_TRUE(end.succeeded);
  EXPECT_EQ(end.failure, nullptr);
  EXPECT_EQ(end.outputs, (std::vector<OutputReport>{{0, 4}}));
  EXPECT_EQ(output_of(1), "out\n");
  EXPECT_GT(end.run_us, 0U);
  EXPECT_EQ(runner->running(), 0U);
}

TEST_F(CommandRunnerTest, ExitCodeIsTheUsersErrorWithTheTailOfStandardError) {
  const CommandEnd& end = end_of(shell("echo for the reader; echo first >&2; echo last >&2; exit 3"));
  ASSERT_NE(end.failure, nullptr);
  EXPECT_FALSE(end.succeeded);
  EXPECT_EQ(end.failure->failure, FailureClass::UserError);
  EXPECT_EQ(end.failure->exit_code, 3);
  EXPECT_EQ(end.failure->signal, 0);
  EXPECT_EQ(end.failure->message, "exited with code 3");
  EXPECT_EQ(end.failure->output_tail, "first\nlast\n");
  EXPECT_EQ(store.find({{JobId{7}, SubtaskIndex{1}}, 0}), nullptr);
}

TEST_F(CommandRunnerTest, SignalIsACrashWithItsName) {
  const CommandEnd& end = end_of(shell("kill -SEGV $$"));
  ASSERT_NE(end.failure, nullptr);
  EXPECT_EQ(end.failure->failure, FailureClass::RunnerCrash);
  EXPECT_EQ(end.failure->signal, SIGSEGV);
  EXPECT_EQ(end.failure->exit_code, -1);
  EXPECT_EQ(end.failure->message, "was ended by SIGSEGV");
}

TEST_F(CommandRunnerTest, OutputBeyondTheLimitIsDroppedCountedAndMarked) {
  CommandRun run = shell("head -c 3000000 /dev/zero | tr '\\0' x");
  run.program.output_limit_bytes = 1000;
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  const std::string output = output_of(1);
  EXPECT_EQ(output.substr(0, 1000), std::string(1000, 'x'));
  EXPECT_EQ(output.substr(1000), "\n[penstock: the output is cut here, 2999000 bytes more were dropped]\n");
}

// Found by an explorer: a million bytes went on as all of ten, and the job succeeded.
TEST_F(CommandRunnerTest, OutputThatNobodyHasAskedToCutIsNeverTakenForAll) {
  const std::string count = std::to_string(config.output_bytes_max);
  EXPECT_TRUE(end_of(shell("head -c " + count + " /dev/zero")).succeeded);
  EXPECT_EQ(ends[1].unstored.size(), static_cast<std::size_t>(config.output_bytes_max));
  const CommandEnd& end = end_of(shell("head -c " + std::to_string(config.output_bytes_max + 1) + " /dev/zero"));
  ASSERT_NE(end.failure, nullptr);
  EXPECT_EQ(end.failure->message.find("wrote " + std::to_string(config.output_bytes_max + 1) + " bytes"), 0U);
  EXPECT_NE(end.failure->message.find("output_limit"), std::string::npos);
}

// The loop carries the worker's heartbeats: a copy of megabytes is for another thread, when the core says so.
TEST_F(CommandRunnerTest, LargeOutputIsLeftToWhoeverStoresIt) {
  config.stored_at_once_max = 3;
  EXPECT_TRUE(end_of(shell("printf abc")).unstored.empty());
  EXPECT_EQ(output_of(1), "abc");
  const CommandEnd& end = end_of(shell("printf abcd", 2));
  EXPECT_EQ(end.unstored, "abcd");
  ASSERT_EQ(end.outputs.size(), 1U);
  EXPECT_EQ(end.outputs[0].bytes, 4);
  EXPECT_EQ(store.find({{JobId{7}, SubtaskIndex{2}}, 0}), nullptr);
}

TEST_F(CommandRunnerTest, LongStandardErrorDoesNotStallTheProgram) {
  const CommandEnd& end = end_of(shell("head -c 2000000 /dev/zero | tr '\\0' e >&2; echo end >&2; exit 1"));
  ASSERT_NE(end.failure, nullptr);
  EXPECT_EQ(end.failure->output_tail.size(), config.tail_bytes);
  EXPECT_TRUE(end.failure->output_tail.ends_with("eend\n"));
}

TEST_F(CommandRunnerTest, MissingProgramIsRefusedWithItsNameAndPath) {
  CommandRun run = shell("");
  run.program.program = "no-such-program";
  run.program.environment = {"PATH=/usr/bin:/bin"};
  const CommandEnd& end = end_of(std::move(run));
  ASSERT_NE(end.failure, nullptr);
  EXPECT_EQ(end.failure->failure, FailureClass::Refused);
  EXPECT_EQ(end.failure->message, "no-such-program: is not in PATH on this host (PATH is /usr/bin:/bin)");
}

TEST_F(CommandRunnerTest, WhatCannotBeExecutedIsRefused) {
  CommandRun run = shell("");
  run.program.program = config.spool + "/script";
  std::ofstream{run.program.program} << "echo nothing";
  const CommandRun again = run;
  EXPECT_EQ(end_of(std::move(run)).failure->message, again.program.program + ": may not be executed (chmod +x)");
  std::filesystem::permissions(again.program.program, std::filesystem::perms::owner_all);
  const CommandEnd& end = end_of(again);
  EXPECT_EQ(end.failure->failure, FailureClass::Refused);
  EXPECT_NE(end.failure->message.find("begins with #!"), std::string::npos) << end.failure->message;
}

TEST_F(CommandRunnerTest, MissingWorkingDirectoryIsRefused) {
  CommandRun run = shell("true");
  run.program.working_directory = "/no/such/place";
  const CommandEnd& end = end_of(std::move(run));
  EXPECT_EQ(end.failure->failure, FailureClass::Refused);
  EXPECT_EQ(end.failure->message, "/no/such/place: is no directory that the program can start in");
}

TEST_F(CommandRunnerTest, ArgumentWithNulIsRefused) {
  CommandRun run = shell("true");
  run.program.arguments.push_back(std::string("a\0b", 3));
  EXPECT_EQ(end_of(std::move(run)).failure->failure, FailureClass::Refused);
}

TEST_F(CommandRunnerTest, PayloadAddsArguments) {
  CommandRun run = shell("for word; do echo \"[$word]\"; done");
  run.program.arguments.push_back("sh");
  run.payload = std::string("one two\0\0three", 14);
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  EXPECT_EQ(output_of(1), "[one two]\n[]\n[three]\n");
}

TEST_F(CommandRunnerTest, EnvironmentTellsWhoAndWhere) {
  config.devices = BandDevices{{{"GPU-1234", nullptr}}};
  CommandRun run = shell(
      "echo $PENSTOCK_JOB $PENSTOCK_SUBTASK $PENSTOCK_ATTEMPT $PENSTOCK_SLOT $PENSTOCK_BAND $CUDA_VISIBLE_DEVICES "
      "$MINE; "
      "test -n \"$HOME$PATH\"");
  run.program.environment = {"MINE=yes"};
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  EXPECT_EQ(output_of(1), "job-7 7:1 2 3 numa-0 GPU-1234 yes\n");
}

TEST_F(CommandRunnerTest, StandardInputComesFromTheTemplate) {
  CommandRun run = shell("cat");
  run.program.standard_input = "given";
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  EXPECT_EQ(output_of(1), "given");
}

TEST_F(CommandRunnerTest, InputsAreReadOneAfterTheOther) {
  const DataKey first{{JobId{7}, SubtaskIndex{100}}, 0};
  const DataKey second{{JobId{7}, SubtaskIndex{101}}, 1};
  put(first, std::string(300'000, 'a'));
  put(second, std::string(200'000, 'b'));
  CommandRun run = shell("cat");
  run.inputs = {first, DataKey{}, second};
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  EXPECT_EQ(ends[1].unstored, std::string(300'000, 'a') + std::string(200'000, 'b'));
}

TEST_F(CommandRunnerTest, InputThatNobodyReadsDoesNoHarm) {
  CommandRun run = shell("exec <&-; echo fine");
  run.program.standard_input = std::string(1'000'000, 'x');
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  EXPECT_EQ(output_of(1), "fine\n");
}

TEST_F(CommandRunnerTest, LostInputNamesItsProducer) {
  CommandRun run = shell("cat");
  run.inputs = {DataKey{{JobId{7}, SubtaskIndex{100}}, 0}};
  const CommandEnd& end = end_of(std::move(run));
  EXPECT_EQ(end.failure->failure, FailureClass::InputLost);
  EXPECT_EQ(end.failure->lost_producer, SubtaskIndex{100});
}

TEST_F(CommandRunnerTest, WithoutInputTheProgramReadsNothing) {
  EXPECT_TRUE(end_of(shell("cat; ls /proc/self/fd | wc -l")).succeeded);
  EXPECT_EQ(output_of(1), "4\n") << "0, 1, 2 and the directory that ls reads: none of ours";
}

TEST_F(CommandRunnerTest, EachAttemptHasADirectoryThatIsRemovedWithItsFiles) {
  EXPECT_TRUE(end_of(shell("pwd; mkdir -p a/b; echo x > a/b/c")).succeeded);
  const std::string first = output_of(1);
  EXPECT_TRUE(first.starts_with(config.spool)) << first;
  EXPECT_TRUE(end_of(shell("pwd; ls -A", 2)).succeeded);
  EXPECT_NE(output_of(2), first) << "and it was empty";
  EXPECT_TRUE(end_of(shell("chmod 777 .", 3)).succeeded);
  EXPECT_TRUE(end_of(shell("pwd; ls -A; stat -c %a .", 4)).succeeded);
  EXPECT_TRUE(output_of(4).ends_with("\n700\n")) << output_of(4);
  runner.reset();
  EXPECT_TRUE(spool_is_empty());
}

TEST_F(CommandRunnerTest, WhatAKilledLifeHasLeftIsRemoved) {
  const std::string orphan = config.spool + "/penstock-spool-killed";
  const std::string others = config.spool + "/penstock-spool-lives";
  std::filesystem::create_directories(orphan + "/run-0/deep");
  std::filesystem::create_directories(others + "/run-0");
  const Descriptor life{::open(others.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(::flock(life.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(end_of(shell("true")).succeeded);
  runner.reset();
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_TRUE(std::filesystem::exists(others + "/run-0")) << "it belongs to somebody who lives";
}

TEST_F(CommandRunnerTest, ProgramThatIgnoresTermIsKilled) {
  CommandRunner& commands = open();
  commands.start(shell("trap '' TERM; echo ready > ready; while :; do sleep 1; done"));
  run_until([&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator{config.spool})
      if (entry.path().filename() == "ready") return true;
    return false;
  });
  commands.stop(1, false);
  commands.stop(1, true);
  run_until([&] { return ends.contains(1); });
  EXPECT_EQ(ends[1].failure->signal, SIGKILL);
  runner.reset();
  EXPECT_TRUE(spool_is_empty());
}

TEST_F(CommandRunnerTest, TermEndsAProgramThatListens) {
  CommandRunner& commands = open();
  commands.start(shell("exec sleep 1000"));
  commands.stop(1, false);
  commands.stop(99, true);
  run_until([&] { return ends.contains(1); });
  EXPECT_EQ(ends[1].failure->signal, SIGTERM);
}

TEST_F(CommandRunnerTest, GrandchildrenGoWithTheProgram) {
  const std::string file = config.spool + "/grandchild";
  EXPECT_TRUE(end_of(shell("sleep 1000 & echo $! > " + file + "; echo done")).succeeded);
  EXPECT_EQ(output_of(1), "done\n");
  const int grandchild = number_in(file);
  ASSERT_GT(grandchild, 0);
  run_until([&] { return !lives(grandchild); });
}

TEST_F(CommandRunnerTest, WhoeverLeavesTheGroupIsNotWaitedFor) {
  const std::string file = config.spool + "/daemon";
  EXPECT_TRUE(end_of(shell("setsid sleep 1000 & echo $! > " + file +
                           "; while ! pgrep -s $! sleep > /dev/null; do :; done; echo done"))
                  .succeeded);
  EXPECT_EQ(output_of(1), "done\n");
  ::kill(number_in(file), SIGKILL);
}

TEST_F(CommandRunnerTest, KilledRunsAreNotToldAndTheirTicketsAreFree) {
  CommandRunner& commands = open();
  commands.start(shell("sleep 1000"));
  commands.kill_all();
  commands.start(shell("echo second"));
  run_until([&] { return commands.running() == 0; });
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_TRUE(ends[1].succeeded);
  EXPECT_EQ(output_of(1), "second\n");
}

TEST_F(CommandRunnerTest, NothingIsLeftWhenTheRunnerEnds) {
  const std::string file = config.spool + "/child";
  CommandRunner& commands = open();
  commands.start(shell("echo $$ > " + file + "; sleep 1000"));
  run_until([&] { return number_in(file) > 0; });
  runner.reset();
  EXPECT_FALSE(lives(number_in(file)));
  EXPECT_TRUE(ends.empty());
}

TEST_F(CommandRunnerTest, MemoryBeyondTheRequestEndsTheProgram) {
  const auto place = find_cgroup("memory");
  if (!place || place->version != 1 || ::access((place->path + "/cgroup.procs").c_str(), W_OK) != 0)
    GTEST_SKIP() << "no control group that this test may write";
  CommandRun run = shell("head -c 100000000 /dev/zero | tail -c 90000000 > /dev/null; exit $?");
  run.program.request.memory = kMiB * 20;
  const CommandEnd& end = end_of(std::move(run));
  ASSERT_NE(end.failure, nullptr);
  EXPECT_EQ(end.failure->failure, FailureClass::OutOfMemory) << end.failure->message;
  // Fault F26: with the limit and the peak.
  EXPECT_TRUE(end.failure->message.starts_with("OOMKilled: ")) << end.failure->message;
  EXPECT_NE(end.failure->message.find("its peak was"), std::string::npos) << end.failure->message;
  EXPECT_GT(end.failure->peak_memory_bytes, (kMiB * 10).value());
  CommandRun small = shell("echo small", 2);
  small.program.request.memory = kMiB * 20;
  EXPECT_TRUE(end_of(std::move(small)).succeeded);
  EXPECT_EQ(output_of(2), "small\n");
}

TEST_F(CommandRunnerTest, TheMemoryOfWhatRunsIsToldUntilNothingRuns) {
  std::vector<Bytes> told;
  config.on_measured = [&told](Bytes used) { told.push_back(used); };
  config.measure_every = std::chrono::milliseconds{20};
  CommandRunner& commands = open();
  // The shell itself holds 20 MB in a variable.
  commands.start(shell("x=$(head -c 20000000 /dev/zero | tr '\\0' x); sleep 1000; echo ${#x}"));
  run_until([&] { return !told.empty() && told.back() >= kMiB * 19; });
  commands.stop(1, true);
  run_until([&] { return commands.running() == 0; });
  EXPECT_EQ(told.back(), Bytes{0});
}

TEST_F(CommandRunnerTest, ManyRunInTurn) {
  CommandRunner& commands = open();
  std::uint64_t next = 0;
  for (int i = 0; i < 4; ++i) commands.start(shell("true", ++next));
  run_until([&] {
    while (commands.running() < 4 && next < 200) commands.start(shell("true", ++next));
    return ends.size() == 200;
  });
  for (const auto& [ticket, end] : ends) EXPECT_TRUE(end.succeeded);
  runner.reset();
  EXPECT_TRUE(spool_is_empty());
}

/// With a GPU of the tests' own, on which data lie; what is read from it is read when the test lets it.
TEST_F(CommandRunnerTest, AProgramSeesTheDevicesOfItsRunAlone) {
  config.devices = BandDevices{{{"GPU-1", nullptr}, {"GPU-2", nullptr}, {"GPU-3", nullptr}}};
  CommandRun run = shell("echo $CUDA_VISIBLE_DEVICES");
  run.devices = 0b101;
  EXPECT_TRUE(end_of(std::move(run)).succeeded);
  EXPECT_EQ(output_of(1), "GPU-1,GPU-3\n");
}

void open_device_moves(caf::event_based_actor* self, std::shared_ptr<BlockingWork>* moves) {
  *moves = std::make_shared<ActorWork>(*self, "device");
}

class CommandsOnADevice : public CommandRunnerTest {
 protected:
  CommandsOnADevice() {
    auto made = std::make_shared<DeviceTier>(store, "GPU-11111111-aaaa-bbbb-cccc-000000000001", Bytes{1000},
                                             Bytes{1000}, PENSTOCK_FAKE_CUDA);
    tier = made.get();
    config.devices = BandDevices{{{"GPU-1", tier}}};
    store.add_tier(made);
    DeviceStore* const device = made->open().value();
    for (std::uint16_t output = 0; output < 2; ++output)
      device->put({{JobId{1}, SubtaskIndex{1}}, output}, device->allocate(Bytes{400}).value());
    actors.system().spawn(open_device_moves, &config.device_moves);
    while (loop.turn()) {
    }
    gate = gate_opened.get_future().share();
    hook = static_cast<void (**)()>(::dlsym(::dlopen(PENSTOCK_FAKE_CUDA, RTLD_NOW), "fake_cuda_before_reading"));
    *hook = [] {
      if (std::this_thread::get_id() == loop_thread)
        ++read_on_loop;
      else
        gate.wait();
    };
    loop_thread = std::this_thread::get_id();
    read_on_loop = 0;
  }
  ~CommandsOnADevice() override {
    if (!opened) open_gate();
    runner.reset();
    config.device_moves = nullptr;  // The host of actors waits for its end.
    *hook = nullptr;
  }
  void open_gate() {
    opened = true;
    gate_opened.set_value();
  }
  CommandRun training(std::uint64_t ticket = 1) {
    CommandRun run = shell("echo trained", ticket);
    run.program.request.device_memory = Bytes{1000};
    return run;
  }

  ActorHost actors{loop};
  void (**hook)() = nullptr;
  bool opened = false;
  std::promise<void> gate_opened;
  inline static std::shared_future<void> gate;
  inline static std::thread::id loop_thread;
  inline static int read_on_loop = 0;
  DeviceTier* tier = nullptr;
};

// Found by a review: a device full of data left it on the loop's thread, for longer than a worker may be silent.
TEST_F(CommandsOnADevice, TheLoopGoesOnWhileDataLeaveForAProgram) {
  CommandRunner& commands = open();
  commands.start(training(1));
  EXPECT_EQ(read_on_loop, 0);
  EXPECT_EQ(commands.running(), 1U);
  EXPECT_TRUE(end_of(shell("echo beside", 2)).succeeded) << "who requests nothing of the device does not wait";
  EXPECT_FALSE(ends.contains(1));
  open_gate();
  run_until([&] { return ends.contains(1); });
  EXPECT_TRUE(ends[1].succeeded);
  EXPECT_EQ(output_of(1), "trained\n");
  EXPECT_EQ(tier->used(), Bytes{0});
  EXPECT_EQ(read_on_loop, 0);
}

TEST_F(CommandsOnADevice, TheLoopGoesOnWhileInputsComeFromADevice) {
  CommandRun run = shell("wc -c");
  run.inputs = {{{JobId{1}, SubtaskIndex{1}}, 0}, {{JobId{1}, SubtaskIndex{1}}, 1}};
  open().start(std::move(run));
  EXPECT_TRUE(end_of(shell("echo beside", 2)).succeeded);
  EXPECT_FALSE(ends.contains(1));
  open_gate();
  run_until([&] { return ends.contains(1); });
  EXPECT_EQ(output_of(1), "800\n");
  EXPECT_EQ(read_on_loop, 0);
  CommandRun lost = shell("cat", 3);
  lost.inputs = {{{JobId{1}, SubtaskIndex{9}}, 0}};
  EXPECT_EQ(end_of(std::move(lost)).failure->failure, FailureClass::InputLost);
}

TEST_F(CommandsOnADevice, WhoWaitsForTheDeviceCanBeStopped) {
  CommandRunner& commands = open();
  commands.start(training(1));
  commands.stop(1, false);
  ASSERT_TRUE(ends.contains(1));
  EXPECT_EQ(ends[1].failure->signal, SIGTERM);
  EXPECT_EQ(commands.running(), 0U);
  commands.start(shell("echo another", 1));  // Its ticket may be used again.
  ends.clear();
  open_gate();
  run_until([&] { return ends.contains(1); });
  EXPECT_EQ(output_of(1), "another\n");
  EXPECT_GE(tier->used(), Bytes{400}) << "nobody leaves for who has ended";
}

TEST_F(CommandsOnADevice, WhoWaitsForTheDeviceEndsWithItsLife) {
  CommandRunner& commands = open();
  commands.start(training(1));
  commands.kill_all();
  EXPECT_EQ(commands.running(), 0U);
  open_gate();
  EXPECT_TRUE(end_of(training(2)).succeeded);
  EXPECT_FALSE(ends.contains(1));
  commands.start(training(3));
  runner.reset();
  EXPECT_FALSE(ends.contains(3));
}

}  // namespace
}  // namespace penstock::worker
