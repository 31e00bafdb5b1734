#include "supervisor/core/placement/placement_costs.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Two workers of one band each; subtask 0 is read by subtask 1. The link has 1 ms and a million bytes a second.
class PlacementCostsTest : public ::testing::Test {
 protected:
  PlacementCostsTest() {
    config.link_latency = milliseconds{1};
    config.link_bytes_per_second = 1'000'000;
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.bands.emplace_back().capacity.slots = MilliSlots{2000};
      description.bands.back().capacity.memory = Bytes{1'000'000};
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
    job.id = JobId{1};
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    job.graph.templates.resize(shape->graph().templates.size());
  }
  BandSlot band(std::uint32_t number) { return workers[workers.find(WorkerId{number})].bands.front(); }
  void made_on(std::uint32_t number, std::int64_t bytes) {
    job.hot[0].phase = SubtaskPhase::Succeeded;
    job.hot[0].band = band(number);
    job.data.open(*shape);
    job.data.set_bytes(*shape, 0, 0, bytes);
  }

  SupervisorConfig config;
  WorkerTable workers;
  PlacementCosts costs{config, workers};
  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.chain(2).build());
  Job job;
};

TEST_F(PlacementCostsTest, InputsOfAnotherWorkerTakeTheTimeOfTheLink) {
  made_on(1, 3000);
  EXPECT_EQ(costs.movement_ns(job, 1, band(1)), 0);
  EXPECT_EQ(costs.movement_ns(job, 1, band(2)), Duration{milliseconds{4}}.count());
}

TEST_F(PlacementCostsTest, SumsOfImpossibleSizesStayNumbers) {
  made_on(1, INT64_MAX);
  const std::int64_t cost = costs.movement_ns(job, 1, band(2));
  EXPECT_GT(cost, Duration{std::chrono::hours{24 * 365}}.count());
  EXPECT_LT(cost, INT64_MAX / 8);
}

TEST_F(PlacementCostsTest, ADurationIsAsGivenOrAsSeenOrAGuess) {
  config.lookahead = milliseconds{20};
  config.lookahead_subtasks_initial = 10;
  EXPECT_EQ(costs.estimate_ns(job, 0), 2'000'000U);
  job.graph.templates[0].runs = 3;
  job.graph.templates[0].mean_ns = 5000;
  EXPECT_EQ(costs.estimate_ns(job, 0), 5000U);
  job.graph.templates[0].mean_ns = 1;
  EXPECT_EQ(costs.estimate_ns(job, 0), 100U) << "nothing takes no time";
}

TEST_F(PlacementCostsTest, AQueueTakesItsDurationsDividedByTheSlots) {
  job.graph.templates[0].runs = 1;
  job.graph.templates[0].mean_ns = 1000;
  workers[band(1)].in_flight = 3;
  workers[band(1)].ready_here = 5;
  EXPECT_EQ(costs.queue_ns(job, 0, band(1)), 8 * 1000 / 2);
  EXPECT_LT(PlacementCosts::waiting_ns(UINT64_MAX, 1000, 1), INT64_MAX / 8) << "saturates";
}

TEST_F(PlacementCostsTest, ABandWithNearlyFullMemoryIsAvoided) {
  BandEntry& entry = workers[band(1)];
  entry.load.store_used = Bytes{800'000};
  EXPECT_FALSE(PlacementCosts::is_pressed(entry));
  entry.load.quota_used = Bytes{100'000};
  EXPECT_TRUE(PlacementCosts::is_pressed(entry));
  EXPECT_EQ(costs.pressure_ns(band(1)), 0) << "until its load is noted";
  entry.pressed = true;
  EXPECT_EQ(costs.pressure_ns(band(1)), Duration{std::chrono::seconds{1}}.count());
}

TEST_F(PlacementCostsTest, TheCheapestBandWinsThenTheOneWithLessToDo) {
  const BandSlot both[] = {band(1), band(2)};
  made_on(2, 3000);
  EXPECT_EQ(costs.cheapest_of(job, 1, both), band(2));
  made_on(2, 0);
  job.hot[0].band = BandSlot::none();
  job.graph.templates[0].runs = 1;
  job.graph.templates[0].mean_ns = 1000;
  workers[band(2)].in_flight = 1;
  EXPECT_EQ(costs.cheapest_of(job, 1, both), band(1));
}

}  // namespace
}  // namespace penstock::supervisor
