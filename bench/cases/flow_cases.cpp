// Whole cores: the cost of one subtask from its submission to its last report.
#include "bench/cases/cases.hpp"
#include "bench/graphs/graphs.hpp"
#include "bench/rigs/cluster_rig.hpp"
#include "bench/rigs/jobs_rig.hpp"
#include "bench/rigs/supervisor_rig.hpp"

namespace penstock::bench {
namespace {

template <Shape kShape>
std::uint64_t intake(std::uint64_t count, Meter& meter) {
  Graph graph = build_graph(kShape, static_cast<std::uint32_t>(count), 100);
  const std::uint64_t subtasks = graph.size();
  supervisor::GraphIntake checks{GraphLimits{}};
  meter.resume();
  const Result<void> added = checks.add(std::move(graph));
  const auto shape = checks.finish();
  meter.pause();
  PENSTOCK_CHECK(added && shape);
  return subtasks;
}

template <Shape kShape, std::uint32_t kWorkers, std::uint32_t kReports>
std::uint64_t supervise(std::uint64_t count, Meter& meter) {
  RigOptions options;
  options.workers = kWorkers;
  options.reports_per_turn = kReports;
  Meter unused{Meter::Counting::Off};
  SupervisorRig rig{options, SupervisorRig::Meters{unused, meter}};
  Graph graph = build_graph(kShape, static_cast<std::uint32_t>(count), 100);
  const std::uint64_t subtasks = graph.size();
  rig.submit(std::move(graph));
  rig.finish();
  return subtasks;
}

template <Shape kShape, std::uint32_t kWorkers>
std::uint64_t work(std::uint64_t count, Meter& meter) {
  RigOptions options;
  options.workers = kWorkers;
  Meter unused{Meter::Counting::Off};
  ClusterRig rig{options, ClusterRig::Meters{unused, meter}};
  Graph graph = build_graph(kShape, static_cast<std::uint32_t>(count), 100);
  const std::uint64_t subtasks = graph.size();
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  rig.run(std::move(graphs));
  return subtasks;
}

// One job ends and another one is submitted while `kQueued` jobs wait: the cost must not depend on their number.
template <std::uint32_t kQueued>
std::uint64_t queue_jobs(std::uint64_t count, Meter& meter) {
  Meter unused{Meter::Counting::Off};
  JobsRig rig{2, 2, false, unused};
  for (std::uint32_t i = 0; i < kQueued; ++i) rig.submit();
  rig.count_on(meter);
  for (std::uint64_t i = 0; i < count; ++i) rig.end_one(), rig.submit_one_that_fits();
  return count;
}

constexpr Case kCases[] = {
    {"graph_intake/flat", intake<Shape::Flat>},
    {"graph_intake/stencil", intake<Shape::Stencil>},
    {"graph_intake/tree", intake<Shape::Tree>},
    {"supervisor_core/flat", supervise<Shape::Flat, 2, 4096>},
    {"supervisor_core/chain", supervise<Shape::Chain, 2, 4096>},
    {"supervisor_core/stencil", supervise<Shape::Stencil, 2, 4096>},
    {"supervisor_core/tree", supervise<Shape::Tree, 2, 4096>},
    {"supervisor_core/flat_1000_workers", supervise<Shape::Flat, 1000, 4>},
    {"supervisor_core/job_of_1000", queue_jobs<1000>},
    {"supervisor_core/job_of_10000", queue_jobs<10000>},
    {"worker_core/flat", work<Shape::Flat, 1>},
    {"worker_core/chain", work<Shape::Chain, 1>},
    {"worker_core/stencil", work<Shape::Stencil, 1>},
    {"worker_core/tree", work<Shape::Tree, 1>},
};

}  // namespace

std::span<const Case> flow_cases() { return kCases; }

}  // namespace penstock::bench
