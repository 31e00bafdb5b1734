// Words for tests of what docs/policy.md promises, on the production cores in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/graph_builder.hpp"
#include "tools/policy/live/live_cluster.hpp"

namespace penstock::tools {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

inline SupervisorConfig config_of(const std::string& preset) {
  SupervisorConfig config;
  config.policy.pools.push_back({.name = "all", .preset = preset});
  config.policy.period = 100ms;
  return config;
}

inline Register cpu_worker(const std::string& name, std::int64_t slots) {
  Register description;
  description.name = description.host = name;
  description.labels = {name};
  BandDescription& band = description.bands.emplace_back();
  band.name = "numa-0";
  band.capacity.slots = kOneSlot * slots;
  band.capacity.cpu = MilliCpu{1000} * slots;
  return description;
}

inline Register gpu_worker(const std::string& name, std::size_t count) {
  Register description;
  description.name = description.host = name;
  description.labels = {name};
  for (std::size_t i = 0; i < count; ++i) {
    BandDescription& band = description.bands.emplace_back();
    band.kind = BandKind::Gpu;
    band.name = "gpu-" + std::to_string(i);
    band.capacity.slots = kOneSlot;
    band.capacity.gpu = MilliGpu{1000};
  }
  return description;
}

/// All GPUs are one band.
inline Register gpu_host(const std::string& name, std::int64_t count) {
  Register description = gpu_worker(name, 1);
  BandDescription& band = description.bands.front();
  band.name = "gpus";
  band.capacity.slots = kOneSlot * count;
  band.capacity.gpu = MilliGpu{1000} * count;
  for (std::int64_t i = 0; i < count; ++i) band.devices.push_back({"GPU-" + std::to_string(i), "", "", Bytes{}, 0, 0});
  return description;
}

struct Wish {
  std::string name;
  std::uint32_t subtasks = 1;
  std::string project{};
  std::int64_t milli = 1000;
  bool on_gpu = false;
  std::int32_t priority = 0;
  std::int64_t weight = 0;
  std::uint32_t gang = 0;
  JobKind kind = JobKind::Training;
  std::vector<std::string> pools{};
  std::vector<std::string> labels{};
  bool waits_for_resources = false;
  std::string owner{};
  Duration time_limit{0};
  std::string qos{};
  std::string queue{};
  std::uint32_t user_factor = kUserFactorMax;
  std::uint32_t gang_max = 0;
  std::string together{};
  std::uint32_t gang_groups = 0;
};

/// More subtasks of a job, which want another number of slots.
struct OtherShape {
  std::uint32_t subtasks = 0;
  std::int64_t milli = 0;
};

inline JobId submit(LiveCluster& cluster, const Wish& wish, const OtherShape& other = {}) {
  JobSpec spec;
  spec.name = wish.name;
  spec.keep = Keep::Nothing;
  spec.owner = wish.owner;
  spec.priority = wish.priority;
  spec.policy.project = wish.project;
  spec.policy.weight = wish.weight;
  spec.policy.gang = wish.gang;
  spec.policy.gang_max = wish.gang_max;
  spec.policy.together = wish.together;
  spec.policy.gang_groups = wish.gang_groups;
  spec.policy.kind = wish.kind;
  spec.policy.pools = wish.pools;
  spec.policy.labels = wish.labels;
  spec.policy.qos = wish.qos;
  spec.policy.queue = wish.queue;
  spec.policy.user_factor = wish.user_factor;
  spec.wait_for_resources = wish.waits_for_resources;
  spec.time_limit = wish.time_limit;
  GraphBuilder builder;
  builder.sources(wish.subtasks);
  for (std::uint32_t i = 0; i < other.subtasks; ++i) builder.add({}, 1);
  Graph graph = builder.build();
  for (std::size_t i = 0; i < graph.templates.size(); ++i) {
    const std::int64_t milli = i == 0 ? wish.milli : other.milli;
    graph.templates[i].request.slots = MilliSlots{milli};
    if (wish.on_gpu) graph.templates[i].request.gpu = MilliGpu{milli};
  }
  const SubmitReply reply = cluster.submit(std::move(spec), graph);
  EXPECT_TRUE(reply.job.valid()) << to_string(reply.refusal);
  return reply.job;
}

inline std::size_t running(const LiveCluster& cluster, JobId job) {
  return static_cast<std::size_t>(std::count_if(cluster.runs().begin(), cluster.runs().end(),
                                                [job](const auto& run) { return run.first.job == job; }));
}

inline std::string place_of(const LiveCluster& cluster, JobId job) {
  for (const auto& [subtask, run] : cluster.runs())
    if (subtask.job == job) return cluster.name_of(run.worker);
  return "";
}

inline std::uint64_t preemptions(const LiveCluster& cluster) { return cluster.core().policy().preemptions; }

}  // namespace penstock::tools
