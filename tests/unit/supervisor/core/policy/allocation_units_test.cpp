// SupervisorCore: parts of devices, memory and processors are divided by what runs take, slots by whole ones.
#include <gtest/gtest.h>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPresets[] = {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};

/// So many subtasks that ask for the same.
Graph asking(std::uint32_t count, const ResourceVector& request) {
  GraphBuilder builder;
  builder.template_at(0).request = request;
  return builder.sources(count).build();
}

ResourceVector part_of_device(std::int64_t milli) { return {.slots = MilliSlots{milli}, .gpu = MilliGpu{milli}}; }

ResourceVector one_slot_with(Bytes memory) { return {.slots = kOneSlot, .memory = memory}; }

JobSpec named(const std::string& name, const std::string& project = {}) {
  JobSpec spec;
  spec.name = name;
  spec.policy.project = project;
  return spec;
}

std::size_t given_to(const Lines& assigned, const std::string& prefix) {
  return static_cast<std::size_t>(std::count_if(assigned.begin(), assigned.end(),
                                                [&](const std::string& line) { return line.starts_with(prefix); }));
}

TEST(AllocationUnits, TwoJobsOfHalfADeviceShareIt) {
  for (const char* preset : kPresets) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.bands = 0, .gpus = 1});
    for (const char* name : {"a", "b"}) supervisor.submit(asking(1, part_of_device(500)), named(name));
    supervisor.settle(3);
    const Lines assigned = supervisor.assigned();
    EXPECT_EQ(given_to(assigned, "2:"), 1U) << preset;
    EXPECT_EQ(assigned.size(), 2U) << preset;
    supervisor.ignore();
  }
}

TEST(AllocationUnits, JobsOfQuartersShareADeviceByHalves) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.bands = 0, .gpus = 1});
  for (const char* name : {"a", "b"}) supervisor.submit(asking(20, part_of_device(250)), named(name));
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:500m"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:500m"});
  supervisor.ignore();
}

// Found by the simulator (seed 130074657): a band of whole slots was counted where runs take parts of them.
TEST(AllocationUnits, AsManyAsCanRunAreSentHoweverFewAreSentAhead) {
  SupervisorConfig config = policed("quota");
  config.lookahead_subtasks_max = config.lookahead_subtasks_initial = 2;
  PolicedSupervisor supervisor{config};
  supervisor.join({.bands = 0, .gpus = 1});
  JobSpec capped = named("fifths");
  capped.policy.slots_max = 1;
  supervisor.submit(asking(9, part_of_device(200)), capped);
  supervisor.settle(3);
  EXPECT_EQ(supervisor.job(1).shares->of(BandSlot{0}).runs, 5U);
  EXPECT_GE(supervisor.assigned().size(), 5U);
  supervisor.ignore();
}

// One has a device for four of its runs, not one run for each slot.
TEST(AllocationUnits, WhoTakesQuartersHasFourOnADevice) {
  for (const char* preset : {"fair_share", "fair_share_max_min", "priority", "quota"}) {
    PolicedSupervisor supervisor{
        policed(preset, {{.name = "a", .guaranteed_gpu_slots = 1}, {.name = "b", .guaranteed_gpu_slots = 1}})};
    supervisor.join({.bands = 0, .gpus = 2});
    supervisor.submit(asking(4, part_of_device(250)), named("quarters", "a"));
    supervisor.submit(asking(9, part_of_device(1000)), named("wholes", "b"));
    supervisor.settle(5);
    std::int64_t quarters = 0;
    for (std::uint32_t band = 0; band < 2; ++band) {
      const BandShare share = supervisor.job(1).shares->of(BandSlot{band});
      quarters += share.entitled.value() / 250;
      EXPECT_TRUE(share.entitled.is_zero() || share.entitled == kOneSlot) << preset << ": packed on one device";
    }
    EXPECT_EQ(quarters, 4) << preset;
    supervisor.ignore();
  }
}

// Without a policy, too: however long they take, what a band may hold ahead is at least what runs there at once.
TEST(AllocationUnits, LongRunsOfQuartersFillTheirDevice) {
  SupervisorHarness supervisor;
  supervisor.join({.bands = 0, .gpus = 1});
  GraphBuilder builder;
  builder.template_at(0).request = part_of_device(250);
  builder.template_at(0).expected_duration = 1h;
  supervisor.submit(builder.sources(20).build());
  EXPECT_EQ(supervisor.assigned().size(), 6U) << "four and two ahead";
  supervisor.ignore();
}

