// One runner process, seen from the worker.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "common/protocol/graph.hpp"
#include "common/protocol/runner.hpp"
#include "common/runtime/process.hpp"
#include "common/runtime/runner_channel.hpp"
#include "worker/runner/command/captured_output.hpp"
#include "worker/runner/process/job_logs.hpp"

namespace penstock::worker {

struct ChildOptions {
  std::vector<std::string> environment;  ///< All of it.
  std::vector<int> processors;
  std::uint32_t message_bytes_max = 0;
  std::size_t tail_bytes = 0;
  JobLogs* logs = nullptr;  ///< Gets what it writes for a subtask, by line; outlives it. Null: nobody.
};

/// What a process holds now; zeros: unknown.
struct ChildMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t own_bytes = 0;  ///< Of that, what is no file and no memory that can be shared.
};

/// A started runner with its socket and the pipe that it writes to. For one thread, but `interrupt`, `kill`, `let_go`
/// and `memory`, which any thread may call: the mutex keeps them from whoever gets its number after it was reaped.
class Child {
 public:
  /// Starts what the template says, without waiting for it. Errors: ProgramNotFound, InvalidArgument,
  /// ResourceExhausted.
  static Result<std::unique_ptr<Child>> start(const Template& program, const ChildOptions& options);
  /// Waits for its end, having killed it unless it was let go.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int group() const { return process_.id(); }
  void interrupt() const;
  void kill() const;
  /// It is needed no longer: it ends by itself, or is killed when `grace` is over. One that has never had a run has
  /// nothing of anybody to end, and is killed. REQUIRES: it has no run now.
  void let_go(Duration grace);

  /// Sleeps until it has said something, written something, ended, `bell` can be read, or `limit` has passed; takes in
  /// what it has written. A negative `bell` is none.
  void wait(Duration limit, int bell = -1);
  /// The next thing that it says; none: nothing yet. Error: it is gone, or what it says is no message.
  Result<std::optional<FromRunner>> receive();
  /// Whether there is something to be received, if only its end.
  bool can_be_heard() const;
  Result<void> send(const ToRunner& message, std::span<const int> descriptors);
  /// The segments of what was received last.
  std::vector<Descriptor>& segments() { return segments_; }

  /// For any thread.
  ChildMemory memory() const;
  /// What it writes from now on it writes for this attempt.
  void work_for(SubtaskId id, Attempt attempt) {
    subtask_ = id;
    attempt_ = attempt;
  }
  /// Takes in what it has written; a line that has not ended counts as one.
  void end_lines();
  /// Waits for its end, a second at most or as long as it was let go, after which it is killed. How it ended.
  ProcessEnd bury();
  /// The last lines that it wrote since one of the two was called.
  std::string take_tail();
  void forget_tail() {
    if (!tail_.empty()) tail_.take();
  }

  bool introduced = false;           ///< Its hello has been read.
  std::uint64_t runs = 0;            ///< That it was sent; each is told by its number, which no later one has.
  std::set<std::uint64_t> programs;  ///< That it has, by hash.

 private:
  Child(Process process, RunnerChannel channel, Descriptor output, const ChildOptions& options);
  void read_output();
  void log_lines(std::string_view text);
  void end_line();
  bool wait_for_end(Instant late);

  Process process_;
  RunnerChannel channel_;
  Descriptor output_;
  OutputTail tail_;
  std::string line_;  ///< That it has not ended yet.
  JobLogs* logs_;
  SubtaskId subtask_;  ///< That it works for; without a job: for none yet.
  Attempt attempt_;
  std::vector<Descriptor> segments_;
  mutable std::mutex mutex_;
  bool buried_ = false;
  std::optional<Instant> leaves_until_;  ///< It was let go, under the mutex, too.
  ProcessEnd end_;
};

}  // namespace penstock::worker
