#include "tests/integration/state/killed_program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "common/host/process.hpp"

namespace penstock {
namespace {

/// A stop at a system call, as `PTRACE_O_TRACESYSGOOD` marks it.
constexpr int kSystemCall = SIGTRAP | 0x80;
constexpr std::size_t kPathBytes = 4096;

/// How a system call names the file that it changes.
enum class Named : std::uint8_t {
  ByPath,      ///< By its argument `path`.
  ByFile,      ///< By the descriptor in its argument `path`.
  IfItIsMade,  ///< By path; a change only with O_CREAT or O_TRUNC in the argument behind it.
};
struct Change {
  long number;
  const char* name;
  Named named;
  unsigned path;
};
constexpr auto kChanges = std::to_array<Change>({
  {SYS_openat, "openat", Named::IfItIsMade, 1}, {SYS_mkdirat, "mkdirat", Named::ByPath, 1},
      {SYS_unlinkat, "unlinkat", Named::ByPath, 1}, {SYS_renameat, "renameat", Named::ByPath, 1},
      {SYS_renameat2, "renameat2", Named::ByPath, 1}, {SYS_linkat, "linkat", Named::ByPath, 3},
      {SYS_symlinkat, "symlinkat", Named::ByPath, 2}, {SYS_truncate, "truncate", Named::ByPath, 0},
      {SYS_ftruncate, "ftruncate", Named::ByFile, 0}, {SYS_fallocate, "fallocate", Named::ByFile, 0},
      {SYS_write, "write", Named::ByFile, 0}, {SYS_writev, "writev", Named::ByFile, 0},
      {SYS_pwrite64, "pwrite", Named::ByFile, 0}, {SYS_copy_file_range, "copy_file_range", Named::ByFile, 2},
      {SYS_sendfile, "sendfile", Named::ByFile, 0},
#if defined(SYS_open)
      {SYS_open, "open", Named::IfItIsMade, 0}, {SYS_creat, "creat", Named::ByPath, 0},
      {SYS_mkdir, "mkdir", Named::ByPath, 0}, {SYS_rmdir, "rmdir", Named::ByPath, 0},
      {SYS_unlink, "unlink", Named::ByPath, 0}, {SYS_rename, "rename", Named::ByPath, 0},
      {SYS_link, "link", Named::ByPath, 1}, {SYS_symlink, "symlink", Named::ByPath, 1},
#endif
});

std::string path_at(pid_t thread, std::uint64_t address) {
  std::string text(kPathBytes, '\0');
  const int memory = ::open(("/proc/" + std::to_string(thread) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = memory < 0 ? -1 : ::pread(memory, text.data(), text.size(), static_cast<off_t>(address));
  if (memory >= 0) ::close(memory);
  text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return text.substr(0, text.find('\0'));
}

std::string path_of(pid_t thread, std::uint64_t file) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/" + std::to_string(thread) + "/fd/" + std::to_string(file), ignored);
}

/// The file that the thread is about to change, and how; none: it is about to do something else.
std::optional<std::string> change_of(pid_t thread, const std::string& files) {
  __ptrace_syscall_info call{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) <= 0 || call.op != PTRACE_SYSCALL_INFO_ENTRY)
    return std::nullopt;
  const auto change = std::find_if(kChanges.begin(), kChanges.end(), [&](const Change& known) {
    return known.number == static_cast<long>(call.entry.nr);
  });
  if (change == kChanges.end()) return std::nullopt;
  const auto& given = call.entry.args;
  if (change->named == Named::IfItIsMade && (given[change->path + 1] & (O_CREAT | O_TRUNC)) == 0) return std::nullopt;
  const std::string path =
      change->named == Named::ByFile ? path_of(thread, given[change->path]) : path_at(thread, given[change->path]);
  if (path.find(files) == std::string::npos) return std::nullopt;
  return std::string{change->name} + " " + path;
}

/// As a system call wants them: the last one points nowhere.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A child that waits to be traced, with nothing but the program before it.
pid_t start_traced(const KilledProgram& wanted) {
  std::vector<std::string> words{wanted.program};
  words.insert(words.end(), wanted.arguments.begin(), wanted.arguments.end());
  // A search for leaks at the end of a process cannot be made while the process is traced.
  std::vector<std::string> variables{"ASAN_OPTIONS=detect_leaks=0"};
  for (std::string& variable : own_environment()) variables.push_back(std::move(variable));
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  const pid_t child = ::fork();  // tidy: allow call: only a child can ask to be traced from its first instruction
  if (child != 0) return child;
  const int nowhere = ::open("/dev/null", O_RDWR);
  const int errors =
      wanted.errors.empty() ? nowhere : ::open(wanted.errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  for (int file = 0; file < 2; ++file) ::dup2(nowhere, file);
  ::dup2(errors, 2);
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::execve(arguments[0], arguments.data(), environment.data());
  ::_exit(127);
}

void kill_and_reap(pid_t program) {
  ::kill(program, SIGKILL);
  int status = 0;
  // Threads first, then the process; after that there is nobody to wait for.
  while (::waitpid(-1, &status, __WALL) > 0) {
  }
}

}  // namespace

KilledRun run_until_change(const KilledProgram& wanted, std::uint64_t change) {
  KilledRun run;
  const pid_t program = start_traced(wanted);
  int status = 0;
  if (::waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) return run;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
  ::ptrace(PTRACE_SETOPTIONS, program, nullptr, options);
  ::ptrace(PTRACE_SYSCALL, program, nullptr, nullptr);
  std::error_code ignored;
  for (pid_t thread = 0; (thread = ::waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (thread != program) continue;
      run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      return run;
    }
    int signal = WSTOPSIG(status);
    if (signal == kSystemCall) {
      signal = 0;
      std::optional<std::string> next = change_of(thread, wanted.files);
      run.was_killed = next.has_value() && change-- == 0;
      if (run.was_killed) run.before = std::move(*next);
      if (run.was_killed || (!wanted.until.empty() && std::filesystem::exists(wanted.until, ignored))) {
        kill_and_reap(program);
        return run;
      }
    } else if (signal == SIGTRAP || signal == SIGSTOP) {
      signal = 0;  // A thread that begins, and the one that has made it.
    }
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
  }
  return run;
}

bool can_trace() {
  const KilledRun run = run_until_change({"/bin/true", {}, "/"}, 1'000'000);
  return run.exit_code == 0;
}

}  // namespace penstock
