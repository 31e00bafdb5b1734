// Fault F29: programs that leave daemons. In a process of its own, because it becomes the parent of all orphans.
#include "worker/runner/command/daemons.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "common/host/clock.hpp"
#include "tests/support/scratch_directory.hpp"
#include "worker/runner/command/command_runner.hpp"
#include "worker/runner/process/process_runners.hpp"

namespace penstock::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kQuiet = ">/dev/null 2>&1 </dev/null";

/// One program on a runner of its own; returns when it has ended and, after that, when `done`.
void run_until(const std::string& script, const std::function<bool()>& done) {
  Loop loop;
  ObjectStore store;
  CommandRunnerConfig config;
  config.band = "numa-0";
  config.ends_daemons = true;
  bool ended = false;
  CommandRunner runner{loop, store, config, [&](CommandEnd&& end) { ended = end.succeeded; }};
  CommandRun run;
  run.id = SubtaskId{JobId{7}, SubtaskIndex{1}};
  run.attempt = Attempt{1};
  run.program.program = "sh";
  run.program.arguments = {"-c", script};
  runner.start(std::move(run));
  LoopTimer turn{loop};
  const Instant late = monotonic_now() + seconds{20};
  std::function<void()> look = [&] {
    if ((ended && done()) || monotonic_now() > late) return loop.stop();
    turn.arm(monotonic_now() + milliseconds{1}, look);
  };
  look();
  loop.run();
}

std::vector<int> numbers_in(const std::string& path) {
  std::ifstream file{path};
  std::vector<int> numbers;
  for (int number = 0; file >> number;) numbers.push_back(number);
  return numbers;
}

bool all_gone(const std::vector<int>& processes) {
  return std::all_of(processes.begin(), processes.end(), [](int process) { return ::kill(process, 0) != 0; });
}

int count_of_daemons_that_stay() {
  ScratchDirectory scratch;
  const std::string pids = scratch.at("pids");
  const std::string note = " & echo $! >>" + pids;
  // One daemon in its group, one in a session of its own, and one with a child that comes to us only when the parent is
  // gone.
  const std::string script = std::string{"(sleep 1000 "} + kQuiet + note + "); (setsid sleep 1000 " + kQuiet + note +
                             "); (setsid sh -c 'sleep 1000 & echo $! >>" + pids + "; wait' " + kQuiet + note +
                             "); while [ $(wc -l <" + pids + ") -lt 4 ]; do sleep 0.01; done";
  run_until(script, [&] { return all_gone(numbers_in(pids)); });
  const std::vector<int> made = numbers_in(pids);
  if (made.size() != 4) return 100;
  int stay = 0;
  for (const int process : made)
    if (::kill(process, 0) == 0) {
      ++stay;
      ::kill(process, SIGKILL);
    }
  return stay;
}

int exit_code_of(int (*test)()) {
  // tidy: allow call: to adopt orphans is for the rest of a process's life
  const pid_t child = ::fork();
  if (child == 0) ::_exit(test());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DaemonsOfAProgram, EndWithItWhateverGroupOrSessionTheyAreIn) {
  EXPECT_EQ(exit_code_of(count_of_daemons_that_stay), 0);
}

int count_of_daemons_that_outlive_their_runner() {
  ScratchDirectory scratch;
  const std::string pids = scratch.at("pids");
  Loop loop;
  ObjectStore store;
  CommandRunnerConfig command_config;
  command_config.ends_daemons = true;
  CommandRunner commands{loop, store, command_config, [](CommandEnd&&) {}};
  ProcessRunnersConfig config;
  config.band = "numa-0";
  config.on_gone = [&](const std::string& mark) { loop.post([&commands, mark] { commands.end_daemons(mark); }); };
  ProcessRunners runners{config};
  Template program;
  program.runner = RunnerKind::Process;
  program.program = PENSTOCK_TEST_RUNNER;
  std::atomic<std::uint64_t> cancelled{0};
  std::uint64_t ticket = 0;
  for (const std::string& payload : {"daemon " + pids, std::string{"exit"}}) {
    ProcessRun run;
    run.ticket = ++ticket;
    run.id = SubtaskId{JobId{7}, SubtaskIndex{1}};
    run.attempt = Attempt{1};
    run.program = &program;
    run.payload = payload;
    run.cancelled_ticket = &cancelled;
    runners.run(run);
    if (ticket == 1 && all_gone(numbers_in(pids))) return 100;
  }
  LoopTimer turn{loop};
  const Instant late = monotonic_now() + seconds{20};
  std::function<void()> look = [&] {
    if (all_gone(numbers_in(pids)) || monotonic_now() > late) return loop.stop();
    turn.arm(monotonic_now() + milliseconds{1}, look);
  };
  look();
  loop.run();
  return all_gone(numbers_in(pids)) ? 0 : 1;
}

TEST(DaemonsOfARunner, EndWithIt) { EXPECT_EQ(exit_code_of(count_of_daemons_that_outlive_their_runner), 0); }

TEST(DaemonsOfAProgram, ThoseOfOthersStay) {
  const int code = exit_code_of([] {
    ScratchDirectory scratch;
    const std::string pids = scratch.at("pids");
    // The environment of the daemon names another attempt.
    run_until(std::string{"(PENSTOCK_ATTEMPT=2 setsid sleep 1000 "} + kQuiet + " & echo $! >>" + pids + "); sleep 0.1",
              [] { return true; });
    const std::vector<int> made = numbers_in(pids);
    if (made.size() != 1) return 100;
    const bool lives = ::kill(made[0], 0) == 0;
    ::kill(made[0], SIGKILL);
    return lives ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace penstock::worker
