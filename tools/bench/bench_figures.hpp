// The figures of a benchmark, from the traces of a job and the times of a client. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "client/src/session.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::tools {

/// Median, 99th percentile and maximum of times in microseconds.
struct Percentiles {
  std::uint64_t count = 0;
  double p50_us = 0;
  double p99_us = 0;
  double max_us = 0;
};
Percentiles percentiles_of(std::vector<std::uint64_t> times_us);
Value to_value(const Percentiles& percentiles);
/// The same of times in seconds.
Percentiles percentiles_of_seconds(const std::vector<double>& times_s);

/// Progress that a client had received at some time.
struct NewsPoint {
  double seconds = 0;
  std::uint64_t succeeded = 0;
};

/// Subtasks a second among the first and among the last few of a job, by the client's news.
struct EdgeRates {
  double first_per_s = 0;
  double last_per_s = 0;
};
/// Between two news subtasks count as ending evenly. The first subtasks begin with the first news: the time before is
/// the start of the job. Both 0 for a job that is too short to have two ends of `edge` subtasks. News come some
/// milliseconds apart: rates over a shorter time say little.
EdgeRates edge_rates(const std::vector<NewsPoint>& news, std::uint64_t edge);

/// The waits of successors after their last predecessor's end.
struct SuccessorTimes {
  std::vector<std::uint64_t> forwarded_us;           ///< The successor was on the worker already.
  /// The successor was sent after that end, or that end was on another worker.
  std::vector<std::uint64_t> through_supervisor_us;
};
/// Adds the times of one job. All workers of a benchmark are on one host, so their clocks may be compared.
void add_successor_times(const Graph& graph, const std::vector<SubtaskTrace>& traces, SuccessorTimes& times);

double median_of(std::vector<double> values);

}  // namespace penstock::tools
