// SupervisorCore: what a job wants of the cluster, as policy counts it.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name, std::int32_t priority = 0) {
  JobSpec spec;
  spec.name = name;
  spec.priority = priority;
  return spec;
}

/// Subtasks that may run on one worker only.
Graph pinned_to(const std::string& worker, std::uint32_t count) {
  Graph graph = GraphBuilder{}.sources(count).build();
  graph.templates[0].required = {worker, ""};
  return graph;
}

// Spec: a job that holds slots that it cannot use and wants others has neither.
TEST(PolicyDemand, WhatMustRunSomewhereGetsItsSlotsThere) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 1});
  supervisor.join({.slots = 1});
  supervisor.submit(pinned_to("worker-2", 40), named("a"));
  supervisor.submit(pinned_to("worker-1", 40), named("b"));
  supervisor.settle(4);
  const Lines assigned = supervisor.assigned();
  for (const std::string& line : assigned) EXPECT_TRUE(line.ends_with(line.starts_with("2:") ? "w1" : "w2")) << line;
  EXPECT_GE(assigned.size(), 2U);
  supervisor.ignore();
}

// Their sizes do not come out even with the band's, and there is no other job to take the rest.
TEST(PolicyDemand, AJobAloneIsNotLimitedByItsOwnSize) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 4});
  Graph graph = GraphBuilder{}.sources(8).build();
  graph.templates[0].request.slots = kOneSlot * 3;
  supervisor.submit(graph, named("a"));
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:all"});
  supervisor.ignore();
}

// Spec: policy-determined 3.1 and 11.1: 10 and 30 wanted of 8 slots give 2 and 6.
TEST(PolicyDemand, WhatIsWantedBeyondAllSlotsCountsInTheShare) {
  for (const auto& [preset, first, second] :
       {std::tuple{"fair_share", "w1:2", "w1:6"}, {"fair_share_max_min", "w1:4", "w1:4"}}) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.slots = 8});
    supervisor.submit(GraphBuilder{}.sources(10).build(), named("ten"));
    supervisor.submit(GraphBuilder{}.sources(30).build(), named("thirty"));
    supervisor.settle(4);
    EXPECT_EQ(supervisor.entitlements(1), Lines{first}) << preset;
    EXPECT_EQ(supervisor.entitlements(2), Lines{second}) << preset;
    supervisor.ignore();
  }
}

TEST(PolicyDemand, ALargeSubtaskWantsItsSlotsOnOneBand) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 2});
  supervisor.join({.slots = 2});
  Graph graph = GraphBuilder{}.sources(8).build();
  graph.templates[0].request.slots = kOneSlot * 2;
  supervisor.submit(graph, named("wide"));
  supervisor.submit(GraphBuilder{}.sources(40).build(), named("narrow"));
  supervisor.settle(5);
  const Lines wide = supervisor.entitlements(1);
  EXPECT_EQ(std::count_if(wide.begin(), wide.end(), [](const std::string& each) { return each.ends_with(":2"); }), 1);
  EXPECT_EQ(std::count_if(wide.begin(), wide.end(), [](const std::string& each) { return each.ends_with(":1"); }), 0);
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
