#include "supervisor/policy/actions/victim_search.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

using Members = std::vector<std::uint32_t>;

/// Two full bands of two slots: single members on the first, one of two slots on the second, and one of two that waits.
struct TwoBands {
  TwoBands() {
    builder.band(2);
    builder.band(2);
    builder.workload("singles");
    builder.running(1, 0, 2);
    builder.workload("wide");
    builder.running(2, 1);
    builder.workload("waits");
    builder.waiting(2);
  }
  PolicyBuilder builder;
};

TEST(VictimSearch, AMemberThatDoesNotHelpStays) {
  TwoBands two;
  const Parts parts = parts_named("priority");
  SlotTrial trial{two.builder.snapshot, 0, parts};
  const Member& waits = two.builder.snapshot.members[3];
  EXPECT_EQ(find_victims(two.builder.snapshot, trial, waits, {0, 2, 1}), Members{2});
  EXPECT_FALSE(trial.find(waits).empty()) << "the place of the victim is free";
}

TEST(VictimSearch, WithoutEnoughCandidatesNothingChanges) {
  TwoBands two;
  const Parts parts = parts_named("priority");
  SlotTrial trial{two.builder.snapshot, 0, parts};
  const Member& waits = two.builder.snapshot.members[3];
  EXPECT_EQ(find_victims(two.builder.snapshot, trial, waits, {0}), Members{});
  EXPECT_EQ(trial.room(0).free(), 0);
  EXPECT_EQ(find_victims(two.builder.snapshot, trial, waits, {0, 1}), (Members{0, 1}));
}

}  // namespace
}  // namespace penstock::policy
