#include "supervisor/core/workers/band_indices.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

class BandIndicesTest : public ::testing::Test {
 protected:
  BandIndicesTest() {
    Register description;
    description.name = "worker-1";
    for (std::uint32_t i = 0; i < 3; ++i) {
      description.bands.emplace_back();
      description.bands.back().capacity.slots = MilliSlots{2000};
    }
    worker = workers.add(WorkerId{1}, Incarnation{1}, description);
    bands_of = workers[worker].bands;
  }
  BandEntry& band(std::size_t index) { return workers[bands_of[index]]; }
  bool has(const IndexSet& set, std::size_t index) const { return set.contains(bands_of[index].value()); }

  WorkerTable workers;
  WorkerSlot worker;
  std::vector<BandSlot> bands_of;
  BandIndices bands{workers};
};

TEST_F(BandIndicesTest, DirtyBandsAreFilledOnceInTheirOrderAndThoseThatBecomeDirtyMeanwhileAsWell) {
  bands.mark_dirty(bands_of[2]);
  bands.mark_dirty(bands_of[0]);
  bands.mark_dirty(bands_of[2]);
  std::vector<BandSlot> filled;
  bands.fill_dirty([&](BandSlot slot) {
    if (filled.empty()) bands.mark_dirty(bands_of[1]);
    filled.push_back(slot);
  });
  EXPECT_EQ(filled, (std::vector<BandSlot>{bands_of[2], bands_of[0], bands_of[1]}));
  bands.fill_dirty([](BandSlot) { FAIL() << "nothing is dirty any more"; });
  bands.mark_dirty(bands_of[0]);
  filled.clear();
  bands.fill_dirty([&](BandSlot slot) { filled.push_back(slot); });
  EXPECT_EQ(filled, std::vector<BandSlot>{bands_of[0]});
}

TEST_F(BandIndicesTest, ABandThatIsGoneIsNotFilled) {
  bands.mark_dirty(bands_of[1]);
  band(1).alive = band(2).alive = false;
  bands.mark_dirty(bands_of[2]);
  bands.fill_dirty([](BandSlot) { FAIL() << "the band is gone"; });
  EXPECT_FALSE(band(1).dirty);
}

TEST_F(BandIndicesTest, ABandHasReadySubtasksWhileAnyIsKeptForIt) {
  bands.change_ready(bands_of[1], 2);
  EXPECT_TRUE(has(bands.with_ready(), 1));
  EXPECT_TRUE(band(1).dirty);
  bands.change_ready(bands_of[1], -1);
  EXPECT_TRUE(has(bands.with_ready(), 1));
  bands.change_ready(bands_of[1], -1);
  EXPECT_TRUE(bands.with_ready().empty());
  EXPECT_TRUE(bands.none_to_take());
}

TEST_F(BandIndicesTest, ABandOffersWhatIsMoreThanItsSlots) {
  bands.change_runnable(bands_of[0], 2);
  EXPECT_TRUE(bands.with_excess().empty());
  bands.change_runnable(bands_of[0], 1);
  EXPECT_TRUE(has(bands.with_excess(), 0));
  EXPECT_FALSE(bands.none_to_take());
  bands.change_runnable(bands_of[0], -1);
  EXPECT_FALSE(has(bands.with_excess(), 0));
}

TEST_F(BandIndicesTest, ABlockedBandOffersWhateverItHas) {
  band(0).blocked = true;
  bands.change_runnable(bands_of[0], 0);
  EXPECT_TRUE(has(bands.with_excess(), 0));
}

TEST_F(BandIndicesTest, ABandInWhichNothingWasFoundOffersAgain) {
  bands.change_runnable(bands_of[2], 3);
  bands.offer(bands_of[2], false);
  EXPECT_TRUE(bands.with_excess().empty());
  bands.offer_all();
  EXPECT_TRUE(has(bands.with_excess(), 2));
  EXPECT_EQ(bands.with_excess().size(), 1U) << "the others have no excess";
}

TEST_F(BandIndicesTest, NothingIsTakenFromABandThatGoesAway) {
  band(0).blocked = true;
  bands.change_ready(bands_of[0], 1);
  bands.change_runnable(bands_of[0], 1);
  bands.close(bands_of[0]);
  EXPECT_TRUE(bands.none_to_take());
  bands.change_runnable(bands_of[0], -1);
  EXPECT_TRUE(bands.none_to_take()) << "an attempt that leaves does not offer the band again";
}

}  // namespace
}  // namespace penstock::supervisor
