// Programs that this process starts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/runtime/descriptor.hpp"

namespace penstock {

/// What to start and how. The strings and descriptors only need to live during the call.
struct ProcessStart {
  std::string program;                   ///< A path; nothing is searched.
  std::string name;                      ///< What it is told to be called; empty: the path.
  std::vector<std::string> arguments;    ///< After the program's name.
  std::vector<std::string> environment;  ///< All of it, as `NAME=value`.
  std::string directory;                 ///< Where it starts; empty: where we are.
  int input = -1;                        ///< Its standard streams; -1: /dev/null.
  int output = -1;
  int error = -1;
};

/// How a process ended.
struct ProcessEnd {
  int exit_code = -1;  ///< -1: it was ended by a signal.
  int signal = 0;
  /// Of the largest single process of it, or 0: unknown. A program smaller than ourselves cannot be told from us.
  std::int64_t peak_bytes = 0;
};

/// A program in a process group of its own. None of our descriptors, ignored or blocked signals reach it. It is neither
/// ended nor reaped by the destructor: the owner calls `try_reap` until it says yes.
class Process {
 public:
  /// Takes some 0.5 ms, until the program has been loaded. Errors: ProgramNotFound (`remedy` says what of it is
  /// missing), InvalidArgument (its directory), ResourceExhausted, LimitExceeded (arguments too long).
  static Result<Process> start(const ProcessStart& start);

  int id() const { return id_; }
  /// Becomes readable when the process has ended.
  const Descriptor& end_descriptor() const { return end_; }
  /// To the whole group. REQUIRES: not reaped yet, so that the number cannot be somebody else's.
  void signal_group(int signal) const;
  /// Fills `end` if it has ended; its number is free after that.
  bool try_reap(ProcessEnd& end) const;
  /// Waits, blocking the thread, until it has ended; false: it has not after `limit`.
  bool wait_for_end(Duration limit) const;
  /// The most memory that the process itself has used so far, or 0: unknown.
  std::int64_t peak_bytes_so_far() const;
  /// Restricts it to these processors of the host; empty: no change.
  void bind(const std::vector<int>& processors) const;

 private:
  Process(int id, Descriptor end) : id_(id), end_(std::move(end)) {}
  int id_;
  Descriptor end_;
};

/// `SIGSEGV` for 11.
std::string signal_name(int signal);

/// The environment of this process as `NAME=value`.
std::vector<std::string> own_environment();
/// A variable of it, or `otherwise`.
std::string environment_value(const char* name, std::string_view otherwise = {});
/// The words with which this program was started, its own name first.
std::vector<std::string> own_command_line();

/// Finds an executable file as a shell would, by a search path like `/bin:/usr/bin`; a name with a slash is taken
/// relative to `directory`. Error: ProgramNotFound, whose message says where was looked.
Result<std::string> find_program(const std::string& name, const std::string& search_path, const std::string& directory);

/// A reader that leaves early shall not end this process: writes to it fail instead.
void survive_broken_pipes();

}  // namespace penstock
