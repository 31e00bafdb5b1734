#include <gtest/gtest.h>

#include "supervisor/policy/ordering/project_order.hpp"

namespace penstock::policy {
namespace {

Owner holding(std::int64_t guaranteed, std::int64_t held) {
  Owner owner;
  owner.of[0].guaranteed = owner.of[1].guaranteed = kUnlimited;
  owner.of[2] = {.guaranteed = guaranteed, .allocated = held, .fair_share = guaranteed};
  return owner;
}

int order(const Owner& left, const Owner& right) {
  const Resources job{.gpu = 1000};
  const Resources total{1000, 1000, 8000};
  return compare_ranks(rank_project({&left, job, job}, total), rank_project({&right, job, job}, total));
}

TEST(ProjectOrder, WhoStaysWithinHisGuaranteeIsFirst) {
  EXPECT_EQ(order(holding(2000, 2000), holding(4000, 2000)), 1);
  EXPECT_EQ(order(holding(2000, 1000), holding(2000, 2000)), -1);
}

TEST(ProjectOrder, ThenTheMoreDeprivedAndTheOlder) {
  EXPECT_EQ(order(holding(4000, 0), holding(4000, 1000)), -1);
  Owner older = holding(2000, 0);
  Owner younger = older;
  younger.created = 1;
  EXPECT_EQ(order(older, younger), -1);
  EXPECT_EQ(order(younger, older), 1);
}

TEST(ProjectOrder, PriorityGoesBeforeShares) {
  Owner left = holding(4000, 3000);
  left.priority = 200;
  EXPECT_EQ(order(left, holding(4000, 0)), -1);
}

}  // namespace
}  // namespace penstock::policy
