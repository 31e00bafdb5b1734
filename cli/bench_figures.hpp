// What a benchmark measures, from the traces of a job and the times of a client. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "client/src/session.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::cli {

/// Median, 99th percentile and maximum of times in microseconds.
struct Percentiles {
  std::uint64_t count = 0;
  double p50_us = 0;
  double p99_us = 0;
  double max_us = 0;
};
Percentiles percentiles_of(std::vector<std::uint64_t> times_us);
Value to_value(const Percentiles& percentiles);

/// How long successors waited after their last predecessor's end.
struct SuccessorDelays {
  Percentiles forwarded;           ///< The successor was on the worker already.
  Percentiles through_supervisor;  ///< It was sent after that end.
};
/// Only pairs that ran on one worker: clocks of two hosts are not compared.
SuccessorDelays successor_delays(const Graph& graph, const std::vector<SubtaskTrace>& traces);

double median_of(std::vector<double> values);

}  // namespace penstock::cli
