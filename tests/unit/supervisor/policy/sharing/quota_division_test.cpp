#include <gtest/gtest.h>

#include "supervisor/policy/sharing/quota_division.hpp"

namespace penstock::policy {
namespace {

constexpr std::size_t kGpu = 2;

Owner asking(std::int64_t guaranteed, std::int64_t weight, std::int64_t request) {
  Owner owner;
  owner.of[kGpu] = {.guaranteed = guaranteed * 1000, .weight = weight * 1000, .request = request * 1000};
  return owner;
}

std::vector<std::int64_t> shares(std::vector<Owner> owners, std::int64_t total) {
  divide_tree(owners, {.gpu = total * 1000}, 1);
  std::vector<std::int64_t> devices;
  for (const Owner& owner : owners) devices.push_back(owner.of[kGpu].fair_share / 1000);
  return devices;
}

using Shares = std::vector<std::int64_t>;

// The page: quotas of 3 and 1 share what lies idle 75 to 25; over-quota priorities low and high, 25 to 75.
TEST(QuotaDivision, IdleDevicesFollowTheGuarantees) {
  EXPECT_EQ(shares({asking(3, 3, 100), asking(1, 1, 100)}, 4 + 100), (Shares{3 + 75, 1 + 25}));
  EXPECT_EQ(shares({asking(3, 1, 100), asking(1, 3, 100)}, 4 + 100), (Shares{3 + 25, 1 + 75}));
}

// Spec: policy-runai 4.
TEST(QuotaDivision, TheLastUnitGoesToTheLargerRemainder) {
  EXPECT_EQ(shares({asking(2, 1, 10), asking(2, 4, 10)}, 11), (Shares{3, 8}));
}

TEST(QuotaDivision, GuaranteesComeFirstAndNobodyGetsWhatHeDoesNotWant) {
  EXPECT_EQ(shares({asking(4, 0, 10), asking(2, 9, 3)}, 6), (Shares{4, 2}));
  EXPECT_EQ(shares({asking(4, 1, 1), asking(2, 1, 30)}, 10), (Shares{1, 9}));
}

TEST(QuotaDivision, AHigherLevelIsFilledFirst) {
  std::vector<Owner> owners{asking(0, 1, 5), asking(0, 1, 5)};
  owners[0].priority = 200;
  EXPECT_EQ(shares(owners, 6), (Shares{5, 1}));
}

TEST(QuotaDivision, ChildrenShareWhatTheirDepartmentGets) {
  std::vector<Owner> owners{asking(4, 1, 20), asking(3, 3, 10), asking(1, 1, 10)};
  owners[1].parent = owners[2].parent = 0;
  EXPECT_EQ(shares(owners, 12), (Shares{12, 9, 3}));
}

TEST(QuotaDivision, PastUseCountsAgainstASibling) {
  std::vector<Owner> owners{asking(0, 1, 100), asking(0, 1, 100)};
  owners[0].of[kGpu].usage = 0.5;
  const Shares result = shares(owners, 100);
  EXPECT_LT(result[0], result[1]);
  EXPECT_EQ(result[0] + result[1], 100);
}

}  // namespace
}  // namespace penstock::policy
