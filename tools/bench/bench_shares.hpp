// Several jobs at once under a policy: the cost of dividing a cluster, and whether it is divided as configured.
#pragma once

#include <vector>

#include "tools/bench/bench_cluster.hpp"
#include "tools/bench/bench_figures.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock::tools {

struct SharesOptions {
  BenchClusterOptions cluster;
  std::vector<std::uint32_t> weights{3, 2, 1};  ///< One job for each, of about the same size.
  ShapeOptions shape;                           ///< Of all jobs together.
  std::string preset = "fair_share";
  std::uint32_t repeat = 3;
};

/// The progress of one of several jobs while all of them ran.
struct JobsShare {
  std::uint64_t succeeded = 0;
  double share = 0;
};
struct CommonTime {
  double seconds = 0;  ///< From the first result of the last of them to the last result of the first.
  std::vector<JobsShare> jobs;
};
/// From the news of each job; `seconds` is 0 if they did not run at one time. Between two news subtasks end evenly.
CommonTime common_time(const std::vector<std::vector<NewsPoint>>& news);

/// Runs in turn one job, and the jobs at once, without a policy and under it. Each kind has its own cluster, and one
/// run of each is not counted. Errors: InvalidArgument; those of the cluster and of the jobs.
Result<Value> measure_shares(const SharesOptions& options, StopSignals& stop_signals);

}  // namespace penstock::tools
