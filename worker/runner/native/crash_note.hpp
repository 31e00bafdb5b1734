// The blame for a crash of the process in a native operator (fault F25).
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock::worker {

/// The run of a thread. `name` lives for as long as a thread may point here.
struct RunningOperator {
  Incarnation life;  ///< Of the worker.
  SubtaskId id;
  Attempt attempt;
  std::string_view name;
  std::uint64_t ticket = 0;
  const std::atomic<std::uint64_t>* overdue = nullptr;  ///< The ticket of the run that is to be ended at any cost.
};

/// The run of the calling thread, which a crash is blamed on; null: none.
void set_running_operator(const RunningOperator* running);

/// A stack for the handler, so that a thread that has overflowed its own can write the note.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// The continuation of a process after an operator has crashed.
struct AfterCrash {
  bool starts_again = false;              ///< False: it names the operator on standard error, and ends.
  std::uint32_t crashes_max = 0;          ///< Within a minute; after one more it ends.
  std::vector<std::string> command_line;  ///< Of the next incarnation; ` --crash-note=N` is added.
  int note = -1;                          ///< Descriptor of the previous incarnation's note, or none.
};

/// From now on a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) of a thread that runs an operator is noted in memory
/// that outlives this program, and the program replaces itself by its next incarnation: the process and its number
/// stay, for its observers, too. A crash of any other thread ends the process as usual. Called once for a process. A
/// survived crash leaves no core dump: the memory is gone with the program.
void survive_operator_crashes(AfterCrash options);

/// Ends the run of that thread, if its ticket is the overdue one, as a crash of it would: nothing else can end a thread
/// of a process. False if this process cannot go on after that; then nothing is done.
bool end_overdue_operator(pthread_t thread);

/// The crash that the previous incarnation has noted in that descriptor, if it holds a note.
std::optional<OperatorCrash> read_crash_note(int descriptor);

}  // namespace penstock::worker
