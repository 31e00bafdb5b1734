#include <gtest/gtest.h>

#include "supervisor/policy/sharing/capacity_rules.hpp"

namespace penstock::policy {
namespace {

std::vector<Owner> department_with_project() {
  std::vector<Owner> owners(2);
  owners[0].of[2] = {.guaranteed = 1000, .limit = 2000, .allocated = 1000, .fixed = 0};
  owners[1].parent = 0;
  owners[1].of[2] = {.guaranteed = 5000, .allocated = 0};
  return owners;
}

TEST(CapacityRules, TheDepartmentSupersedesItsProjects) {
  const std::vector<Owner> owners = department_with_project();
  EXPECT_FALSE(refuse(owners, 1, {.gpu = 1000}, true));
  const std::optional<Refusal> limit = refuse(owners, 1, {.gpu = 2000}, true);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->owner, 0U);
  EXPECT_EQ(limit->would_hold, 3000);
  EXPECT_EQ(limit->may_hold, 2000);
}

TEST(CapacityRules, WhatMayNotBePreemptedStaysWithinTheGuarantee) {
  std::vector<Owner> owners = department_with_project();
  EXPECT_FALSE(refuse(owners, 1, {.gpu = 1000}, false));
  owners[0].of[2].fixed = 500;
  EXPECT_TRUE(refuse(owners, 1, {.gpu = 1000}, false));
}

TEST(CapacityRules, OnlyWhatIsAskedForIsTested) {
  std::vector<Owner> owners(1);
  owners[0].of[2] = {.limit = 0, .allocated = 9000};
  EXPECT_FALSE(refuse(owners, 0, {.cpu = 1}, true));
}

}  // namespace
}  // namespace penstock::policy
