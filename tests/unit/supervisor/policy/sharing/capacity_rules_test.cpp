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

// D2 of issue 23: a limit was tested before any victim had left.
TEST(CapacityRules, AtBestAllHaveLeftThatMay) {
  std::vector<Owner> owners = department_with_project();
  owners[0].of[2].allocated = 2000;
  EXPECT_TRUE(refuse(owners, 1, {.gpu = 2000}, true));
  EXPECT_FALSE(refuse_at_best(owners, 1, {.gpu = 2000}, true, Leavers::OtherProjects));
  EXPECT_TRUE(refuse_at_best(owners, 1, {.gpu = 2001}, true, Leavers::OtherProjects));
  EXPECT_TRUE(refuse_at_best(owners, 1, {.gpu = 1}, true, Leavers::OwnProject)) << "the others hold it";
  owners[0].of[2].fixed = 500;
  EXPECT_TRUE(refuse_at_best(owners, 1, {.gpu = 2000}, true, Leavers::OtherProjects)) << "a part of it stays";
  owners[1].of[2].allocated = 1000;
  EXPECT_FALSE(refuse_at_best(owners, 1, {.gpu = 1000}, true, Leavers::OwnProject));
  EXPECT_TRUE(refuse_at_best(owners, 1, {.gpu = 1000}, false, Leavers::OwnProject)) << "beyond the guarantee";
}

TEST(CapacityRules, OnlyWhatIsAskedForIsTested) {
  std::vector<Owner> owners(1);
  owners[0].of[2] = {.limit = 0, .allocated = 9000};
  EXPECT_FALSE(refuse(owners, 0, {.cpu = 1}, true));
}

}  // namespace
}  // namespace penstock::policy
