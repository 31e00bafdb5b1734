// One measured job: submitted, followed to its end, checked.
#pragma once

#include <vector>

#include "common/protocol/graph.hpp"
#include "tools/bench/bench_cluster.hpp"
#include "tools/bench/bench_figures.hpp"

namespace penstock::tools {

enum class Submission : std::uint8_t { Whole, Again };
enum class Tracing : std::uint8_t { Off, On };

struct BenchRunOptions {
  Submission submission = Submission::Whole;
  Tracing tracing = Tracing::Off;
};

/// One job, from the call of submit to its last result.
struct BenchRun {
  double accept_s = 0;
  double total_s = 0;
  double first_start_s = 0;  ///< From the call of submit to the first start; traced runs only.
  std::vector<NewsPoint> news;
  client::JobView view;
};

/// Error: Internal when not all subtasks succeeded; Cancelled; those of the session.
Result<BenchRun> run_once(client::Session& session, StopSignals& stop_signals, const Graph& graph,
                          const BenchRunOptions& options);

}  // namespace penstock::tools
