#include <gtest/gtest.h>

#include "supervisor/policy/quota_pass.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

/// Two projects that hold three devices each; of the first an elastic job of two members and a younger single one.
PolicyBuilder two_holders() {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(6);
  const std::uint32_t first = builder.project("first", 1);
  const std::uint32_t second = builder.project("second", 2);
  builder.job("elastic", first);
  builder.holds(1, band, 2);
  builder.job("single", first);
  builder.holds(1, band);
  for (int i = 0; i < 3; ++i) {
    builder.job("other" + std::to_string(i), second);
    builder.holds(1, band);
  }
  return builder;
}

std::vector<std::uint32_t> members_in_order(QuotaPass& pass, const VictimChoice& choice) {
  pass.victims_in_order();
  pass.victim_order().choose(choice, [](std::uint32_t) { return true; });
  std::vector<std::uint32_t> members;
  for (std::size_t i = 0; const VictimPiece* piece = pass.victim_order().at(i); ++i)
    members.insert(members.end(), piece->members.begin(), piece->members.end());
  return members;
}

using Members = std::vector<std::uint32_t>;

TEST(VictimOrder, TheFullestProjectGivesFirstAndElasticJobsBeforeSingleOnes) {
  PolicyBuilder builder = two_holders();
  builder.snapshot.projects[0].shares[2].weight = 0;
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  EXPECT_EQ(members_in_order(pass, {.only_project = 0}), (Members{1, 2, 0}));
  EXPECT_EQ(members_in_order(pass, {.not_project = 0}), (Members{5, 4, 3}));
  EXPECT_EQ(members_in_order(pass, {}).front(), 1U);
  EXPECT_EQ(members_in_order(pass, {}).size(), 6U);
}

TEST(VictimOrder, AChangeOfOneProjectIsSeenAndLeavesTheOthersAsTheyAre) {
  const PolicyBuilder builder = two_holders();
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  EXPECT_EQ(members_in_order(pass, {}).size(), 6U);
  for (const std::uint32_t member : {0U, 1U, 2U}) pass.trial().leave(member);
  EXPECT_EQ(members_in_order(pass, {}), (Members{5, 4, 3}));
  pass.trial().leave(4);
  EXPECT_EQ(members_in_order(pass, {.not_project = 0}), (Members{5, 3}));
}

TEST(VictimOrder, JobsThatAreNotAdmittedArePassedOver) {
  const PolicyBuilder builder = two_holders();
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  pass.victims_in_order();
  pass.victim_order().choose({.only_project = 0, .name = 1}, [](std::uint32_t job) { return job != 0; });
  ASSERT_NE(pass.victim_order().at(0), nullptr);
  EXPECT_EQ(pass.victim_order().at(0)->members, Members{2});
  EXPECT_EQ(pass.victim_order().at(1), nullptr);
}

}  // namespace
}  // namespace penstock::policy
