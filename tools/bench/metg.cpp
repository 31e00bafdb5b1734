#include "tools/bench/metg.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "cli/jobfile/amounts.hpp"
#include "common/host/clock.hpp"
#include "tools/bench/bench_figures.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock::tools {
namespace {

constexpr double kLongestNs = 1e6;
constexpr double kShortestNs = 100;
constexpr int kRunsPerPoint = 3;
constexpr double kEnough = 0.25;
/// Columns of the bars, for an efficiency of one.
constexpr int kBar = 50;

Result<double> time_of(client::Session& session, StopSignals& stop_signals, const ShapeOptions& shape,
                       const std::string& name) {
  Result<Graph> graph = make_graph(shape);
  if (!graph) return graph.error();
  JobSpec spec;
  spec.name = name;
  spec.keep = Keep::Nothing;
  const Instant begin = monotonic_now();
  const Result<client::Session::Submitted> submitted = session.submit(spec, std::move(graph).value());
  if (!submitted) return submitted.error();
  const Result<JobState> state = wait_unless_stopped(session, stop_signals, submitted->job);
  if (!state) return state.error();
  const Duration elapsed = monotonic_now() - begin;
  session.forget(submitted->job);
  if (*state != JobState::Succeeded) return Error{ErrorCode::Internal, name, "has not succeeded", {}};
  return std::chrono::duration<double>(elapsed).count();
}

Result<void> write_csv(const MetgCurve& curve, const std::string& path) {
  std::ofstream file{path};
  file << "pattern,burn_ns,seconds,efficiency\n";
  for (const MetgPoint& point : curve.points)
    file << curve.pattern << "," << point.burn_ns << "," << point.seconds << "," << point.efficiency << "\n";
  if (!file.flush()) return Error{ErrorCode::InvalidArgument, path, "cannot be written", "choose another path"};
  return {};
}

}  // namespace

Result<MetgCurve> measure_metg(const MetgOptions& options, StopSignals& stop_signals) {
  const Result<Shape> shape = parse_shape(options.pattern);
  if (!shape) return shape.error();
  Result<std::unique_ptr<BenchCluster>> cluster = BenchCluster::start(options.cluster);
  if (!cluster) return cluster.error();
  const std::uint32_t slots = options.cluster.slots_in_all();
  MetgCurve curve;
  curve.pattern = to_string(*shape);
  for (double burn_ns = kLongestNs; burn_ns >= kShortestNs; burn_ns /= 2) {
    ShapeOptions graph;
    graph.shape = *shape;
    graph.width = slots;
    graph.subtasks = slots * options.steps;
    graph.burn = Duration{static_cast<std::int64_t>(burn_ns)};
    std::vector<double> times;
    for (int run = 0; run < kRunsPerPoint; ++run) {
      const Result<double> time = time_of((*cluster)->session(), stop_signals, graph,
                                          "metg-" + std::to_string(burn_ns) + "-" + std::to_string(run));
      if (!time) return time.error();
      times.push_back(*time);
    }
    const double seconds = median_of(times);
    curve.points.push_back({burn_ns, seconds, burn_ns / 1e9 * graph.subtasks / slots / seconds});
    if (curve.points.back().efficiency < kEnough) break;
  }
  curve.metg_us = metg_of(curve.points) / 1e3;
  if (!options.csv_path.empty()) PENSTOCK_TRY(write_csv(curve, options.csv_path));
  return curve;
}

double metg_of(const std::vector<MetgPoint>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const MetgPoint& above = points[i - 1];
    const MetgPoint& below = points[i];
    if (above.efficiency < 0.5 || below.efficiency >= 0.5) continue;
    const double part = (above.efficiency - 0.5) / (above.efficiency - below.efficiency);
    return std::exp(std::log(above.burn_ns) + part * (std::log(below.burn_ns) - std::log(above.burn_ns)));
  }
  return 0;
}

Value to_value(const MetgCurve& curve) {
  Value::List points;
  for (const MetgPoint& point : curve.points)
    points.push_back(
        Value::Record{{"burn_ns", point.burn_ns}, {"seconds", point.seconds}, {"efficiency", point.efficiency}});
  return Value::Record{{"pattern", curve.pattern}, {"metg_50_us", curve.metg_us}, {"points", std::move(points)}};
}

std::string draw_metg(const MetgCurve& curve) {
  std::string text = "efficiency of subtasks by their length (" + curve.pattern + "); | is one half\n";
  for (const MetgPoint& point : curve.points) {
    std::string bar(kBar + 1, ' ');
    const int filled = std::clamp(static_cast<int>(point.efficiency * kBar), 0, kBar);
    std::fill_n(bar.begin(), filled, '#');
    bar[kBar / 2] = '|';
    const std::string length = cli::show_duration(Duration{static_cast<std::int64_t>(point.burn_ns)});
    text += std::string(length.size() < 10 ? 10 - length.size() : 0, ' ') + length + " " + bar + " " +
            cli::show_fixed(point.efficiency * 100, 1) + "%\n";
  }
  return text;
}

}  // namespace penstock::tools
