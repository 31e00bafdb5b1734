#include "supervisor/core/job_shares.hpp"

#include <gtest/gtest.h>
#include <malloc.h>  // tidy: allow arrows: what jobs take is what the allocator has given

#include "supervisor/core/supervisor_core.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::uint32_t kJobs = 2000;
// Of the 4,096 that a queued job may take; the rest is left to what the process and its journal take beside the core.
constexpr std::size_t kBytesMax = 2990;
constexpr std::size_t kBytesWithPolicyMax = 3610;

/// None under a sanitizer: its allocator does not say.
std::size_t allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

void handle(SupervisorCore& core, SupervisorEvent&& event) {
  Actions<SupervisorAction> actions;
  core.handle(std::move(event), instant_at(std::chrono::seconds{1}), actions);
}

void submit(SupervisorCore& core, std::uint32_t number) {
  JobSpec spec;
  spec.name = "queued-" + std::to_string(number);
  spec.owner = "ann";
  spec.wait_for_resources = true;
  Graph graph = GraphBuilder{}.add().build();
  if (number % 4 == 0) graph.templates[0].request.memory = kGiB * 1024;
  handle(core, supervisor_event::GraphChecked{ClientId{1}, number, std::move(spec), shape_of(graph), {}});
}

/// The memory of one of many queued jobs of one subtask.
std::size_t bytes_of_queued_job(const SupervisorConfig& config) {
  SupervisorCore core{config, Rng{1}};
  Register hello;
  hello.name = "worker-1";
  BandDescription& band = hello.bands.emplace_back();
  band.name = "numa-0";
  band.capacity.slots = kOneSlot;
  band.capacity.memory = band.memory_hard_limit = kGiB;
  handle(core, supervisor_event::WorkerJoined{WorkerId{1}, Incarnation{1}, hello});
  const std::size_t before = allocated_bytes();
  for (std::uint32_t number = 1; number <= kJobs; ++number) submit(core, number);
  EXPECT_EQ(core.counters().jobs_accepted, kJobs);
  return (allocated_bytes() - before) / kJobs;
}

// Issue 21, point 8.
TEST(JobShares, AQueuedJobOfOneSubtaskTakesLessThan4KiB) {
  if (allocated_bytes() == 0) GTEST_SKIP() << "the allocator does not say what it has given";
  EXPECT_LT(bytes_of_queued_job({}), kBytesMax);
  SupervisorConfig policed;
  policed.policy.pools.emplace_back().name = "all";
  policed.policy.pools.back().preset = "fair_share";
  EXPECT_LT(bytes_of_queued_job(policed), kBytesWithPolicyMax);
}

TEST(JobShares, OfBandsForWhichAJobHasNothingThereIsNothingToKnow) {
  KindShares kinds;
  const auto count = [&] {
    int found = 0;
    kinds.visit_own([&](KindShare&) { ++found; });
    return found;
  };
  EXPECT_EQ(kinds[0].unit_milli, 0U);
  EXPECT_EQ(count(), 0);
  kinds.edit(BandKind::Gpu).demand = 7;
  EXPECT_EQ(kinds[static_cast<std::size_t>(BandKind::Gpu)].demand, 7U);
  EXPECT_EQ(kinds[static_cast<std::size_t>(BandKind::Cpu)].demand, 0U);
  EXPECT_EQ(count(), 1);
}

TEST(JobShares, ACopyIsSharedUntilOneOfBothIsWrittenTo) {
  KindShares kinds;
  kinds.edit(BandKind::Cpu).demand = 7;
  KindShares copy = kinds;
  EXPECT_TRUE(copy.is_shared(BandKind::Cpu));
  EXPECT_EQ(&copy[0], &kinds[0]);
  copy.visit_own([](KindShare&) { FAIL() << "that is of another job, too"; });
  copy.edit(BandKind::Cpu).demand = 8;
  EXPECT_EQ(kinds[0].demand, 7U);
  EXPECT_EQ(copy[0].demand, 8U);
  EXPECT_FALSE(kinds.is_shared(BandKind::Cpu));
}

// Seed 130074657: two jobs left work on one band for the other's, and both bands were filled again for ever.
TEST(JobShares, ABandIsAskedOnceInARoundToTakeWhatIsLeftForIt) {
  const BandSlot here{4};
  JobShares shares;
  EXPECT_FALSE(shares.leave_for(here, BandSlot{7}, false, 1)) << "nothing of it could run yet";
  EXPECT_TRUE(shares.leave_for(here, BandSlot{7}, true, 1));
  EXPECT_FALSE(shares.leave_for(here, BandSlot{7}, true, 1));
  EXPECT_TRUE(shares.leave_for(here, BandSlot{8}, true, 1));
  EXPECT_TRUE(shares.leave_for(BandSlot{5}, BandSlot{7}, true, 1));
  EXPECT_TRUE(shares.leave_for(here, BandSlot{8}, true, 2));
  EXPECT_EQ(shares.left_for_others.size(), 2U);
}

}  // namespace
}  // namespace penstock::supervisor
