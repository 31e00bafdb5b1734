#include <gtest/gtest.h>

#include "tools/policy/replay/fill.hpp"

namespace penstock::policy {
namespace {

Band host(std::string name, std::int64_t devices, std::int64_t cores) {
  return {.name = std::move(name), .slots = devices, .capacity = {cores * 1000, 1 << 20, devices * 1000}};
}

/// Two hosts with as many devices: one with just the cores for them, one with cores to spare.
ReplayTrace two_hosts(std::vector<ReplayJob> jobs) {
  return {{host("tight", 2, 8), host("roomy", 2, 24)}, {"all"}, std::move(jobs)};
}

// Of the paper: the job without devices goes where it costs no device; the fullest host is the wrong one.
TEST(FillReferences, TheGradientKeepsAwayFromFreeDevicesAndBestFitDoesNot) {
  const ReplayTrace filling = two_hosts({{.name = "without", .cpu_milli = 8000},
                                         {.name = "a", .devices = 2, .cpu_milli = 8000},
                                         {.name = "b", .devices = 2, .cpu_milli = 8000}});
  EXPECT_EQ(fill_by_reference(filling, filling, FillReference::Gradient).allocated, 4000);
  EXPECT_EQ(fill_by_reference(filling, filling, FillReference::BestFit).allocated, 2000);
}

// A part that fits a shared device opens no other.
TEST(FillReferences, PackingSharesBeforeItOpens) {
  const ReplayTrace filling = two_hosts({{.name = "a", .devices = 1, .device_share = 500, .cpu_milli = 1000},
                                         {.name = "b", .devices = 1, .device_share = 500, .cpu_milli = 1000},
                                         {.name = "c", .devices = 1, .cpu_milli = 1000},
                                         {.name = "d", .devices = 2, .cpu_milli = 8000}});
  const FillResult result = fill_by_reference(filling, filling, FillReference::Packing);
  EXPECT_EQ(result.allocated, 4000);
  EXPECT_EQ(result.unplaced, 0);
}

TEST(FillReferences, AJobGoesOnlyWhereItMay) {
  ReplayTrace filling = two_hosts({{.name = "a", .devices = 2, .cpu_milli = 1000, .bands = {1}},
                                   {.name = "b", .devices = 2, .cpu_milli = 1000, .bands = {1}}});
  for (const FillReference each : {FillReference::BestFit, FillReference::Packing, FillReference::Gradient}) {
    const FillResult result = fill_by_reference(filling, filling, each);
    EXPECT_EQ(result.allocated, 2000);
    EXPECT_EQ(result.unplaced, 1);
    EXPECT_EQ(result.asked_for, 4000);
  }
}

}  // namespace
}  // namespace penstock::policy
