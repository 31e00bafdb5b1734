#include <gtest/gtest.h>

#include "supervisor/policy/slot_trial.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

Member gang(std::int64_t slots) {
  Member member;
  member.name = "gang";
  member.slots = slots;
  return member;
}

std::size_t bands_of(const std::vector<std::int64_t>& sizes, std::int64_t slots, bool mixed = false) {
  PolicyBuilder builder;
  for (const std::int64_t size : sizes) builder.band(size);
  Parts parts = parts_named("priority");
  parts.mixed_sizes = mixed;
  return SlotTrial{builder.snapshot, 0, parts}.find(gang(slots)).size();
}

// Spec: policy-determined 6.5, 6.6.
TEST(SlotTrial, GangsTakeWholeBandsOfOneSize) {
  EXPECT_EQ(bands_of({8, 7, 7, 4, 4, 4, 4}, 16), 4U);
  EXPECT_EQ(bands_of({8, 8, 3, 3, 3}, 12), 0U);
  EXPECT_EQ(bands_of({4, 4, 4, 4, 4}, 8), 2U);
  EXPECT_EQ(bands_of({32, 32, 16, 16, 8, 8, 4, 4, 2, 2, 1, 1}, 63, true), 6U);
  EXPECT_EQ(bands_of({4, 4}, 6), 0U);
  EXPECT_EQ(bands_of({7}, 4), 1U);
}

TEST(SlotTrial, EachPartOfAGangHasItsBands) {
  PolicyBuilder builder;
  for (const std::int64_t slots : {4, 4, 8}) builder.band(slots);
  builder.snapshot.band_lists = {{0, 1}, {2}, {0, 1, 2}};
  builder.snapshot.part_lists = {{{0, 3}, {0, 3}, {1, 6}}};
  const Parts parts = parts_named("priority");
  SlotTrial trial{builder.snapshot, 0, parts};
  Member divided = gang(12);
  divided.band_list = 2, divided.part_list = 0;
  const std::vector<Place> places = trial.find(divided);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_NE(places[0].band, places[1].band) << "one band holds one of two parts";
  EXPECT_EQ(places[2], (Place{2, 6}));
  EXPECT_EQ(trial.room(2).used, 0) << "nothing is taken";
  EXPECT_FALSE(trial.fits_on(divided, 2));
  EXPECT_FALSE(trial.could_hold(divided, 2));
  trial.take({{1, 2}});
  EXPECT_TRUE(trial.find(divided).empty()) << "its second part finds no band";
}

TEST(SlotTrial, UndoLeavesNothingBehind) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  const Parts parts = parts_named("priority");
  SlotTrial trial{builder.snapshot, 0, parts};
  const std::size_t mark = trial.mark();
  trial.take({{band, 3}});
  EXPECT_EQ(trial.room(band).free(), 1);
  trial.give_back({{band, 2}});
  trial.undo_to(mark);
  EXPECT_EQ(trial.room(band).free(), 4);
}

TEST(SlotTrial, ADrainingBandTakesNothing) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.band(4);
  builder.workload("one");
  builder.running(1, band);
  builder.snapshot.bands[band].state = BandState::Draining;
  const Parts parts = parts_named("priority");
  SlotTrial trial{builder.snapshot, 0, parts};
  EXPECT_EQ(trial.capacity(), 1);
  EXPECT_TRUE(trial.find(gang(1)).empty());
}

}  // namespace
}  // namespace penstock::policy
