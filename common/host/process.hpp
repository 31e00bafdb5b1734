// Programs that this process starts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/host/descriptor.hpp"

namespace penstock {

/// A program and how to start it. The strings and descriptors only need to live during the call.
struct ProcessStart {
  std::string program;                   ///< A path; no search.
  std::string name;                      ///< Argument 0 of the program; empty: the path.
  std::vector<std::string> arguments;    ///< After the program's name.
  std::vector<std::string> environment;  ///< All of it, as `NAME=value`.
  std::string directory;                 ///< Its working directory; empty: ours.
  int input = -1;                        ///< Its standard streams; -1: /dev/null.
  int output = -1;
  int error = -1;
  Descriptor further;  ///< Its descriptor 3; none: it is closed.
};

/// The end of a process.
struct ProcessEnd {
  int exit_code = -1;  ///< -1: it was ended by a signal.
  int signal = 0;
  /// Peak of its largest single process, or 0: unknown. Unknown for a program smaller than ourselves, see `try_reap`.
  std::int64_t peak_bytes = 0;
};

/// A program in a process group of its own. None of our descriptors, ignored or blocked signals reach it. The
/// destructor neither ends nor reaps it: the owner calls `try_reap` until it returns true.
class Process {
 public:
  /// Takes some 0.5 ms, until the program has been loaded. Errors: ProgramNotFound (`remedy` says which part is
  /// missing), InvalidArgument (its directory), ResourceExhausted, LimitExceeded (arguments too long).
  static Result<Process> start(const ProcessStart& start);

  int id() const { return id_; }
  /// Becomes readable when the process has ended.
  const Descriptor& end_descriptor() const { return end_; }
  /// Sends a signal to the whole group. REQUIRES: not reaped yet, so that the number cannot belong to another group.
  void signal_group(int signal) const;
  /// Fills `end` if the process has ended; its number is free after that.
  bool try_reap(ProcessEnd& end) const;
  /// Waits, blocking the thread, until the process has ended; false if it has not ended after `limit`.
  bool wait_for_end(Duration limit) const;
  /// Peak memory of the process itself so far, or 0: unknown.
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

/// The environment of this process, as `NAME=value`.
std::vector<std::string> own_environment();
/// A variable of the environment, or `otherwise`.
std::string environment_value(const char* name, std::string_view otherwise = {});
/// Sets it, for this process and for programs that it starts. REQUIRES: no other thread has begun.
void set_environment_value(const char* name, const std::string& value);
/// The arguments of this program, its own name first.
std::vector<std::string> own_command_line();

/// Finds an executable file as a shell would, by a search path like `/bin:/usr/bin`; a name with a slash is taken
/// relative to `directory`. Error: ProgramNotFound; its message lists the places.
Result<std::string> find_program(const std::string& name, const std::string& search_path, const std::string& directory);

/// Makes writes to a pipe without a reader fail instead of ending this process.
void survive_broken_pipes();

}  // namespace penstock
