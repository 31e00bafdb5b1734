#include "worker/runner/native/crash_note.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/host/process.hpp"

namespace penstock::worker {
namespace {

/// "Processor time limit exceeded": the kernel sends it for a limit of the whole process, and ends that.
constexpr int kOverdue = SIGXCPU;
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, kOverdue};
constexpr Duration kCountedFor = std::chrono::minutes{1};
constexpr std::size_t kStackBytes = 64UL << 10U;
constexpr std::uint64_t kMagic = 0x65746f6e68737264ULL;

/// The note of one incarnation for the next. Plain bytes: it is written while nothing can be relied on.
struct Note {
  std::uint64_t magic;
  std::int64_t counted_since_ns;
  std::uint32_t crashes;  ///< Since `counted_since_ns`.
  std::int32_t signal;
  std::uint64_t address;
  std::uint64_t life;
  std::uint64_t attempt;
  std::uint32_t job;
  std::uint32_t subtask;
  std::uint32_t name_bytes;
  char name[256];
};

/// The data of the handler, made before the first crash and never destroyed.
struct Keeper {
  bool starts_again = false;
  std::uint32_t crashes_max = 0;
  int descriptor = -1;
  Note* note = nullptr;
  cpu_set_t processors;  ///< Of the process, not of the crashing lane.
  bool knows_processors = false;
  std::vector<std::string> texts;
  std::vector<char*> arguments;
};

Keeper* keeper = nullptr;
thread_local const RunningOperator* running_here = nullptr;

// From here to `on_crash` only signal-safe operations: no memory is taken, no lock, no buffer.

/// One line for standard error.
class Line {
 public:
  Line& add(std::string_view text) {
    for (const char c : text)
      if (used_ < sizeof text_) text_[used_++] = c;
    return *this;
  }
  Line& add(std::uint64_t number) {
    char digits[20];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) add(std::string_view{&digits[--count], 1});
    return *this;
  }
  void write() const { static_cast<void>(::write(STDERR_FILENO, text_, used_) == 0); }

 private:
  char text_[512];
  std::size_t used_ = 0;
};

std::string_view name_of(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "?" : name;
}

void say(const RunningOperator& running, int signal) {
  Line line;
  line.add("penstock: error: operator '").add(running.name);
  if (signal == kOverdue)
    line.add("' did not end when its time limit had passed");
  else
    line.add("' crashed with SIG").add(name_of(signal));
  line.add(", attempt ").add(running.attempt.value()).add(" of subtask ").add(running.id.index.value());
  line.add(" of job-").add(running.id.job.value()).add("\n").write();
}

/// Another process may send us such a signal; that is no crash.
bool is_ours(const siginfo_t& about) { return about.si_code > 0 || about.si_pid == ::getpid(); }

/// False after too many crashes.
bool count_crash(Note& note) {
  const std::int64_t now = monotonic_now().time_since_epoch().count();
  if (now - note.counted_since_ns > kCountedFor.count()) {
    note.counted_since_ns = now;
    note.crashes = 0;
  }
  return ++note.crashes <= keeper->crashes_max;
}

void write_note(const RunningOperator& running, int signal, const siginfo_t& about) {
  Note& note = *keeper->note;
  note.signal = signal;
  note.address = about.si_code > 0 ? reinterpret_cast<std::uint64_t>(about.si_addr) : 0;
  note.life = running.life.value();
  note.job = running.id.job.value();
  note.subtask = running.id.index.value();
  note.attempt = running.attempt.value();
  note.name_bytes = static_cast<std::uint32_t>(std::min(running.name.size(), sizeof note.name));
  std::memcpy(note.name, running.name.data(), note.name_bytes);
  note.magic = kMagic;
}

/// Returns only on failure.
void begin_next_life(sigset_t blocked) {
  // Libraries may open anything; no descriptor of this incarnation may hold a port or a lock of the next one.
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  ::fcntl(keeper->descriptor, F_SETFD, 0);
  for (const int signal : kCrashes) sigdelset(&blocked, signal);
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  // The crashed thread is bound to one band, and the next incarnation would inherit that.
  if (keeper->knows_processors) ::sched_setaffinity(0, sizeof keeper->processors, &keeper->processors);
  ::execve("/proc/self/exe", keeper->arguments.data(), environ);
}

