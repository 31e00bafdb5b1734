// The supervisor's core with up to 10,000 workers and 10,000,000 subtasks; prints one JSON line for each measurement.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "bench/graphs/graphs.hpp"
#include "bench/rigs/cluster_rig.hpp"
#include "bench/rigs/jobs_rig.hpp"
#include "bench/rigs/supervisor_rig.hpp"

namespace {

using namespace penstock;
using namespace penstock::bench;

std::uint32_t number(const char* text) {
  std::uint32_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

double per(Duration time, std::uint64_t count) {
  return static_cast<double>(time.count()) / static_cast<double>(count);
}

std::string_view name_of(Shape shape) { return to_string(shape); }

struct Setting {
  Shape shape = Shape::Flat;
  std::uint32_t subtasks = 1'000'000;
  std::uint32_t width = 1000;
};

void measure_supervisor(const Setting& setting, const RigOptions& options) {
  Meter intake;
  Meter core;
  SupervisorRig rig{options, SupervisorRig::Meters{intake, core}};
  Graph graph = build_graph(setting.shape, setting.subtasks, setting.width);
  const std::uint64_t subtasks = graph.size();
  rig.submit(std::move(graph));
  rig.finish();
  const double ns = per(core.elapsed(), subtasks);
  std::printf(
      "{\"rig\": \"supervisor\", \"shape\": \"%s\", \"subtasks\": %llu, \"width\": %u, \"workers\": %u, \"slots\": %u, "
      "\"reports_per_turn\": %u, \"events\": %llu, \"intake_ns\": %.1f, \"core_ns\": %.1f, \"decisions_per_s\": %.0f, "
      "\"virtual_ms\": %lld, \"moved_here\": %llu, \"steals_asked\": %llu}\n",
      name_of(setting.shape).data(), static_cast<unsigned long long>(subtasks), setting.width, options.workers,
      options.slots, options.reports_per_turn, static_cast<unsigned long long>(rig.events()),
      per(intake.elapsed(), subtasks), ns, 1e9 / ns, static_cast<long long>(rig.virtual_time().count() / 1'000'000),
      static_cast<unsigned long long>(rig.core().counters().moved_here),
      static_cast<unsigned long long>(rig.core().counters().steals_asked));
}

void measure_cluster(const Setting& setting, const RigOptions& options) {
  Meter supervisor;
  Meter workers;
  ClusterRig rig{options, ClusterRig::Meters{supervisor, workers}};
  std::vector<Graph> graphs;
  std::uint64_t subtasks = 0;
  for (std::uint32_t i = 0; i < options.jobs; ++i) {
    graphs.push_back(build_graph(setting.shape, setting.subtasks / options.jobs, setting.width));
    subtasks += graphs.back().size();
  }
  rig.run(std::move(graphs));
  const ClusterRig::Counts counts = rig.counts();
  std::printf(
      "{\"rig\": \"cluster\", \"shape\": \"%s\", \"subtasks\": %llu, \"width\": %u, \"workers\": %u, \"slots\": %u, "
      "\"jobs\": %u, \"policed\": %u, \"run_ns\": %u, \"supervisor_ns\": %.1f, \"worker_ns\": %.1f, "
      "\"forward_hits\": %llu, \"passes\": %llu, \"entitlements\": %llu, \"assign_batches\": %llu, "
      "\"report_sections\": %llu}\n",
      name_of(setting.shape).data(), static_cast<unsigned long long>(subtasks), setting.width, options.workers,
      options.slots, options.jobs, options.policed, options.run_ns, per(supervisor.elapsed(), subtasks),
      per(workers.elapsed(), subtasks), static_cast<unsigned long long>(counts.forward_hits),
      static_cast<unsigned long long>(counts.passes), static_cast<unsigned long long>(counts.entitlements),
      static_cast<unsigned long long>(counts.assign_batches), static_cast<unsigned long long>(counts.report_sections));
}

// The cost of a joining worker, and of a lost one, while a job runs on all of them.
void measure_membership(const Setting& setting, const RigOptions& options) {
  constexpr std::uint32_t kTimes = 100;
  Meter intake;
  Meter core;
  SupervisorRig rig{options, SupervisorRig::Meters{intake, core}};
  rig.submit(build_graph(setting.shape, setting.subtasks, setting.width));
  const Duration before = core.elapsed();
  for (std::uint32_t i = 0; i < kTimes; ++i) rig.join();
  const Duration joined = core.elapsed();
  const std::uint32_t losses = std::min(kTimes, options.workers / 2);
  for (std::uint32_t i = 0; i < losses; ++i) rig.lose(i);
  std::printf(
      "{\"rig\": \"membership\", \"shape\": \"%s\", \"subtasks\": %u, \"workers\": %u, \"join_us\": %.1f, "
      "\"lose_us\": %.1f}\n",
      name_of(setting.shape).data(), setting.subtasks, options.workers, per(joined - before, kTimes) / 1e3,
      per(core.elapsed() - joined, losses) / 1e3);
}

// The memory of a waiting subtask: few subtasks are assigned, so that messages and workers' queues do not count.
void measure_memory(const Setting& setting, RigOptions options) {
  options.lookahead_subtasks_max = 16;
  Meter intake;
  Meter core;
  SupervisorRig rig{options, SupervisorRig::Meters{intake, core}};
  Graph graph = build_graph(setting.shape, setting.subtasks, setting.width);
  const std::uint64_t subtasks = graph.size();
  const std::size_t bytes = rig.submit(std::move(graph));
  std::printf(
      "{\"rig\": \"memory\", \"shape\": \"%s\", \"subtasks\": %llu, \"width\": %u, \"workers\": %u, "
      "\"bytes_per_subtask\": %.1f}\n",
      name_of(setting.shape).data(), static_cast<unsigned long long>(subtasks), setting.width, options.workers,
      static_cast<double>(bytes) / static_cast<double>(subtasks));
}

// Queued jobs of one subtask: the cost of one more, of an end, and of the first page of `jobs`, and the memory of each.
void measure_jobs(const Setting& setting, const RigOptions& options) {
  Meter core;
  JobsRig rig{options.workers, options.slots, options.policed != 0, core};
  const std::size_t bytes = JobsRig::allocated_bytes();
  const auto p99_us = [&](std::size_t first) {
    std::vector<Duration> costs(rig.costs().begin() + static_cast<std::ptrdiff_t>(first), rig.costs().end());
    std::sort(costs.begin(), costs.end());
    return costs.empty() ? 0.0 : static_cast<double>(costs[costs.size() * 99 / 100].count()) / 1e3;
  };
  std::size_t first = rig.costs().size();
  for (std::uint32_t i = 0; i < setting.subtasks; ++i) rig.submit();
  const double submit_us = p99_us(first);
  const std::size_t taken = JobsRig::allocated_bytes() - bytes - (rig.costs().capacity() * sizeof(Duration));
  first = rig.costs().size();
  for (int i = 0; i < 200; ++i) rig.end_one();
  const double end_us = p99_us(first);
  first = rig.costs().size();
  for (int i = 0; i < 200; ++i) rig.list();
  std::printf(
      "{\"rig\": \"jobs\", \"jobs\": %u, \"workers\": %u, \"policed\": %u, \"submit_p99_us\": %.1f, "
      "\"end_p99_us\": %.1f, \"list_p99_us\": %.1f, \"core_ms\": %.1f, \"bytes_per_job\": %.0f}\n",
      setting.subtasks, options.workers, options.policed, submit_us, end_us, p99_us(first),
      static_cast<double>(core.elapsed().count()) / 1e6, static_cast<double>(taken) / setting.subtasks);
}

int usage() {
  std::fprintf(stderr,
               "usage: bench_scale supervisor|cluster|jobs|membership|memory [--shape NAME] [--subtasks N] [--width N] "
               "[--workers N] "
               "[--slots N] [--reports N] [--together N] [--jobs N] [--policed 0|1] [--run-ns N] [--repeat N]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) return usage();
  Setting setting;
  RigOptions options;
  std::uint32_t repeat = 1;
  for (int i = 2; i < argc; i += 2) {
    const std::string_view name{argv[i]};
    const std::uint32_t value = number(argv[i + 1]);
    if (name == "--shape" && parse_shape(argv[i + 1]))
      setting.shape = *parse_shape(argv[i + 1]);
    else if (name == "--subtasks")
      setting.subtasks = value;
    else if (name == "--width")
      setting.width = value;
    else if (name == "--workers")
      options.workers = value;
    else if (name == "--slots")
      options.slots = value;
    else if (name == "--reports")
      options.reports_per_turn = value;
    else if (name == "--together")
      options.messages_together_max = value;
    else if (name == "--jobs" && value > 0)
      options.jobs = value;
    else if (name == "--policed")
      options.policed = value;
    else if (name == "--run-ns")
      options.run_ns = value;
    else if (name == "--repeat")
      repeat = value;
    else
      return usage();
  }
  const std::string_view what{argv[1]};
  for (std::uint32_t i = 0; i < repeat; ++i) {
    if (what == "supervisor")
      measure_supervisor(setting, options);
    else if (what == "cluster")
      measure_cluster(setting, options);
    else if (what == "membership")
      measure_membership(setting, options);
    else if (what == "jobs")
      measure_jobs(setting, options);
    else if (what == "memory")
      measure_memory(setting, options);
    else
      return usage();
    std::fflush(stdout);
  }
  return 0;
}
