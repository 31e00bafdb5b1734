#include <gtest/gtest.h>

#include "supervisor/policy/sharing/owner.hpp"

namespace penstock::policy {
namespace {

std::vector<Owner> tree() {
  std::vector<Owner> owners(5);
  owners[1].parent = owners[2].parent = 0;
  owners[3].parent = 1;
  return owners;
}

TEST(Owner, BranchesPartBelowTheCommonAncestor) {
  const std::vector<Owner> owners = tree();
  const Branches sides = branches_of(owners, 3, 2);
  EXPECT_EQ(sides.a, 1U);
  EXPECT_EQ(sides.b, 2U);
  EXPECT_EQ(sides.ancestor, 0U);
  EXPECT_EQ(branches_of(owners, 3, 4).ancestor, kNone);
  EXPECT_EQ(branches_of(owners, 3, 4).b, 4U);
}

TEST(Owner, WithoutBoundIsAboveEverything) {
  EXPECT_TRUE(at_most(5, kUnlimited));
  EXPECT_FALSE(at_most(kUnlimited, 5));
  EXPECT_TRUE(at_most(kUnlimited, kUnlimited));
  OwnedAmount amount{.guaranteed = 2, .limit = 5, .fair_share = 7};
  EXPECT_EQ(amount.allocatable(), 5);
  amount.limit = kUnlimited;
  EXPECT_EQ(amount.allocatable(), 7);
}

}  // namespace
}  // namespace penstock::policy
