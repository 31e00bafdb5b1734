#include "supervisor/policy/actions/band_profiles.hpp"

#include <gtest/gtest.h>

#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

using std::chrono::seconds;

/// Two bands of 4 slots: on the first one 3 run for 20 s, on the second one for 10 s. Somebody waits for 4 slots.
class BandProfilesTest : public testing::Test {
 protected:
  BandProfilesTest() {
    for (const int length : {20, 10}) {
      const std::uint32_t band = builder.band(4);
      builder.workload("runs").ends_by = Instant{seconds{length}};
      builder.running(3, band);
    }
    builder.workload("waits");
    builder.waiting(4);
    builder.waiting(1);
  }
  const Member& large() { return builder.snapshot.members[2]; }
  const Member& small() { return builder.snapshot.members[3]; }
  SlotPass& pass() {
    if (!pass_) pass_.emplace(builder.snapshot, 0, parts_, plan_);
    return *pass_;
  }

  PolicyBuilder builder;

 private:
  Parts parts_ = parts_named("multifactor");
  Plan plan_;
  std::optional<SlotPass> pass_;
};

TEST_F(BandProfilesTest, TheBandOnWhichItStartsFirstIsChosen) {
  BandProfiles bands{pass()};
  const OwnPlace place = bands.choose(large(), seconds{5}, Instant{});
  EXPECT_EQ(place.band, 1U);
  EXPECT_EQ(place.at, Instant{seconds{10}});
  EXPECT_EQ(place.free, 1);
}

TEST_F(BandProfilesTest, TheNextReservationOnABandBeginsBehindTheFirst) {
  BandProfiles bands{pass()};
  bands.reserve(bands.choose(large(), seconds{5}, Instant{}), 4, seconds{5});
  EXPECT_EQ(bands.choose(large(), seconds{5}, Instant{}).at, Instant{seconds{15}});
  bands.reserve(bands.choose(large(), seconds{5}, Instant{}), 4, seconds{5});
  EXPECT_EQ(bands.choose(large(), seconds{5}, Instant{}).band, 0U) << "there it starts at 20 s, as on the second one";
}

TEST_F(BandProfilesTest, SearchesDoNotFindABandWithAReservationAndGapsDo) {
  BandProfiles bands{pass()};
  EXPECT_TRUE(bands.place_in_gap(small(), seconds{10}).empty()) << "nothing is reserved yet";
  bands.reserve(bands.choose(large(), seconds{5}, Instant{}), 4, seconds{5});
  EXPECT_EQ(pass().trial().room(1).free(), 0);
  EXPECT_TRUE(bands.place_in_gap(small(), seconds{11}).empty()) << "it would not end in time";
  const std::vector<Place> gap = bands.place_in_gap(small(), seconds{10});
  ASSERT_EQ(gap, (std::vector<Place>{{1, 1}}));
  EXPECT_EQ(pass().trial().room(1).free(), 1) << "for it to take";
  pass().trial().take(gap);
  bands.note_start(gap, seconds{10});
  EXPECT_TRUE(bands.place_in_gap(small(), seconds{1}).empty());
}

TEST_F(BandProfilesTest, WhatHasStartedBeforeAnybodyAskedCounts) {
  BandProfiles bands{pass()};
  pass().trial().take({{1, 1}});
  bands.note_start({{1, 1}}, seconds{30});
  EXPECT_EQ(bands.choose(large(), seconds{5}, Instant{}).band, 0U);
  EXPECT_EQ(bands.choose(large(), seconds{5}, Instant{}).at, Instant{seconds{20}});
}

TEST_F(BandProfilesTest, WhereNobodyKnowsWhenItStartsNothingIsGivenAway) {
  for (Workload& each : builder.snapshot.workloads) each.ends_by.reset();
  BandProfiles bands{pass()};
  const OwnPlace place = bands.choose(large(), seconds{5}, Instant{});
  EXPECT_EQ(place.at, kNever);
  bands.reserve(place, 4, seconds{5});
  EXPECT_TRUE(bands.place_in_gap(small(), Duration{1}).empty());
}

TEST_F(BandProfilesTest, WhatNoBandCouldHoldHasNone) {
  BandProfiles bands{pass()};
  Member larger = large();
  larger.slots = 5;
  EXPECT_EQ(bands.choose(larger, seconds{5}, Instant{}).band, kNone);
  Member elsewhere = large();
  builder.snapshot.band_lists = {{0}};
  elsewhere.band_list = 0;
  EXPECT_EQ(bands.choose(elsewhere, seconds{5}, Instant{}).band, 0U);
  builder.snapshot.band_lists = {{9}};
  EXPECT_EQ(bands.choose(elsewhere, seconds{5}, Instant{}).band, kNone);
}

}  // namespace
}  // namespace penstock::policy
