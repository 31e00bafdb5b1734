// Very many queued jobs of one subtask: the cost of one more, of the first page of `jobs`, and the memory of each.
#pragma once

#include "tools/bench/bench_cluster.hpp"
#include "tools/bench/bench_figures.hpp"

namespace penstock::tools {

struct QueuedJobsOptions {
  BenchClusterOptions cluster;
  std::uint32_t jobs = 100'000;
  std::string preset;            ///< A policy of one pool; empty: none.
  /// Threads that submit at once; each submits the next job when the one before is accepted.
  std::uint32_t submitters = 4;
};

/// Fills all slots with endless programs, and submits jobs of one subtask behind them: three of four fit a worker, the
/// fourth asks for more memory than any worker has. Meanwhile the submitting threads ask for the first page of `jobs`.
/// Errors: InvalidArgument; those of the cluster and of submissions.
Result<Value> measure_queued_jobs(const QueuedJobsOptions& options, StopSignals& stop_signals);

}  // namespace penstock::tools
