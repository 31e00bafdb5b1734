// One runner process, seen from the worker.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "common/host/process.hpp"
#include "common/net/runner_channel.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/runner.hpp"
#include "worker/runner/command/captured_output.hpp"
#include "worker/runner/command/job_users.hpp"
#include "worker/runner/process/job_logs.hpp"

namespace penstock::worker {

struct ChildOptions {
  std::vector<std::string> environment;  ///< All of it.
  std::vector<int> processors;
  std::uint32_t message_bytes_max = 0;
  std::size_t tail_bytes = 0;
  JobLogs* logs = nullptr;  ///< Receives its output for subtasks, by line; outlives it. Null: none.
  AccountPtr account{};     ///< Under which it runs; null: the worker's.
};

/// The present memory of a process; zeros: unknown.
struct ChildMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t own_bytes = 0;  ///< The part of it that is neither a file nor sharable memory.
};

/// A started runner with its socket and the pipe of its output. For one thread, except `interrupt`, `kill`, `let_go`
/// and `memory`, which any thread may call: the mutex keeps them from signalling another process after it was reaped.
class Child {
 public:
  /// Starts the runner of a template, without waiting for it. Errors: ProgramNotFound, InvalidArgument,
  /// ResourceExhausted.
  static Result<std::unique_ptr<Child>> start(const Template& program, const ChildOptions& options);
  /// Waits for its end, after killing it unless it was let go.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int group() const { return process_.id(); }
  void interrupt() const;
  void kill() const;
  /// The runner is no longer needed: it ends by itself, or is killed when `grace` is over. A runner that never had a
  /// run has no state to save, and is killed. REQUIRES: it has no run now.
  void let_go(Duration grace);

  /// Sleeps until it has said something, written something, ended, `bell` can be read, or `limit` has passed; takes in
  /// what it has written. A negative `bell` is none.
  void wait(Duration limit, int bell = -1);
  /// The next thing that it says; none: nothing yet. Error: it is gone, or what it says is no message.
  Result<std::optional<FromRunner>> receive();
  /// Whether there is something to be received, even if only its end.
  bool can_be_heard() const;
  Result<void> send(const ToRunner& message, std::span<const int> descriptors);
  /// The segments of the last received message.
  std::vector<Descriptor>& segments() { return segments_; }

  /// Callable by any thread.
  ChildMemory memory() const;
  /// Its output from now on belongs to this attempt.
  void work_for(SubtaskId id, Attempt attempt) {
    log_.subtask = id;
    log_.attempt = attempt;
  }
  /// Takes in its output; an unfinished last line counts as one.
  void end_lines();
  /// Waits for its end, a second at most or as long as it was let go, and kills it after that. Returns its end.
  ProcessEnd bury();
  /// The last lines of output since the last call of this or of `forget_tail`.
  std::string take_tail();
  void forget_tail() {
    if (!tail_.empty()) tail_.take();
  }

  bool introduced = false;           ///< Its hello has been read.
  std::uint64_t runs = 0;            ///< Runs sent to it; the count is the ticket of the latest run on the wire.
  std::set<std::uint64_t> programs;  ///< Programs that it has, by hash.

 private:
  Child(Process process, RunnerChannel channel, Descriptor output, const ChildOptions& options);
  void read_output();
  void log_lines(std::string_view text);
  void end_line();
  bool wait_for_end(Instant late);

  /// Where the lines of its output go.
  struct OutputLog {
    JobLogs* jobs = nullptr;
    std::string line;   ///< The unfinished last one.
    SubtaskId subtask;  ///< The subtask of its output; without a job: none yet.
    Attempt attempt;
  };

  Process process_;
  RunnerChannel channel_;
  Descriptor output_;
  OutputTail tail_;
  OutputLog log_;
  std::vector<Descriptor> segments_;
  mutable std::mutex mutex_;
  bool buried_ = false;
  std::optional<Instant> leaves_until_;  ///< Set when it was let go, also under the mutex.
  ProcessEnd end_;
};

}  // namespace penstock::worker
