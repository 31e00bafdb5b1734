#include "supervisor/policy/actions/share_classes.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(ShareClasses, WhereNothingNamesBandsNothingIsToldApart) {
  PolicyBuilder builder;
  builder.band(2);
  builder.workload("job");
  builder.waiting(1);
  Plan plan;
  const Parts parts = parts_named("fair_share");
  EXPECT_FALSE(is_told_apart(SlotPass(builder.snapshot, 0, parts, plan)));
  builder.only_on({0});
  EXPECT_TRUE(is_told_apart(SlotPass(builder.snapshot, 0, parts, plan)));
  builder.last_member().band_list = kNone;
  builder.snapshot.bands[0].labels = {"a"};
  EXPECT_TRUE(is_told_apart(SlotPass(builder.snapshot, 0, parts, plan)));
}

TEST(ShareClasses, BandsThatNobodyTellsApartAreOneRoom) {
  PolicyBuilder builder;
  for (int i = 0; i < 4; ++i) builder.band(2);
  builder.workload("job");
  builder.waiting(1);
  builder.waiting(1);
  builder.only_on({0, 1});
  Plan plan;
  const Parts parts = parts_named("fair_share");
  SlotPass pass{builder.snapshot, 0, parts, plan};
  const ShareClasses classes{pass, {{.workload = 0, .pending = {0, 1}}}};
  EXPECT_EQ(classes.pool().rooms, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(classes.pool().classes[classes.kind_of(0)].size(), 2U);
  EXPECT_EQ(classes.pool().classes[classes.kind_of(1)], (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(classes.bands_of(1), (std::vector<std::uint32_t>{2, 3}));
}

// A band that drains keeps whom it has: what they hold is theirs, and nobody else's.
TEST(ShareClasses, WhoCouldNotComeThereNowHasAClassOfItsBand) {
  PolicyBuilder builder;
  const std::uint32_t drains = builder.band(4);
  builder.band(1);
  builder.workload("stays");
  builder.running(1, drains, 2);
  builder.workload("pinned").preemptible = false;
  builder.running(1, 1);
  builder.snapshot.bands[drains].state = BandState::Draining;
  Plan plan;
  const Parts parts = parts_named("fair_share");
  SlotPass pass{builder.snapshot, 0, parts, plan};
  const ShareClasses classes{pass, {{.workload = 0, .running = {0, 1}}, {.workload = 1, .running = {2}}}};
  EXPECT_EQ(classes.pool().rooms[classes.room_held(0)], 2);
  EXPECT_EQ(classes.pool().rooms[classes.room_held(2)], 0) << "what may not be taken is not shared";
  EXPECT_EQ(classes.pool().demands[0], (std::vector<ClassDemand>{{classes.kind_held(0), 2}}));
  EXPECT_TRUE(classes.pool().demands[1].empty());
}

}  // namespace
}  // namespace penstock::policy
