// Very many queued jobs of one subtask: what one more costs, what the first page of `jobs` costs, and what each takes.
#pragma once

#include "tools/bench/bench_cluster.hpp"
#include "tools/bench/bench_figures.hpp"

namespace penstock::tools {

struct QueuedJobsOptions {
  BenchClusterOptions cluster;
  std::uint32_t jobs = 100'000;
  std::string preset;            ///< A policy of one pool; empty: none.
  std::uint32_t submitters = 4;  ///< Threads that submit at once, each the next job when the one before is accepted.
};

/// Fills all slots with programs that do not end, and submits jobs of one subtask behind them: three of four fit a
/// worker, the fourth one asks for more memory than any has. Meanwhile the submitting threads ask for the first page of
/// `jobs`. Errors: InvalidArgument; those of the cluster and of submissions.
Result<Value> measure_queued_jobs(const QueuedJobsOptions& options, StopSignals& stop_signals);

}  // namespace penstock::tools
