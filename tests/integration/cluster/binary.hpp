// A binary as users call it, for tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/host/process.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {

/// How a call ended, and what it wrote.
struct BinaryRun {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

/// The environment of this process, but what a supervisor keeps when nothing is said of it goes to the scratch
/// directory.
std::vector<std::string> environment_with_state_in(const ScratchDirectory& scratch);

struct BinaryCall {
  std::vector<std::string> arguments;
  std::string input;                     ///< Its standard input; empty: there is none.
  std::string directory;                 ///< Where it starts; empty: an empty one of its own.
  std::vector<std::string> environment;  ///< `NAME=value`, before those of this process.
  std::string output = {};               ///< The file of its standard output; empty: one that `wait` reads.
  std::string program = {};              ///< Empty: `penstock`.
};

/// A call that has begun. Everything that still runs at the end is killed.
class RunningBinary {
 public:
  explicit RunningBinary(const BinaryCall& call);
  ~RunningBinary();
  RunningBinary(const RunningBinary&) = delete;
  RunningBinary& operator=(const RunningBinary&) = delete;

  const Process& process() const { return *process_; }
  /// False if `text` has not appeared on its standard error after 20 s.
  bool wait_for_errors(const std::string& text) const;
  /// The standard output of the call so far.
  std::string output() const { return scratch_.read("output"); }
  /// Waits for its end; the signal that ended it, or 0.
  int end_signal();
  /// Waits for its end; a failure of the test if it takes longer than 60 s.
  BinaryRun wait();

 private:
  ScratchDirectory scratch_;
  std::unique_ptr<Process> process_;
};

BinaryRun run_binary(const BinaryCall& call);
BinaryRun run_binary(const std::vector<std::string>& arguments);

/// False if the condition has not come true after 20 s.
bool wait_until(const std::function<bool()>& condition);

}  // namespace penstock
