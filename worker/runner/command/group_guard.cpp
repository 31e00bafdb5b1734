#include "worker/runner/command/group_guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kLines = 4096;  ///< Groups beyond these are not guarded; far above any band's lanes.
constexpr std::size_t kLineBytes = 16;
constexpr std::size_t kNoLine = ~std::size_t{0};
constexpr Duration kDaemonsEndMax = std::chrono::seconds{2};

// Standard input is the pipe that breaks, or sends a line; standard output is the table. `cat` reads the lines of
// living groups and the blanks of the others. A dead group costs one failing `kill`.
constexpr const char* kScript =
    "exec 3<&1 >/dev/null 2>&1; read -r _; "
    "for group in $(cat <&3); do kill -s KILL -- \"-$group\"; done; "
    "for look in 1 2 3 4 5; do found=; "
    "for place in $(grep -lz \"^PENSTOCK_RUNNER=$0\\$\" /proc/[0-9]*/environ); do place=${place#/proc/}; found=1; "
    "kill -s KILL \"${place%/environ}\"; done; "
    "[ \"$found\" ] || break; done";  // A process that was about to start another one has started it by now.

}  // namespace

GroupGuard::GroupGuard() : token_(std::to_string(random_incarnation().value())) {}

GroupGuard::~GroupGuard() {
  end_daemons();
  if (process_) {
    const Duration left = std::max(*ending_ + kDaemonsEndMax - monotonic_now(), Duration{0});
    if (!process_->wait_for_end(left)) process_->signal_group(SIGKILL);
    ProcessEnd end;
    while (!process_->try_reap(end)) process_->wait_for_end(std::chrono::seconds{1});
  }
  if (table_ != nullptr) ::munmap(table_, kLines * kLineBytes);
}

void GroupGuard::end_daemons() {
  if (ending_.has_value()) return;
  ending_ = monotonic_now();
  tried_ = true;  // No further guard is started.
  free_.clear();
  if (!process_) return;
  // No group is left to guard, whatever the table contains.
  std::memset(table_, ' ', kLines * kLineBytes);
  // A line, because the pipe of a process that has forked does not break.
  if (::write(alive_.get(), "\n", 1) != 1) process_->signal_group(SIGKILL);
}

void GroupGuard::start() {
  tried_ = true;
  const Descriptor memory{::memfd_create("penstock-groups", MFD_CLOEXEC)};
  Result<Pipe> pipe = open_pipe();
  if (!memory || !pipe || ::ftruncate(memory.get(), kLines * kLineBytes) != 0) return;
  void* table = ::mmap(nullptr, kLines * kLineBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (table == MAP_FAILED) return;
  table_ = static_cast<char*>(table);
  std::memset(table_, ' ', kLines * kLineBytes);
  ProcessStart start;
  start.program = "/bin/sh";
  start.arguments = {"-c", kScript, token_};
  start.environment = {"PATH=/usr/bin:/bin"};
  start.directory = "/";
  start.input = pipe->read.get();
  start.output = memory.get();
  Result<Process> process = Process::start(start);
  if (!process) return log_error(LogLevel::Warn, "commands will outlive a killed worker", process.error());
  process_ = std::move(process).value();
  alive_ = std::move(pipe->write);
  for (std::size_t line = kLines; line > 0; --line) free_.push_back(line - 1);
}

std::size_t GroupGuard::enter(int group) {
  if (!tried_) start();
  if (free_.empty()) return kNoLine;
  const std::size_t line = free_.back();
  free_.pop_back();
  std::string text = std::to_string(group);
  text.resize(kLineBytes, ' ');
  text.back() = '\n';
  std::copy(text.begin(), text.end(), table_ + line * kLineBytes);
  return line;
}

void GroupGuard::leave(std::size_t line) {
  if (line == kNoLine || ending_.has_value()) return;
  std::memset(table_ + line * kLineBytes, ' ', kLineBytes);
  free_.push_back(line);
}

}  // namespace penstock::worker
