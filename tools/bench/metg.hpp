// METG(50%): the minimum effective granularity of Task Bench (Slaughter et al., SC 2020). (tidy: foreign)
#pragma once

#include <string>
#include <vector>

#include "tools/bench/bench_cluster.hpp"

namespace penstock::tools {

struct MetgOptions {
  BenchClusterOptions cluster;
  std::string pattern = "stencil";
  std::uint32_t steps = 1000;
  std::string csv_path;  ///< Empty: not written.
};

/// Subtasks of `burn_ns` each, as wide as there are slots; efficiency is their time divided by that of the slots.
struct MetgPoint {
  double burn_ns = 0;
  double seconds = 0;
  double efficiency = 0;
};

struct MetgCurve {
  std::string pattern;
  std::vector<MetgPoint> points;  ///< From long subtasks to short ones.
  double metg_us = 0;             ///< Where the curve crosses one half, interpolated; 0: it did not.
};

/// Halves the subtasks' length until less than a quarter of the slots' time is useful. Errors: of the cluster, or
/// InvalidArgument.
Result<MetgCurve> measure_metg(const MetgOptions& options, StopSignals& stop_signals);
/// The crossing of efficiency through one half, between neighbouring points on a logarithmic scale; 0: none. Pure.
double metg_of(const std::vector<MetgPoint>& points);
Value to_value(const MetgCurve& curve);
/// Draws the curve as text.
std::string draw_metg(const MetgCurve& curve);

}  // namespace penstock::tools