// A tenth of the slots is nothing to others if half of the memory is gone.
TEST(AllocationUnits, DeviceMemoryCountsAsItsPartOfTheDevice) {
  for (const char* preset : kPresets) {
    PolicedSupervisor supervisor{policed(preset)};
    supervisor.join({.bands = 0, .gpus = 1, .device_memory = kGiB * 8});
    for (const char* name : {"a", "b", "c"})
      supervisor.submit(asking(1, {.slots = MilliSlots{100}, .device_memory = kGiB * 4}), named(name));
    supervisor.settle(3);
    EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:100m"}) << preset;
    EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:100m"}) << preset;
    EXPECT_EQ(supervisor.entitlements(3), Lines{}) << preset;
    supervisor.ignore();
  }
}

// As many slots are free as memory is not: both are guaranteed, or neither is of use.
TEST(AllocationUnits, WhatAProjectIsGuaranteedOfMemoryIsGivenBackToIt) {
  PolicedSupervisor supervisor{
      policed("quota", {{.name = "a", .guaranteed_slots = 3, .guaranteed_memory = kGiB * 6}, {.name = "b"}})};
  supervisor.join({.slots = 8, .memory = kGiB * 8});
  supervisor.submit(asking(4, one_slot_with(kGiB * 2)), named("b", "b"));
  supervisor.settle(2);
  for (std::uint32_t subtask = 0; subtask < 4; ++subtask) supervisor.say(1, subtask, Outcome::Started);
  supervisor.ignore();
  supervisor.submit(asking(3, one_slot_with(kGiB * 2)), named("a", "a"));
  std::size_t left = 0;
  for (int rounds = 0; rounds < 4; ++rounds) {
    supervisor.settle(3);
    for (const auto& [worker, order] : supervisor.take<CancelBatch>())
      for (const AttemptRef& attempt : order.attempts) {
        supervisor.say(1, attempt.subtask.value(), Outcome::Returned);
        ++left;
      }
  }
  EXPECT_EQ(left, 3U);
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:3"});
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:1"});
  supervisor.ignore();
}

TEST(AllocationUnits, AProjectHoldsNoMoreMemoryThanItsLimit) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a", .memory_max = kGiB * 3}})};
  supervisor.join({.slots = 8, .memory = kGiB * 8});
  supervisor.submit(asking(40, one_slot_with(kGiB)), named("a", "a"));
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:3"});
  const Result<Value> explained = supervisor.ask("explain", {"1"});
  EXPECT_EQ(*(*explained)["held_by"].text(),
            "limit of project 'a': with it, it would hold 4096 MiB of memory, and it may hold 3072 MiB of memory");
  supervisor.ignore();
}

// A slot is a slot, however much memory others ask for.
TEST(AllocationUnits, SlotsAreFreeForThoseWhoAskForNoMemory) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a"}, {.name = "b"}})};
  supervisor.join({.slots = 8, .memory = kGiB * 8});
  supervisor.submit(asking(40, one_slot_with(kGiB * 4)), named("a", "a"));
  supervisor.submit(asking(40, {.slots = kOneSlot}), named("b", "b"));
  supervisor.settle(4);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:2"});
  EXPECT_EQ(supervisor.entitlements(2), Lines{"w1:6"});
  supervisor.ignore();
}

TEST(AllocationUnits, AMixtureTakesNoMoreThanIsCountedForItsSlots) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a"}, {.name = "b"}})};
  supervisor.join({.slots = 8, .memory = kGiB * 8});
  GraphBuilder builder;
  builder.template_at(0).request = {.slots = MilliSlots{500}, .memory = kGiB};
  builder.template_at(1).request = {.slots = kOneSlot};
  for (std::uint32_t i = 0; i < 40; ++i) builder.add({}, i % 2);
  supervisor.submit(builder.build(), named("a", "a"));
  supervisor.submit(asking(40, one_slot_with(kGiB)), named("b", "b"));
  supervisor.settle(4);
  const AllocationUnit allocation_unit = supervisor.job(1).shares->kinds[0].allocation_unit;
  EXPECT_EQ(allocation_unit.milli, 1000U);
  EXPECT_EQ(allocation_unit.entitles, 1000U);
  EXPECT_EQ(allocation_unit.memory, kGiB * 2);
  supervisor.ignore();
}

TEST(AllocationUnits, WhoseMixtureNoBandCouldHoldStillHasItsTurn) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a"}, {.name = "b"}})};
  supervisor.join({.slots = 4, .memory = kGiB * 4});
  GraphBuilder builder;
  builder.template_at(0).request = {.slots = MilliSlots{10}, .memory = kGiB};
  builder.template_at(1).request = {.slots = kOneSlot};
  for (std::uint32_t i = 0; i < 8; ++i) builder.add({}, i % 2);
  supervisor.submit(builder.build(), named("a", "a"));
  supervisor.settle(2);
  EXPECT_EQ(supervisor.job(1).shares->kinds[0].allocation_unit.memory, kGiB * 4);
  EXPECT_GE(supervisor.assigned().size(), 1U);
  supervisor.ignore();
}

