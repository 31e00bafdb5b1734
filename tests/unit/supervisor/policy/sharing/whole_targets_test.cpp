#include "supervisor/policy/sharing/whole_targets.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/sharing/share_tree.hpp"

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

ShareGroup whole(std::int64_t unit, std::int64_t demand) {
  return {.demand = demand, .smallest_pending = unit, .unit = unit};
}
ShareGroup single(std::int64_t demand) { return {.demand = demand, .smallest_pending = 1}; }

TEST(WholeTargets, MostOfAGangIsAllOfItWaitingOrRunning) {
  ShareGroup gang = whole(4, 4);
  EXPECT_EQ(fair_targets({gang, single(8)}, 8), (Amounts{4, 4}));
  EXPECT_EQ(fair_targets({single(8), gang}, 8), (Amounts{4, 4}));
  gang.held = 4;
  gang.smallest_pending = 0;
  EXPECT_EQ(fair_targets({gang, single(8)}, 8), (Amounts{4, 4}));
  EXPECT_EQ(max_min_targets({whole(3, 9), single(8)}, 10), (Amounts{6, 4}));
}

TEST(WholeTargets, LessThanHalfOfAGangIsNoneOfIt) {
  EXPECT_EQ(fair_targets({whole(4, 4), single(100)}, 8), (Amounts{0, 8}));
  EXPECT_EQ(fair_targets({whole(4, 40), single(56)}, 12), (Amounts{4, 8})) << "5 are one and a quarter";
}

TEST(WholeTargets, OthersKeepWhatLetsThemRunAnything) {
  EXPECT_EQ(fair_targets({whole(4, 4), single(4)}, 4), (Amounts{0, 4}));
  EXPECT_EQ(fair_targets({whole(4, 4), single(4)}, 6), (Amounts{4, 2}));
  EXPECT_EQ(fair_targets({whole(4, 4), whole(2, 2)}, 5), (Amounts{0, 2})) << "the smaller one has its share";
}

// Spec: policy-determined 3.3.
TEST(WholeTargets, OfEqualGangsTheOldestAreServed) {
  EXPECT_EQ(fair_targets({whole(2, 2), whole(2, 2)}, 2), (Amounts{2, 0}));
  EXPECT_EQ(fair_targets({whole(4, 4), whole(4, 4), whole(4, 4)}, 8), (Amounts{4, 4, 0}));
  EXPECT_EQ(fair_targets({whole(4, 4), whole(4, 4)}, 6), (Amounts{4, 0}));
}

// Spec: policy-determined 3.3.
TEST(WholeTargets, AGroupOfDifferentMembersKeepsWhatItHolds) {
  const ShareGroup mixed{.demand = 7, .held = 1, .smallest_pending = 6};
  EXPECT_EQ(fair_targets({mixed, single(9)}, 8), (Amounts{1, 7}));
}

TEST(WholeTargets, SharesDoNotDependOnWhatIsHeld) {
  for (std::int64_t held = 0; held <= 8; held += 4) {
    ShareGroup gangs = whole(4, 12);
    gangs.held = held;
    EXPECT_EQ(fair_targets({gangs, single(12)}, 13), (Amounts{8, 5})) << held;
  }
}

// Found by a trial: with each job that came or went one of two gangs was preempted for the other one.
TEST(WholeTargets, OfTwoGangsTheOneThatRunsKeepsItsRoomWhenJobsComeAndGo) {
  ShareGroup large = whole(8, 8);
  ShareGroup small = whole(4, 4);
  EXPECT_EQ(fair_targets({large, small, single(1), single(1)}, 12), (Amounts{8, 0, 1, 1}));
  small.stays = true;
  for (std::size_t singles = 1; singles < 3; ++singles) {
    std::vector<ShareGroup> groups{large, small};
    groups.insert(groups.end(), singles, single(1));
    EXPECT_EQ(fair_targets(groups, 12)[0], 0) << singles;
    EXPECT_EQ(fair_targets(groups, 12)[1], 4) << singles;
  }
  EXPECT_EQ(fair_targets({large, small, single(1), single(1), single(20)}, 12)[1], 0) << "less than half is its share";
}

TEST(WholeTargets, NoOwnerPassesItsLimitForAGang) {
  const std::vector<ShareNode> nodes{{.name = "a", .slots_max = 3}, {.name = "b"}};
  std::vector<ShareGroup> groups{whole(4, 4), single(8), single(8)};
  groups[0].node = groups[1].node = 0;
  groups[2].node = 1;
  EXPECT_EQ(divide_by_owner(groups, nodes, Sharing::FairShare)(groups, 8), (Amounts{0, 3, 5}));
  const std::vector<ShareNode> wider{{.name = "a", .slots_max = 6}, {.name = "b"}};
  EXPECT_EQ(divide_by_owner(groups, wider, Sharing::MaxMin)(groups, 12), (Amounts{4, 2, 6}));
}

/// An elastic gang that holds its core, or nothing.
ShareGroup elastic(std::int64_t core, std::int64_t demand, std::int64_t held) {
  return {.demand = demand, .held = held, .smallest_pending = held > 0 ? 1 : core, .core = core};
}

// The share of a gang does not depend on whether it has begun: otherwise it starts in one pass and leaves in the next.
TEST(WholeTargets, TheCoreOfAnElasticGangIsRoundedAsAWhole) {
  for (const std::int64_t held : {0, 4}) {
    EXPECT_EQ(fair_targets({elastic(4, 8, held), single(20)}, 8), (Amounts{4, 4})) << held;
    EXPECT_EQ(fair_targets({elastic(4, 8, held), single(8)}, 10), (Amounts{5, 5})) << held << ": single ones beyond it";
    EXPECT_EQ(fair_targets({elastic(6, 8, held), single(40)}, 8), (Amounts{0, 8})) << held;
  }
}

TEST(WholeTargets, AGangIsNotRoundedUpWithTheOnlySlotOfItsNeighbour) {
  const std::vector<ShareNode> nodes{{.name = "a"}, {.name = "b"}};
  for (const std::int64_t held : {0, 2}) {
    std::vector<ShareGroup> groups{elastic(2, 8, held), single(3), single(6)};
    groups[0].node = groups[1].node = 0;
    groups[2].node = 1;
    EXPECT_EQ(divide_by_owner(groups, nodes, Sharing::FairShare)(groups, 4), (Amounts{0, 2, 2})) << held;
  }
}

}  // namespace
}  // namespace penstock::policy
