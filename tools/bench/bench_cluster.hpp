// The cluster of a benchmark: processes of its own, or this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/embedded/embedded_cluster.hpp"
#include "client/src/session.hpp"
#include "common/host/process.hpp"
#include "common/loop/stop_signals.hpp"
#include "tools/bench/idle_workers.hpp"
#include "tools/bench/wire_bytes.hpp"

namespace penstock::tools {

struct BenchClusterOptions {
  bool embedded = false;
  std::uint32_t workers = 1;
  std::uint32_t bands = 1;            ///< Of each worker.
  std::uint32_t slots = 2;            ///< Of each band.
  std::vector<std::string> settings;  ///< `--set` of the daemons.
  std::uint32_t idle_workers = 0;     ///< Connected beside them, without work.
  std::string configuration;          ///< Text of a configuration file of the supervisor; empty: none.
  bool journal = true;  ///< The supervisor keeps its state on the disk of the temporary files; not embedded.
  std::uint32_t slots_in_all() const { return (embedded ? 1 : workers) * bands * slots; }
};

/// The resources that a process has used since it began.
struct ProcessCost {
  std::string name;
  double cpu_s = 0;
  std::int64_t peak_bytes = 0;
  friend bool operator==(const ProcessCost&, const ProcessCost&) = default;
};

/// A supervisor and workers that live as long as this object.
class BenchCluster {
 public:
  /// Starts them and waits until all workers have joined. Errors: ProgramNotFound, Unreachable, TimedOut.
  static Result<std::unique_ptr<BenchCluster>> start(const BenchClusterOptions& options);
  ~BenchCluster();

  client::Session& session();
  /// The costs of every process, ours first.
  std::vector<ProcessCost> costs() const;
  /// Bytes to and from the supervisor since it began; Unsupported when embedded.
  Result<WireBytes> wire_bytes() const;

 private:
  BenchCluster() = default;
  Result<void> start_processes(const BenchClusterOptions& options);
  Result<void> wait_for_workers(std::uint32_t count);

  std::string directory_;
  std::vector<std::pair<std::string, Process>> processes_;
  std::unique_ptr<client::Session> remote_;
  std::unique_ptr<client::EmbeddedCluster> embedded_;
  std::unique_ptr<IdleWorkers> idle_;
};

/// Waits for the end of a job; `Cancelled` when a stop signal comes, so that the caller can end the processes that it
/// started.
Result<JobState> wait_unless_stopped(client::Session& session, StopSignals& stop_signals, JobId job);

}  // namespace penstock::tools