// Found by the simulator (seed 1181, when it began to draw processors): one band had the memory of two runs, the other
// the processors, and the job waited for ever for a band with both.
TEST(AllocationUnits, WhoseMixtureFitsEachBandInPartStillHasItsTurn) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a"}, {.name = "b"}})};
  supervisor.join({.slots = 4, .memory = kGiB, .cpu = MilliCpu{8000}});
  supervisor.join({.slots = 4, .memory = kGiB * 2, .cpu = MilliCpu{2000}});
  GraphBuilder builder;
  builder.template_at(0).request = {.slots = MilliSlots{500}, .cpu = MilliCpu{2000}, .memory = kGiB};
  for (std::uint32_t i = 0; i < 8; ++i) builder.add();
  supervisor.submit(builder.build(), named("a", "a"));
  supervisor.settle(2);
  EXPECT_GT(supervisor.job(1).shares->of(BandSlot{0}).planned + supervisor.job(1).shares->of(BandSlot{1}).planned, 0U);
  supervisor.ignore();
}

// Each of its subtasks fits each band; together they would take more of the small one than it has.
TEST(AllocationUnits, WhoMustRunOnASmallBandTakesAllOfIt) {
  PolicedSupervisor supervisor{policed("quota", {{.name = "a"}, {.name = "b"}})};
  supervisor.join({.slots = 2, .memory = kGiB});
  supervisor.join({.slots = 2, .memory = kGiB * 8});
  GraphBuilder builder;
  builder.template_at(0).request = {.slots = MilliSlots{250}, .memory = kGiB};
  builder.template_at(1).request = {.slots = kOneSlot};
  for (std::uint32_t i = 0; i < 2; ++i) builder.template_at(i).required = {"worker-1", ""};
  for (std::uint32_t i = 0; i < 8; ++i) builder.add({}, i % 2);
  supervisor.submit(builder.build(), named("a", "a"));
  supervisor.submit(asking(40, {.slots = kOneSlot}), named("b", "b"));
  supervisor.settle(4);
  EXPECT_EQ(supervisor.job(1).shares->of(BandSlot{0}).planned, 1000U);
  supervisor.ignore();
}

// A worker that is required may have devices, and what needs none may be kept for one of them.
TEST(AllocationUnits, WhatRequiresAWorkerHasSlotsOnWhicheverOfItsBandsItIsKeptFor) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.bands = 0, .gpus = 1});
  Graph graph = asking(2, {.slots = kOneSlot});
  graph.templates[0].required = {"worker-1", ""};
  supervisor.submit(graph, named("a"));
  supervisor.settle(2);
  EXPECT_EQ(supervisor.assigned().size(), 2U);
  supervisor.ignore();
}

// By count: four quarters are one slot, and a job that has it runs them all.
TEST(AllocationUnits, QuartersOfASlotAreNotPreemptedWhereTheyFit) {
  PolicedSupervisor supervisor{policed("fair_share_max_min")};
  supervisor.join({.slots = 2});
  supervisor.submit(asking(8, {.slots = MilliSlots{250}}), named("a"));
  supervisor.settle(2);
  for (std::uint32_t subtask = 0; subtask < 8; ++subtask) supervisor.say(1, subtask, Outcome::Started);
  supervisor.submit(asking(8, {.slots = kOneSlot}), named("b"));
  supervisor.settle(3);
  EXPECT_EQ(supervisor.entitlements(1), Lines{"w1:1"});
  const auto orders = supervisor.take<CancelBatch>();
  EXPECT_EQ(orders.size(), 4U) << "those of the other slot";
  supervisor.ignore();
}

// For all presets: parts of devices are given away once.
TEST(AllocationUnits, ASecondPassOverPartsChangesNothing) {
  for (const char* preset : kPresets) {
    PolicedSupervisor supervisor{policed(preset, {{.name = "a"}, {.name = "b"}})};
    supervisor.join({.bands = 0, .gpus = 2});
    supervisor.submit(asking(40, part_of_device(200)), named("a", "a"));
    supervisor.submit(asking(40, part_of_device(500)), named("b", "b"));
    supervisor.settle(6);
    const Lines before[] = {supervisor.entitlements(1), supervisor.entitlements(2)};
    supervisor.ignore();
    supervisor.settle(3);
    EXPECT_EQ(supervisor.take<EntitlementBatch>().size(), 0U) << preset;
    std::uint64_t planned = 0;
    for (const std::uint32_t job : {1U, 2U})
      for (std::uint32_t band = 0; band < 2; ++band) planned += supervisor.job(job).shares->of(BandSlot{band}).planned;
    EXPECT_LE(planned, 2000U) << preset;
    EXPECT_GE(planned, 1500U) << preset;
    supervisor.ignore();
  }
}

}  // namespace
}  // namespace penstock::supervisor
