// Three pools of a policed supervisor, and jobs that name several of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {

using Texts = std::vector<std::string>;

/// Pool `first` is worker 1, `second` worker 2, `rest` all others.
inline SupervisorConfig three_pools(const std::string& preset = "fair_share_max_min") {
  SupervisorConfig config = policed(preset);
  config.policy.pools = {{.name = "first", .preset = preset, .workers = {"worker-1"}},
                         {.name = "second", .preset = preset, .workers = {"worker-2"}},
                         {.name = "rest", .preset = preset}};
  if (preset == "priority")
    for (PoolConfig& pool : config.policy.pools) pool.preemption = true;
  return config;
}

/// Jobs of lists of pools under a policed supervisor.
class PoolFallbackHarness {
 public:
  explicit PoolFallbackHarness(const SupervisorConfig& config) : cluster{config} {}
  ~PoolFallbackHarness() { cluster.ignore(); }
  PoolFallbackHarness(const PoolFallbackHarness&) = delete;
  PoolFallbackHarness& operator=(const PoolFallbackHarness&) = delete;

  JobId submit(JobPolicy policy, std::uint32_t subtasks, std::uint32_t slots = 1, BandSelector required = {}) {
    GraphBuilder builder;
    builder.template_at(0).request.slots = kOneSlot * slots;
    builder.template_at(0).required = std::move(required);
    JobSpec spec;
    spec.name = "job " + std::to_string(++jobs_);
    spec.policy = std::move(policy);
    const JobId id = cluster.submit(builder.sources(subtasks).build(), spec);
    if (id.valid()) cluster.settle(4);
    return id;
  }
  std::string refused(JobPolicy policy, std::uint32_t slots = 1, BandSelector required = {}) {
    if (submit(std::move(policy), 1, slots, std::move(required)).valid()) return "accepted";
    return to_string(cluster.refusal());
  }
  /// `first here`, or `first: why not`.
  Lines pools_of(JobId job) {
    Lines lines;
    const Result<Value> answer = cluster.ask("explain", {to_string(job)});
    EXPECT_TRUE(answer.has_value());
    if (const Value::List* rows = (*answer)["pools"].list())
      for (const Value& row : *rows)
        lines.push_back(*row["pool"].text() + (row["here"] == Value{true}       ? " here"
                                               : row["held_by"].text()->empty() ? ""
                                                                                : ": " + *row["held_by"].text()));
    return lines;
  }

  PolicedSupervisor cluster;

 private:
  int jobs_ = 0;
};

}  // namespace penstock::supervisor
