#include "worker/runner/command/group_guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/runtime/host.hpp"
#include "common/runtime/log.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kLines = 4096;  ///< Groups beyond these are not guarded; far above any band's lanes.
constexpr std::size_t kLineBytes = 16;
constexpr std::size_t kNoLine = ~std::size_t{0};

// Standard input is the pipe that breaks, standard output the table. `cat` sees the lines of the living groups and the
// blanks of the others. A group that is gone costs one failing `kill`.
constexpr const char* kScript =
    "exec 3<&1 >/dev/null 2>&1; while read -r _; do :; done; "
    "for group in $(cat <&3); do kill -s KILL -- \"-$group\"; done; "
    "for place in $(grep -lz \"^PENSTOCK_RUNNER=$0\\$\" /proc/[0-9]*/environ); do place=${place#/proc/}; "
    "kill -s KILL \"${place%/environ}\"; done";

}  // namespace

GroupGuard::GroupGuard() : token_(std::to_string(random_incarnation().value())) {}

GroupGuard::~GroupGuard() {
  if (process_) {
    // We end in order: there is nothing to guard, whatever the table says.
    process_->signal_group(SIGKILL);
    ProcessEnd end;
    while (!process_->try_reap(end)) process_->wait_for_end(std::chrono::seconds{1});
  }
  if (table_ != nullptr) ::munmap(table_, kLines * kLineBytes);
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
  if (line == kNoLine) return;
  std::memset(table_ + line * kLineBytes, ' ', kLineBytes);
  free_.push_back(line);
}

}  // namespace penstock::worker
