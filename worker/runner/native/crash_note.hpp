// Whose fault it is when a native operator takes its process down (fault F25).
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

/// What a thread runs for somebody. `name` lives for as long as a thread may point here.
struct RunningOperator {
  Incarnation life;  ///< Of the worker.
  SubtaskId id;
  Attempt attempt;
  std::string_view name;
  std::uint64_t ticket = 0;
  const std::atomic<std::uint64_t>* overdue = nullptr;  ///< The ticket of the run that is to be ended at any cost.
};

/// Of the calling thread, for what its crash is to blame; null: nobody.
void set_running_operator(const RunningOperator* running);

/// A stack on which the calling thread can note what it was running when its own has overflowed.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// How a process goes on after an operator has crashed.
struct AfterCrash {
  bool starts_again = false;              ///< False: it says on standard error which operator it was, and ends.
  std::uint32_t crashes_max = 0;          ///< Within a minute; at the next one it ends.
  std::vector<std::string> command_line;  ///< Of the next life; ` --crash-note=N` is added.
  int note = -1;                          ///< That of the life before, or none.
};

/// From now on a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) of a thread that runs an operator is noted in memory
/// that outlives this program, and the program replaces itself by its next life: the process, its number and whoever
/// watches it stay. A crash of anything else ends the process as it always did. Once for a process.
/// There is no core dump of a crash that is survived: the memory is gone with the program.
void survive_operator_crashes(AfterCrash options);

/// Ends what that thread runs, if its ticket is the overdue one, as a crash of it would: nothing else can end a thread of a
/// process. False if this process cannot go on after that; then nothing is done.
bool end_overdue_operator(pthread_t thread);

/// What the life before this one has noted in that descriptor, if it is a note.
std::optional<OperatorCrash> read_crash_note(int descriptor);

}  // namespace penstock::worker
