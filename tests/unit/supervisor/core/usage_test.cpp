#include "supervisor/core/usage.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

Template on_processors(MilliSlots slots, Bytes memory) {
  Template wanted;
  wanted.request.slots = slots;
  wanted.request.memory = memory;
  return wanted;
}

Template on_a_device(MilliSlots slots) {
  Template wanted = on_processors(slots, {});
  wanted.request.gpu = MilliGpu{500};
  return wanted;
}

UsedSeconds after(const UsedRate& rate, double seconds) {
  std::array<double, kUsedKinds> together{};
  for (std::size_t i = 0; i < kUsedKinds; ++i) together[i] = static_cast<double>(rate[i]) * seconds * 1e6;
  return seconds_of(together);
}

// Spec: policy-flux 6: charge what was allocated, for each resource by itself.
TEST(Usage, EachResourceIsCountedByItself) {
  const UsedSeconds cpu = after(used_rate(on_processors(kOneSlot * 2, kGiB * 3), {}), 10);
  EXPECT_EQ(cpu, (UsedSeconds{20, 0, 30, 20}));
  const UsedSeconds gpu = after(used_rate(on_a_device(kOneSlot), {}), 10);
  EXPECT_EQ(gpu, (UsedSeconds{0, 10, 0, 10}));
}

// Only the sum lets weights change without clearing history.
TEST(Usage, WeightsOfASumCountForThePastToo) {
  UsedSeconds used = after(used_rate(on_processors(kOneSlot, kGiB * 2), {}), 10);
  const UsedSeconds more = after(used_rate(on_a_device(kOneSlot), {}), 5);
  for (std::size_t i = 0; i < kUsedKinds; ++i) used[i] += more[i];
  EXPECT_DOUBLE_EQ(billed(used, {}), 15);
  EXPECT_DOUBLE_EQ(billed(used, {.cpu = 500, .gpu = 8000, .memory = 250}), 5 + 40 + 5);
}

// Slurm's MAX_TRES: at charging time only what weighs most.
TEST(Usage, OfEachRunOnlyWhatWeighsMost) {
  const UsageConfig weights{.cpu = 1000, .gpu = 4000, .memory = 250, .billing = "max"};
  EXPECT_DOUBLE_EQ(billed(after(used_rate(on_processors(kOneSlot, kGiB * 16), weights), 2), weights), 8);
  EXPECT_DOUBLE_EQ(billed(after(used_rate(on_processors(kOneSlot, kGiB * 2), weights), 2), weights), 2);
  EXPECT_DOUBLE_EQ(billed(after(used_rate(on_a_device(kOneSlot), weights), 2), weights), 8);
}

TEST(Usage, WhatBeginsAndEndsLeavesNothing) {
  const UsageConfig weights{.cpu = 333, .gpu = 777, .memory = 111, .billing = "max"};
  UsedRate sum{};
  const UsedRate a = used_rate(on_processors(MilliSlots{123}, Bytes{987654321}), weights);
  const UsedRate b = used_rate(on_a_device(MilliSlots{50}), weights);
  add(sum, a);
  add(sum, b);
  subtract(sum, a);
  subtract(sum, b);
  EXPECT_EQ(sum, UsedRate{});
}

TEST(Usage, ItFadesAndIsForgottenWhenNothingIsLeft) {
  UsageTable table;
  table.charge({"lab", "ann"}, {8, 4, 2, 1});
  table.charge({"lab", "bob"}, {1e-6, 0, 0, 0});
  table.charge({"lab", "cid"}, {});
  ASSERT_EQ(table.tallies().size(), 2U) << "who has used nothing is not there";
  table.fade(0.5);
  EXPECT_EQ(table.tallies(), (UsageTable::Tallies{{{"lab", "ann"}, {4, 2, 1, 0.5}}}));
}

// Names are what users say: without a bound they would fill the memory.
TEST(Usage, UsersBeyondTheMostAreCountedTogether) {
  UsageTable table;
  for (std::size_t i = 0; i < kUsersChargedMax; ++i) table.charge({"lab", std::to_string(i)}, {1, 0, 0, 0});
  table.charge({"lab", "7"}, {1, 0, 0, 0});
  EXPECT_EQ(table.tallies().size(), kUsersChargedMax);
  table.charge({"lab", "one more"}, {1, 0, 0, 0});
  table.charge({"lab", "and another"}, {2, 0, 0, 0});
  EXPECT_EQ(table.tallies().size(), kUsersChargedMax + 1);
  EXPECT_EQ(table.tallies().at({"lab", kUsersTogether})[0], 3);
}

}  // namespace
}  // namespace penstock::supervisor