/// The run may have ended just before it was to be ended.
bool is_overdue(const RunningOperator* running) {
  return running != nullptr && running->overdue != nullptr && running->overdue->load() == running->ticket;
}

void on_crash(int signal, siginfo_t* about, void* context) {
  static std::atomic_flag taken;
  const bool ours = signal == kOverdue ? about->si_code == SI_TKILL && about->si_pid == ::getpid() : is_ours(*about);
  if (signal == kOverdue && ours && !is_overdue(running_here)) return;
  if (const RunningOperator* running = running_here; running != nullptr && ours) {
    // The note of the first crash counts, and ends the waiting of the others.
    while (taken.test_and_set()) ::pause();
    say(*running, signal);
    if (keeper->starts_again && count_crash(*keeper->note)) {
      write_note(*running, signal, *about);
      begin_next_life(static_cast<const ucontext_t*>(context)->uc_sigmask);
    }
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

bool open_note(int inherited) {
  struct stat status {};
  keeper->descriptor = inherited;
  if (inherited < 0 || ::fstat(inherited, &status) != 0 || status.st_size != sizeof(Note)) {
    keeper->descriptor = ::memfd_create("penstock-crash-note", MFD_CLOEXEC);
    if (keeper->descriptor < 0 || ::ftruncate(keeper->descriptor, sizeof(Note)) != 0) return false;
  }
  ::fcntl(keeper->descriptor, F_SETFD, FD_CLOEXEC);
  void* memory = ::mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED, keeper->descriptor, 0);
  if (memory == MAP_FAILED) return false;
  keeper->note = static_cast<Note*>(memory);
  return true;
}

}  // namespace

void set_running_operator(const RunningOperator* running) { running_here = running; }

CrashStack::CrashStack() : memory_(std::make_unique<std::byte[]>(kStackBytes)) {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  ::sigaltstack(&stack, nullptr);
}

CrashStack::~CrashStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

void survive_operator_crashes(AfterCrash options) {
  static Keeper the_keeper;
  keeper = &the_keeper;
  keeper->crashes_max = options.crashes_max;
  keeper->knows_processors = ::sched_getaffinity(0, sizeof keeper->processors, &keeper->processors) == 0;
  keeper->starts_again = options.starts_again && open_note(options.note);
  if (options.starts_again && !keeper->starts_again)
    log_line(LogLevel::Warn, "an operator that crashes will end this worker", "reason=\"no memory for its note\"");
  keeper->texts = std::move(options.command_line);
  keeper->texts.push_back("--crash-note=" + std::to_string(keeper->descriptor));
  for (std::string& text : keeper->texts) keeper->arguments.push_back(text.data());
  keeper->arguments.push_back(nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);  // A crash in the handler ends the process, as the kernel does it.
  for (const int signal : kCrashes) ::sigaction(signal, &action, nullptr);
}

bool end_overdue_operator(pthread_t thread) {
  return keeper != nullptr && keeper->starts_again && ::pthread_kill(thread, kOverdue) == 0;
}

std::optional<OperatorCrash> read_crash_note(int descriptor) {
  Note note{};
  if (::pread(descriptor, &note, sizeof note, 0) != sizeof note || note.magic != kMagic) return {};
  ::prctl(PR_SET_NAME, "penstock");  // Otherwise lists of processes would show it as `exe`.
  std::string name{note.name, std::min<std::size_t>(note.name_bytes, sizeof note.name)};
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  OperatorCrash crash{
      Incarnation{note.life},
      {JobId{note.job}, SubtaskIndex{note.subtask}},
      Attempt{note.attempt},
      note.signal,
      "operator '" + name +
          (note.signal == kOverdue ? "' did not end when its time limit had passed, and its worker had to"
                                   : "' crashed with " + signal_name(note.signal))};
  if (note.signal == SIGSEGV || note.signal == SIGBUS) {
    char address[32];
    std::snprintf(address, sizeof address, " at address 0x%llx", static_cast<unsigned long long>(note.address));
    crash.message += address;
  }
  return crash;
}

}  // namespace penstock::worker
