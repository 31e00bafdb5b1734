#include <gtest/gtest.h>

#include "common/base/rng.hpp"
#include "supervisor/policy/sharing/account_factor.hpp"

namespace penstock::policy {
namespace {

/// A random tree in which everybody has used exactly his share.
std::vector<Account> on_share_tree(std::uint64_t seed, std::uint32_t depth) {
  Rng rng{seed};
  std::vector<Account> accounts{{"root"}};
  std::vector<std::uint32_t> level{0};
  for (std::uint32_t below = 1; below <= depth; ++below) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t parent : level)
      for (std::uint64_t i = 0; i <= rng.below(3); ++i) {
        next.push_back(static_cast<std::uint32_t>(accounts.size()));
        accounts.push_back({"n", parent, below == depth, rng.between(1, 9)});
      }
    level = next;
  }
  const std::vector<AccountMeasure> measures = measure_accounts(accounts);
  for (std::size_t i = 0; i < accounts.size(); ++i)
    if (accounts[i].user) accounts[i].usage = 1e6 * measures[i].share;
  return accounts;
}

// Spec: policy-flux 10, invariant 3.
TEST(AccountFactor, OnShareGivesOneHalfAtEveryDepth) {
  for (std::uint32_t depth = 1; depth <= 6; ++depth)
    for (const FairShareFactor kind : {FairShareFactor::Balanced, FairShareFactor::DepthOblivious}) {
      const std::vector<Account> accounts = on_share_tree(depth, depth);
      const std::vector<double> factors = account_factors(accounts, {kind});
      for (std::size_t i = 0; i < accounts.size(); ++i) {
        if (!accounts[i].user) continue;
        EXPECT_NEAR(factors[i], 0.5, 1e-9) << "depth " << depth;
      }
    }
}

std::vector<Account> two_users(double first, double second) {
  return {{"root"}, {"a", 0, false, 1}, {"u1", 1, true, 1, first}, {"u2", 1, true, 1, second}};
}

TEST(AccountFactor, NoUsageIsOneAndNoSharesIsNought) {
  std::vector<Account> accounts = two_users(0, 0);
  EXPECT_EQ(account_factors(accounts, {})[2], 1);
  accounts[2].shares = 0;
  EXPECT_EQ(account_factors(accounts, {})[2], 0);
}

TEST(AccountFactor, MoreUsageLowersTheOwnFactor) {
  EXPECT_GT(account_factors(two_users(1, 5), {})[2], account_factors(two_users(2, 5), {})[2]);
}

TEST(AccountFactor, OnlyTiesShareARank) {
  const std::vector<double> ranks = account_factors(two_users(3, 3), {FairShareFactor::FairTree});
  EXPECT_EQ(ranks[2], 1);
  EXPECT_EQ(ranks[3], 1);
  EXPECT_EQ(account_factors(two_users(3, 4), {FairShareFactor::FairTree})[3], 0.5);
}

// Found by an explorer: the empty account ended the tie of u with A. Spec: policy-flux 5.4.
TEST(AccountFactor, EmptyAccountsArePassedOverInATie) {
  const std::vector<Account> accounts{{"root"},
                                      {"u", 0, true, 1, 5},
                                      {"A", 0},
                                      {"empty", 2},
                                      {"emptier", 3},
                                      {"v", 2, true, 1, 5},
                                      {"x", 0, true, 1, 50}};
  const std::vector<double> ranks = account_factors(accounts, {FairShareFactor::FairTree});
  EXPECT_EQ(ranks[1], 1);
  EXPECT_EQ(ranks[5], 1);
  EXPECT_NEAR(ranks[6], 1.0 / 3, 1e-12);
}

TEST(AccountFactor, ExtremesStayNumbers) {
  for (const double usage : {0.0, 1e-300, 1e18}) {
    std::vector<Account> deep{{"root"}};
    for (std::uint32_t i = 0; i < 50; ++i) deep.push_back({"n", i, i == 49, 1, usage});
    for (const double factor : account_factors(deep, {})) EXPECT_TRUE(factor >= 0 && factor <= 1) << factor;
  }
}

}  // namespace
}  // namespace penstock::policy
