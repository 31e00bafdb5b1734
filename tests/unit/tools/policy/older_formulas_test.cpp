#include "tools/policy/older_formulas.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/ordering/multifactor.hpp"

namespace penstock::tools {
namespace {

TEST(OlderFormulas, ASumOfHugeNumbersStaysBelowTheOwnersWord) {
  EXPECT_EQ(raw_priority({.level = 1e9}, {.level = 1e12}), policy::kPriorityFirst - 1);
  EXPECT_EQ(raw_priority({.level = -1e9}, {.level = 1e12}), 0);
  EXPECT_EQ(raw_priority({.user = 31}, {}), policy::kPriorityFirst);
}

TEST(OlderFormulas, BinsRotate) {
  UsageBins bins{{16956, 64, 16, 8}, 0.5};
  bins.rotate();
  EXPECT_EQ(bins.bins(), (std::vector<double>{0, 8478, 32, 8}));
  EXPECT_EQ(bin_count(2419200, 604800), 4);
}

TEST(OlderFormulas, BillingSumsOrTakesTheLargest) {
  const std::vector<BilledAmount> amounts{{16, 1}, {60, 0.25}};
  EXPECT_EQ(billable(amounts, Billing::Sum), 31);
  EXPECT_EQ(billable(amounts, Billing::Max), 16);
}

}  // namespace
}  // namespace penstock::tools
