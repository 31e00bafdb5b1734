#include "supervisor/core/placement/eligibility.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

/// Three workers of one band each: two with CPU slots, and one with a device.
class EligibilityTest : public ::testing::Test {
 protected:
  EligibilityTest() {
    add(1, BandKind::Cpu);
    add(2, BandKind::Cpu);
    add(3, BandKind::Gpu);
    shape = shape_of(GraphBuilder{}.sources(2).build());
    graph.eligible.resize(shape->graph().templates.size());
    job.id = JobId{1};
    job.graph.shape = shape.get();
    job.graph.shared = &graph;
    job.hot.resize(shape->size());
  }
  void add(std::uint32_t number, BandKind kind) {
    Register description;
    description.name = "worker-" + std::to_string(number);
    BandDescription& band = description.bands.emplace_back();
    band.kind = kind;
    band.capacity.slots = MilliSlots{4000};
    band.capacity.memory = Bytes{1000};
    workers.add(WorkerId{number}, Incarnation{number}, description);
  }
  BandSlot band(std::uint32_t number) { return workers[workers.find(WorkerId{number})].bands.front(); }
  /// The numbers of the workers that may run the only template.
  std::vector<std::uint32_t> eligible() {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 1; i <= 3; ++i)
      if (workers.find(WorkerId{i}).valid() && eligibility.may_run_on(job, 0, band(i))) numbers.push_back(i);
    eligibility.validate(job);
    return numbers;
  }
  bool suits(const Template& wanted, std::uint32_t number) {
    return eligibility.is_eligible(wanted, workers[band(number)]);
  }
  using Numbers = std::vector<std::uint32_t>;

  WorkerTable workers;
  Eligibility eligibility{workers};
  std::unique_ptr<GraphShape> shape;
  SharedGraph graph;
  Job job;
};

TEST_F(EligibilityTest, ABandHasWhatTheTemplateRequires) {
  Template wanted;
  EXPECT_TRUE(suits(wanted, 1));
  EXPECT_FALSE(suits(wanted, 3)) << "a device is not for what wants none";
  wanted.request.slots = MilliSlots{4001};
  EXPECT_FALSE(suits(wanted, 1));
  wanted.request.slots = MilliSlots{4000};
  wanted.request.memory = Bytes{1001};
  EXPECT_FALSE(suits(wanted, 1));
}

TEST_F(EligibilityTest, ANativeTemplateRunsWhereItsOperatorIs) {
  Template wanted;
  wanted.runner = RunnerKind::Native;
  wanted.program = "square";
  EXPECT_TRUE(suits(wanted, 1)) << "a worker that names no operators is asked";
  workers[workers.find(WorkerId{1})].description.operators = {"cube"};
  EXPECT_FALSE(suits(wanted, 1));
  workers[workers.find(WorkerId{1})].description.operators.push_back("square");
  EXPECT_TRUE(suits(wanted, 1));
}

TEST_F(EligibilityTest, TheSetFollowsBandsThatComeAndGo) {
  EXPECT_EQ(eligible(), (Numbers{1, 2}));
  EXPECT_TRUE(eligibility.bands_of(job, 0).everywhere);
  workers[band(2)].draining = true;
  workers.touch(band(2));
  EXPECT_FALSE(eligibility.bands_of(job, 0).bands.contains(band(2).value()));
  workers[band(2)].draining = false;
  workers.touch(band(2));
  workers[band(1)].description.capacity.slots = MilliSlots{1};
  workers.touch(band(1));
  EXPECT_EQ(eligible(), Numbers{2});
  EXPECT_FALSE(eligibility.bands_of(job, 0).everywhere);
  EXPECT_TRUE(eligibility.bands_of(job, 0).misfits.contains(band(1).value()));
}

TEST_F(EligibilityTest, ABandThatWasTriedCountsUntilBandsChange) {
  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{1}];
  history.tried = {band(2)};
  history.tried_epoch = workers.epoch();
  EXPECT_TRUE(eligibility.was_tried(job, 1, band(2)));
  EXPECT_FALSE(eligibility.was_tried(job, 1, band(1)));
  EXPECT_FALSE(eligibility.was_tried(job, 0, band(2)));
  workers.touch(band(1));
  EXPECT_FALSE(eligibility.was_tried(job, 1, band(2)));
}

TEST_F(EligibilityTest, ALargerAttemptNeedsAWorkerThatKnowsLargerTemplates) {
  EXPECT_TRUE(eligibility.has_memory_for(job, 0, band(1))) << "it is not larger";
  EXPECT_FALSE(eligibility.knows_larger(workers[band(1)]));
  workers[workers.find(WorkerId{1})].description.barriers = true;
  EXPECT_TRUE(eligibility.knows_larger(workers[band(1)]));
  EXPECT_EQ(Eligibility::memory_limit_of(workers[band(1)]), Bytes{1000});
  workers[band(1)].description.memory_hard_limit = Bytes{3000};
  EXPECT_EQ(Eligibility::memory_limit_of(workers[band(1)]), Bytes{3000});
}

TEST_F(EligibilityTest, AnAttemptWithMoreMemoryGoesWhereItHasRoom) {
  job.graph.larger_templates.edit().push_back(LargerTemplate{0, Bytes{2000}});
  job.extras.histories.edit()[SubtaskIndex{1}].larger = TemplateIndex{1};
  job.hot[1].flags |= SubtaskFlag::kTroubled;
  ASSERT_EQ(job.memory_of(1), Bytes{2000});
  workers[workers.find(WorkerId{1})].description.barriers = true;
  EXPECT_FALSE(eligibility.has_memory_for(job, 1, band(1))) << "1000 bytes are fewer than it asks for";
  workers[band(1)].description.memory_hard_limit = Bytes{2000};
  EXPECT_TRUE(eligibility.has_memory_for(job, 1, band(1)));
  workers[band(2)].description.memory_hard_limit = Bytes{2000};
  EXPECT_FALSE(eligibility.has_memory_for(job, 1, band(2))) << "its worker keeps the graph's template";
  EXPECT_TRUE(eligibility.has_memory_for(job, 0, band(2))) << "the other subtask asks for no more";
}

}  // namespace
}  // namespace penstock::supervisor
