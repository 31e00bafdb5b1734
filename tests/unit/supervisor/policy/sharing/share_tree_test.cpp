#include "supervisor/policy/sharing/share_tree.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

using Amounts = std::vector<std::int64_t>;

ShareGroup wants(std::int64_t demand, std::uint32_t node, std::int64_t weight = 1000) {
  return {.demand = demand, .weight = weight, .node = node};
}

Amounts divided(const std::vector<ShareGroup>& groups, const std::vector<ShareNode>& nodes, std::int64_t capacity) {
  return tree_targets(groups, nodes, capacity, fair_targets);
}

TEST(ShareTree, OwnersDivideByWeightAndTheirJobsByWeightAndDemand) {
  const std::vector<ShareNode> nodes{{.name = "many"}, {.name = "one"}};
  EXPECT_EQ(divided({wants(10, 0), wants(30, 0), wants(8, 1)}, nodes, 16), (Amounts{2, 6, 8}));
  const std::vector<ShareNode> weighted{{.name = "many", .weight = 3000}, {.name = "one"}};
  EXPECT_EQ(divided({wants(10, 0), wants(30, 0), wants(8, 1)}, weighted, 16), (Amounts{3, 9, 4}));
}

TEST(ShareTree, SlotsThatAnOwnerCannotUseAreForTheOthers) {
  const std::vector<ShareNode> nodes{{.name = "little"}, {.name = "much"}};
  EXPECT_EQ(divided({wants(2, 0), wants(30, 1)}, nodes, 16), (Amounts{2, 14}));
  EXPECT_EQ(divided({wants(2, 0), wants(3, 1)}, nodes, 16), (Amounts{2, 3}));
}

TEST(ShareTree, LimitsHoldAtEveryLevel) {
  const std::vector<ShareNode> nodes{{.name = "department", .slots_max = 6},
                                     {.name = "a", .parent = 0, .slots_max = 2},
                                     {.name = "b", .parent = 0},
                                     {.name = "c"}};
  EXPECT_EQ(divided({wants(9, 1), wants(9, 2), wants(20, 3)}, nodes, 20), (Amounts{2, 4, 14}));
  std::vector<ShareGroup> pinned{wants(9, 1), wants(9, 2), wants(20, 3)};
  pinned[0].held = pinned[0].pinned = 5;
  EXPECT_EQ(divided(pinned, nodes, 20), (Amounts{5, 1, 14})) << "slots that may not be taken back stay beyond a limit";
}

TEST(ShareTree, UsersOfAProjectAreEqualHoweverManyJobsTheyHave) {
  const std::vector<ShareNode> nodes{{.name = "p"}, {.name = "ada", .parent = 0}, {.name = "bob", .parent = 0}};
  EXPECT_EQ(divided({wants(9, 1), wants(9, 1), wants(9, 1), wants(9, 2)}, nodes, 12), (Amounts{2, 2, 2, 6}));
}

TEST(ShareTree, AGangThatDoesNotFitLeavesItsShareToTheOthersOfAllProjects) {
  const std::vector<ShareNode> nodes{{.name = "a"}, {.name = "b"}};
  std::vector<ShareGroup> groups{wants(6, 0), wants(9, 1)};
  groups[0].smallest_pending = 6;
  EXPECT_EQ(divided(groups, nodes, 8), (Amounts{0, 8}));
}

TEST(ShareTree, AJobWithoutAnOwnerStandsBesideTheProjects) {
  const std::vector<ShareNode> nodes{{.name = "a"}};
  EXPECT_EQ(divided({wants(9, 0), wants(9, 0), wants(9, kNone)}, nodes, 8), (Amounts{2, 2, 4}));
}

TEST(ShareTree, WithoutOwnersAllIsDividedAsEver) {
  const std::vector<ShareGroup> groups{wants(10, kNone), wants(30, kNone)};
  EXPECT_EQ(divide_by_owner(groups, {}, Sharing::FairShare)(groups, 8), (Amounts{2, 6}));
  EXPECT_EQ(divide_by_owner(groups, {}, Sharing::MaxMin)(groups, 8), (Amounts{4, 4}));
}

TEST(ShareTree, WhereBandsAreLimitedSettledSlotsCountForTheirOwner) {
  const std::vector<ShareNode> nodes{{.name = "a", .slots_max = 4}, {.name = "b"}};
  const std::vector<ShareGroup> groups{wants(9, 0), wants(9, 0), wants(20, 1)};
  const DivideSlots divide = divide_by_owner(groups, nodes, Sharing::FairShare);
  EXPECT_EQ(limited_targets(groups, {{{0}, 1}}, 16, divide), (Amounts{1, 3, 12}));
}

}  // namespace
}  // namespace penstock::policy
