// The guard in real life: a process that owns one is killed.
#include "worker/runner/command/group_guard.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <vector>

namespace penstock::worker {
namespace {

bool ends_soon(const Descriptor& process) {
  pollfd wanted{process.get(), POLLIN, 0};
  return ::poll(&wanted, 1, 10'000) == 1;
}

ProcessStart sleeper() {
  ProcessStart start;
  start.program = "/bin/sleep";
  start.arguments = {"1000"};
  return start;
}

TEST(GroupGuard, GroupsOfAKilledProcessEnd) {
  Result<Pipe> pipe = open_pipe();
  ASSERT_TRUE(pipe.has_value());
  // tidy: allow call: the test needs a process that dies with a guard in its hands
  const pid_t owner = ::fork();
  if (owner == 0) {
    GroupGuard guard;
    const Result<Process> guarded = Process::start(sleeper());
    const Result<Process> left = Process::start(sleeper());
    guard.enter(guarded->id());
    guard.leave(guard.enter(left->id()));
    const int ids[2] = {guarded->id(), left->id()};
    if (::write(pipe->write.get(), ids, sizeof ids) != sizeof ids) ::_exit(1);
    for (;;) ::pause();
  }
  int ids[2] = {};
  ASSERT_EQ(::read(pipe->read.get(), ids, sizeof ids), static_cast<ssize_t>(sizeof ids));
  const Descriptor guarded{static_cast<int>(::syscall(SYS_pidfd_open, ids[0], 0))};
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(ends_soon(guarded));
  EXPECT_EQ(::kill(ids[1], 0), 0) << "it had left the table";
  ::kill(ids[1], SIGKILL);
}

// Fault F29: a daemon has left its group; its environment names its runner.
TEST(GroupGuard, DaemonsOfAKilledProcessEnd) {
  Result<Pipe> pipe = open_pipe();
  ASSERT_TRUE(pipe.has_value());
  // tidy: allow call: the test needs a process that dies with a guard in its hands
  const pid_t owner = ::fork();
  if (owner == 0) {
    GroupGuard guard;
    ProcessStart start = sleeper();
    start.environment = {"PENSTOCK_RUNNER=" + guard.token()};
    const Result<Process> marked = Process::start(start);
    start.environment = {"PENSTOCK_RUNNER=" + guard.token() + "0"};
    const Result<Process> other = Process::start(start);
    guard.leave(guard.enter(other->id()));
    const int ids[2] = {marked->id(), other->id()};
    if (::write(pipe->write.get(), ids, sizeof ids) != sizeof ids) ::_exit(1);
    for (;;) ::pause();
  }
  int ids[2] = {};
  ASSERT_EQ(::read(pipe->read.get(), ids, sizeof ids), static_cast<ssize_t>(sizeof ids));
  const Descriptor marked{static_cast<int>(::syscall(SYS_pidfd_open, ids[0], 0))};
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(ends_soon(marked));
  EXPECT_EQ(::kill(ids[1], 0), 0) << "it is of another runner";
  ::kill(ids[1], SIGKILL);
}

// A daemon outlived a worker that ended in order, while one of its runners was busy.
TEST(GroupGuard, AnOrderlyEndKillsTheDaemons) {
  auto guard = std::make_unique<GroupGuard>();
  ProcessStart start = sleeper();
  start.environment = {"PENSTOCK_RUNNER=" + guard->token()};
  const Result<Process> daemon = Process::start(start);
  start.environment = {"PENSTOCK_RUNNER=" + guard->token() + "0"};
  const Result<Process> other = Process::start(start);
  guard->leave(guard->enter(other->id()));
  guard.reset();
  EXPECT_TRUE(daemon->wait_for_end(std::chrono::seconds{10}));
  EXPECT_FALSE(other->wait_for_end(std::chrono::milliseconds{0}));
  other->signal_group(SIGKILL);
  for (const Result<Process>* process : {&daemon, &other}) {
    ProcessEnd end;
    EXPECT_TRUE((*process)->wait_for_end(std::chrono::seconds{10}));
    EXPECT_TRUE((*process)->try_reap(end));
  }
}

// Each band waited for its own.
TEST(GroupGuard, GuardsThatAreToldWorkWhileNobodyWaitsForThem) {
  std::array<GroupGuard, 2> guards;
  std::vector<Result<Process>> daemons;
  for (GroupGuard& guard : guards) {
    ProcessStart start = sleeper();
    start.environment = {"PENSTOCK_RUNNER=" + guard.token()};
    daemons.push_back(Process::start(start));
    guard.leave(guard.enter(daemons.back()->id()));
  }
  for (GroupGuard& guard : guards) guard.end_daemons();
  for (const Result<Process>& daemon : daemons) {
    ProcessEnd end;
    EXPECT_TRUE(daemon->wait_for_end(std::chrono::seconds{10}));
    EXPECT_TRUE(daemon->try_reap(end));
  }
  guards[0].leave(guards[0].enter(1));  // Too late: it is not guarded, and nothing is killed for it.
}

TEST(GroupGuard, AnOrderlyEndKillsNoGroups) {
  const Result<Process> process = Process::start(sleeper());
  ASSERT_TRUE(process.has_value());
  {
    GroupGuard guard;
    guard.enter(process->id());
    EXPECT_TRUE(guard.active());
  }
  EXPECT_FALSE(process->wait_for_end(std::chrono::milliseconds{50}));
  process->signal_group(SIGKILL);
  EXPECT_TRUE(process->wait_for_end(std::chrono::seconds{10}));
  ProcessEnd end;
  EXPECT_TRUE(process->try_reap(end));
  EXPECT_EQ(end.signal, SIGKILL);
}

}  // namespace
}  // namespace penstock::worker
