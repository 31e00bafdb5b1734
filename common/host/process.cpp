#include "common/host/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "common/host/host.hpp"

namespace penstock {
namespace {

/// `posix_spawn` with its two descriptions, which must be destroyed. The call starts a program without copying our page
/// tables (CLONE_VFORK), which makes it several times faster than fork for a large worker.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void stream(int from, int number) {
    if (from >= 0)
      posix_spawn_file_actions_adddup2(&actions_, from, number);
    else
      posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", number == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  }

  /// 0 or an error number.
  int run(const ProcessStart& start, pid_t& id) {
    stream(start.input, STDIN_FILENO);
    stream(start.output, STDOUT_FILENO);
    stream(start.error, STDERR_FILENO);
    int first_closed = STDERR_FILENO + 1;
    if (start.further) {
      // To its own number `dup2` does nothing and the descriptor stays marked to be closed.
      posix_spawn_file_actions_adddup2(&actions_, start.further.get(), first_closed);
      ++first_closed;
    }
    // Libraries do not always mark their sockets to be closed by exec; a child that outlives us must not hold our
    // ports.
    posix_spawn_file_actions_addclosefrom_np(&actions_, first_closed);
    if (!start.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions_, start.directory.c_str());
    std::vector<char*> arguments;
    arguments.reserve(start.arguments.size() + 2);
    arguments.push_back(const_cast<char*>((start.name.empty() ? start.program : start.name).c_str()));
    for (const std::string& argument : start.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    environment.reserve(start.environment.size() + 1);
    for (const std::string& entry : start.environment) environment.push_back(const_cast<char*>(entry.c_str()));
    environment.push_back(nullptr);
    return posix_spawn(&id, start.program.c_str(), &actions_, &attributes_, arguments.data(), environment.data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// A failed start has one number for several steps; this looks again to find the step.
Error start_error(const ProcessStart& start, int number) {
  const std::string why = std::strerror(number);
  if (number == EAGAIN || number == ENOMEM || number == EMFILE || number == ENFILE)
    return {ErrorCode::ResourceExhausted, start.program, "cannot be started: " + why,
            "the host or its cgroup allows no more processes, memory or open files"};
  if (number == E2BIG)
    return {ErrorCode::LimitExceeded, start.program, "its arguments and environment are too long for this host",
            "pass data by standard input"};
  struct stat status {};
  if (!start.directory.empty() && (::stat(start.directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)))
    return {ErrorCode::InvalidArgument, start.directory, "is no directory that the program can start in", {}};
  if (number == ENOEXEC)
    return {ErrorCode::ProgramNotFound,
            start.program,
            "is neither a program of this machine nor a script that begins with #!",
            {}};
  if (number == ENOENT && is_executable_file(start.program))
    return {ErrorCode::ProgramNotFound, start.program, "names an interpreter or loader that does not exist",
            "look at its first line, or `ldd`"};
  return {ErrorCode::ProgramNotFound, start.program, "cannot be started: " + why, {}};
}

}  // namespace

Result<Process> Process::start(const ProcessStart& start) {
  pid_t id = -1;
  if (const int number = Spawn{}.run(start, id); number != 0) return start_error(start, number);
  Descriptor end{static_cast<int>(::syscall(SYS_pidfd_open, id, 0))};
  if (!end) {
    const int number = errno;
    // Its end could not be reported.
    ::kill(-id, SIGKILL);
    ::waitpid(id, nullptr, 0);
    return start_error(start, number);
  }
  return Process{id, std::move(end)};
}

void Process::signal_group(int signal) const { ::kill(-id_, signal); }

bool Process::try_reap(ProcessEnd& end) const {
  int status = 0;
  rusage usage{};
  const pid_t reaped = ::wait4(id_, &status, WNOHANG, &usage);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return false;
  if (reaped < 0) return true;  // Another part of the process has reaped it: only its end is known.
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // Before it became a program of its own it was a thread of ours, and the kernel counts our memory for it.
  const std::int64_t peak = std::int64_t{usage.ru_maxrss} * 1024;
  end.peak_bytes = peak > process_usage().peak_bytes ? peak : 0;
  return true;
}

bool Process::wait_for_end(Duration limit) const {
  pollfd wanted{end_.get(), POLLIN, 0};
  return ::poll(&wanted, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limit).count())) == 1;
}

std::int64_t Process::peak_bytes_so_far() const {
  const std::string path = "/proc/" + std::to_string(id_) + "/status";
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  char text[4096];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  if (size <= 0) return 0;
  const std::string_view status{text, static_cast<std::size_t>(size)};
  constexpr std::string_view kLine = "VmHWM:";
  const std::size_t at = status.find(kLine);
  if (at == std::string_view::npos) return 0;
  const std::size_t digits = status.find_first_of("0123456789", at);
  std::int64_t kib = 0;
  if (digits != std::string_view::npos) std::from_chars(status.data() + digits, status.data() + status.size(), kib);
  return kib * 1024;
}

void Process::bind(const std::vector<int>& processors) const {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  ::sched_setaffinity(id_, sizeof set, &set);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string{"SIG"} + name;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::vector<std::string> own_command_line() {
  std::ifstream file{"/proc/self/cmdline"};
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string environment_value(const char* name, std::string_view otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{otherwise} : std::string{value};
}

void set_environment_value(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

Result<std::string> find_program(const std::string& name, const std::string& search_path,
                                 const std::string& directory) {
  if (name.find('/') != std::string::npos) {
    std::string path = name.front() == '/' || directory.empty() ? name : directory + "/" + name;
    if (is_executable_file(path)) return path;
    const bool exists = ::access(path.c_str(), F_OK) == 0;
    return Error{ErrorCode::ProgramNotFound, path, exists ? "may not be executed" : "does not exist on this host",
                 exists ? "chmod +x" : ""};
  }
  for (std::size_t begin = 0; !name.empty() && begin <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    // An empty part would mean the present directory of the worker, which is never intended.
    if (end > begin)
      if (std::string path = search_path.substr(begin, end - begin) + "/" + name; is_executable_file(path)) return path;
    begin = end + 1;
  }
  return Error{ErrorCode::ProgramNotFound, name, "is not in PATH on this host", "PATH is " + search_path};
}

void survive_broken_pipes() {
  struct sigaction action {};
  // A program that has chosen another action for this signal keeps it.
  if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace penstock
