#include "supervisor/core/policy_owners.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/sharing/account_factor.hpp"

namespace penstock::supervisor {
namespace {

using Amounts = std::vector<std::int64_t>;

PolicyConfig two_pools() {
  PolicyConfig config;
  config.pools = {{.name = "rest"}, {.name = "gpu", .workers = {"gpu-*"}}};
  config.projects = {{.name = "research", .is_department = true, .guaranteed_slots = 8},
                     {.name = "vision", .department = "research", .pools = {"gpu"}, .guaranteed_slots = 5},
                     {.name = "speech", .department = "research", .guaranteed_slots = 3},
                     {.name = "sales", .guaranteed_slots = 2}};
  return config;
}

// Spec: policy-runai 10.
TEST(PolicyOwners, AGuaranteeStandsInTheProjectsOwnPoolOnly) {
  const Guarantee slots = Guarantee::Slots;
  EXPECT_EQ(guarantees_in(two_pools(), project_tree(two_pools()), 0, slots), (Amounts{3, 0, 3, 2}))
      << "there a department has what its parts do";
  EXPECT_EQ(guarantees_in(two_pools(), project_tree(two_pools()), 1, slots), (Amounts{8, 5, 0, 0}))
      << "it is at home where its first part is";
  PolicyConfig said = two_pools();
  said.projects[0].pools = {"rest"};
  EXPECT_EQ(guarantees_in(said, project_tree(said), 0, slots), (Amounts{8, 0, 3, 2}));
  EXPECT_EQ(guarantees_in(said, project_tree(said), 1, slots), (Amounts{5, 5, 0, 0}));
}

// Spec: policy-runai 2, over-quota; 13.1.
TEST(PolicyOwners, WithoutWeightsWhatIsBeyondGoesByGuarantee) {
  PolicyConfig config;
  config.projects = {{.name = "a", .guaranteed_slots = 3}, {.name = "b", .guaranteed_slots = 1}};
  EXPECT_EQ(weights_beyond(config, {3, 1}), (Amounts{3000, 1000, 0}));
  EXPECT_EQ(weights_beyond(config, {0, 0}), (Amounts{1000, 1000, 1000})) << "nobody has a guarantee of that kind";
  config.projects[1].weight = 3000;
  EXPECT_EQ(weights_beyond(config, {3, 1}), (Amounts{1000, 3000, 1000})) << "who says none counts as low";
  config.projects[1].weight = 0;
  EXPECT_EQ(weights_beyond(config, {3, 1}), (Amounts{1000, 0, 1000}));
}

TEST(PolicyOwners, SiblingsAloneDecideWhetherWeightsCount) {
  PolicyConfig config;
  config.projects = {{.name = "d", .is_department = true, .guaranteed_slots = 6},
                     {.name = "a", .department = "d", .weight = 2000, .guaranteed_slots = 4},
                     {.name = "b", .department = "d", .guaranteed_slots = 2},
                     {.name = "c", .guaranteed_slots = 3}};
  EXPECT_EQ(weights_beyond(config, {6, 4, 2, 3}), (Amounts{6000, 2000, 1000, 3000, 0}));
}

UsageTable used(const std::vector<std::pair<UsageTable::Key, double>>& slot_seconds) {
  UsageTable table;
  for (const auto& [whom, seconds] : slot_seconds) table.charge(whom, {seconds, 0, 0, 0});
  return table;
}

// Spec: policy-flux 5.1.
TEST(PolicyOwners, AccountsStandBelowOneRoot) {
  PolicyConfig config;
  config.accounts = {{.name = "ann", .shares = 3}, {.name = "team"}, {.name = "bob", .parent = "team"}};
  const AccountTree tree = account_tree(config, used({{{"ann", "ann"}, 5}, {{"bob", "bob"}, 7}}), {{"ann", "ann"}});
  ASSERT_EQ(tree.accounts.size(), 4U);
  EXPECT_EQ(tree.accounts[3].parent, policy::kNone);
  EXPECT_EQ(tree.accounts[0].parent, 3U);
  EXPECT_EQ(tree.accounts[1].parent, 3U);
  EXPECT_EQ(tree.accounts[2].parent, 1U);
  EXPECT_TRUE(tree.accounts[0].user) << "its only user is all of it";
  EXPECT_FALSE(tree.accounts[1].user);
  EXPECT_EQ(tree.accounts[0].usage, 5);
  EXPECT_EQ(tree.accounts[2].usage, 7);
  EXPECT_EQ(tree.charged, (AccountTree::Charged{{{"ann", "ann"}, 0}, {{"bob", "bob"}, 2}}));
  EXPECT_TRUE(account_tree({}, {}, {}).accounts.empty());
}

TEST(PolicyOwners, WhatAnAccountWithPartsIsChargedItselfCountsBesideThem) {
  PolicyConfig config;
  config.accounts = {{.name = "team"}, {.name = "bob", .parent = "team"}};
  const UsageTable::Key ann{"team", "ann"};
  for (const bool has_used : {true, false}) {
    const AccountTree tree = account_tree(config, has_used ? used({{ann, 5}}) : UsageTable{},
                                          has_used ? std::set<UsageTable::Key>{} : std::set{ann});
    ASSERT_EQ(tree.accounts.size(), 4U);
    EXPECT_EQ(tree.accounts[3].parent, 0U);
    EXPECT_TRUE(tree.accounts[3].user);
    EXPECT_EQ(tree.accounts[3].name, "ann");
    EXPECT_EQ(tree.accounts[3].usage, has_used ? 5 : 0);
    EXPECT_EQ(tree.charged, (AccountTree::Charged{{ann, 3}}));
  }
}

// Found by a review: a user that came late was charged to the others, and looked as if he had used nothing.
TEST(PolicyOwners, WhoIsCountedWithOthersIsOneOfThem) {
  PolicyConfig config;
  config.accounts = {{.name = "lab"}};
  const AccountTree tree = account_tree(config, used({{{"lab", "ann"}, 1}, {{"lab", kUsersTogether}, 9}}),
                                        {{"lab", "ann"}, {"lab", "late"}, {"lab", "later"}});
  ASSERT_EQ(tree.accounts.size(), 4U);
  EXPECT_EQ(tree.charged.at({"lab", "late"}), tree.charged.at({"lab", kUsersTogether}));
  EXPECT_EQ(tree.charged.at({"lab", "later"}), tree.charged.at({"lab", kUsersTogether}));
  EXPECT_NE(tree.charged.at({"lab", "ann"}), tree.charged.at({"lab", "late"}));
}

// Spec: policy-flux 5.4, step 6. The account took a rank, and so lowered the factors of all behind it.
TEST(PolicyOwners, AnAccountOfNobodyTakesNoRank) {
  PolicyConfig config;
  config.accounts = {{.name = "idle", .shares = 9}, {.name = "ann"}, {.name = "bob"}};
  const AccountTree tree =
      account_tree(config, used({{{"ann", "ann"}, 5}, {{"bob", "bob"}, 7}}), {{"ann", "ann"}, {"bob", "bob"}});
  EXPECT_FALSE(tree.accounts[0].user);
  const std::vector<double> ranks = policy::account_factors(tree.accounts, {policy::FairShareFactor::FairTree});
  EXPECT_EQ(ranks[1], 1);
  EXPECT_EQ(ranks[2], 0.5);
}

// Spec: policy-flux 5.1, 8: factors are of a user in an account.
TEST(PolicyOwners, UsersOfOneAccountEachHaveAShareOfIt) {
  PolicyConfig config;
  config.accounts = {{.name = "lab", .shares = 2}, {.name = "other"}};
  const AccountTree tree =
      account_tree(config, used({{{"lab", "heavy"}, 9}}), {{"lab", "light"}, {"other", "heavy"}, {"gone", "x"}});
  ASSERT_EQ(tree.accounts.size(), 5U);
  EXPECT_FALSE(tree.accounts[0].user);
  EXPECT_TRUE(tree.accounts[1].user);
  EXPECT_EQ(tree.accounts[3].name, "heavy");
  EXPECT_EQ(tree.accounts[3].usage, 9);
  EXPECT_EQ(tree.accounts[4].name, "light");
  EXPECT_EQ(tree.accounts[4].parent, 0U);
  EXPECT_EQ(tree.charged,
            (AccountTree::Charged{{{"lab", "heavy"}, 3}, {{"lab", "light"}, 4}, {{"other", "heavy"}, 1}}));
}

}  // namespace
}  // namespace penstock::supervisor
