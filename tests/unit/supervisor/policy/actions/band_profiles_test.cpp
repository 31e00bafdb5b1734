#include "supervisor/policy/actions/band_profiles.hpp"

#include <gtest/gtest.h>

#include <utility>

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

  /// Its only place for 5 s; no band: it has none.
  static OwnPlace first(BandProfiles& bands, const Member& member) {
    const std::vector<OwnPlace> places = bands.choose(member, seconds{5}, Instant{});
    EXPECT_LE(places.size(), 1U);
    return places.empty() ? OwnPlace{} : places.front();
  }

  PolicyBuilder builder;

 private:
  Parts parts_ = parts_named("multifactor");
  Plan plan_;
  std::optional<SlotPass> pass_;
};

TEST_F(BandProfilesTest, TheBandOnWhichItStartsFirstIsChosen) {
  BandProfiles bands{pass()};
  const OwnPlace place = first(bands, large());
  EXPECT_EQ(place.band, 1U);
  EXPECT_EQ(place.at, Instant{seconds{10}});
  EXPECT_EQ(place.free, 1);
}

TEST_F(BandProfilesTest, TheNextReservationOnABandBeginsBehindTheFirst) {
  BandProfiles bands{pass()};
  bands.reserve(first(bands, large()), seconds{5});
  EXPECT_EQ(first(bands, large()).at, Instant{seconds{15}});
  bands.reserve(first(bands, large()), seconds{5});
  EXPECT_EQ(first(bands, large()).band, 0U) << "there it starts at 20 s, as on the second one";
}

TEST_F(BandProfilesTest, SearchesDoNotFindABandWithAReservationAndGapsDo) {
  BandProfiles bands{pass()};
  EXPECT_TRUE(bands.place_in_gap(small(), seconds{10}).empty()) << "nothing is reserved yet";
  bands.reserve(first(bands, large()), seconds{5});
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
  EXPECT_EQ(first(bands, large()).band, 0U);
  EXPECT_EQ(first(bands, large()).at, Instant{seconds{20}});
}

TEST_F(BandProfilesTest, WhereNobodyKnowsWhenItStartsNothingIsGivenAway) {
  for (Workload& each : builder.snapshot.workloads) each.ends_by.reset();
  BandProfiles bands{pass()};
  const OwnPlace place = first(bands, large());
  EXPECT_EQ(place.at, kNever);
  bands.reserve(place, seconds{5});
  EXPECT_TRUE(bands.place_in_gap(small(), Duration{1}).empty());
}

TEST_F(BandProfilesTest, WhatNoBandCouldHoldHasNone) {
  BandProfiles bands{pass()};
  Member larger = large();
  larger.slots = 5;
  EXPECT_EQ(first(bands, larger).band, kNone);
  Member elsewhere = large();
  builder.snapshot.band_lists = {{0}};
  elsewhere.band_list = 0;
  EXPECT_EQ(first(bands, elsewhere).band, 0U);
  builder.snapshot.band_lists = {{9}};
  EXPECT_EQ(first(bands, elsewhere).band, kNone);
}

TEST_F(BandProfilesTest, PartsOnSeveralListsStartTogether) {
  builder.snapshot.band_lists = {{0}, {1}, {0, 1}};
  builder.snapshot.part_lists = {{{0, 2}, {1, 3}}};
  Member divided = large();
  divided.slots = 5, divided.band_list = 2, divided.part_list = 0;
  BandProfiles bands{pass()};
  const std::vector<OwnPlace> places = bands.choose(divided, seconds{5}, Instant{});
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(std::pair(places[0].band, places[0].slots), std::pair(0U, std::int64_t{2}));
  EXPECT_EQ(std::pair(places[1].band, places[1].slots), std::pair(1U, std::int64_t{3}));
  EXPECT_EQ(places[0].at, Instant{seconds{20}}) << "the second has room at 10 s";
  EXPECT_EQ(places[1].at, places[0].at);
  EXPECT_TRUE(bands.place_in_gap(divided, seconds{5}).empty());
  builder.snapshot.part_lists = {{{0, 2}, {1, 5}}};
  EXPECT_TRUE(bands.choose(divided, seconds{5}, Instant{}).empty()) << "its second part fits no band of its own";
}

}  // namespace
}  // namespace penstock::policy
