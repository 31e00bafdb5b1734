// The reference cases of the cluster policy, where they are at hand: one line for each case that differs.
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/policy/command_policy_check.hpp"

namespace penstock {
namespace {

/// Beside the repository, as `docs/policy.md` says. The cases are not part of the repository.
const std::filesystem::path kScenarios = std::filesystem::path{PENSTOCK_SOURCE_DIR} / "../shared/scenarios";

void expect_all_to_pass(const std::string& folder) {
  if (!std::filesystem::is_directory(kScenarios / folder))
    GTEST_SKIP() << "SKIPPED: there are no reference cases at " << kScenarios / folder;
  const auto verdicts = tools::check_policy_cases(kScenarios / folder);
  ASSERT_TRUE(verdicts) << to_string(verdicts.error());
  EXPECT_FALSE(verdicts->empty());
  for (const tools::CaseVerdict& verdict : *verdicts) {
    for (const std::string& difference : verdict.differences) ADD_FAILURE() << verdict.id << ": " << difference;
    for (const std::string& remark : verdict.remarks) ADD_FAILURE() << verdict.id << ": " << remark;
  }
}

TEST(PolicyCases, FairShareAndPriority) { expect_all_to_pass("determined"); }
TEST(PolicyCases, Quotas) { expect_all_to_pass("kai"); }
TEST(PolicyCases, FactorsLimitsAndBackfill) { expect_all_to_pass("flux"); }

}  // namespace
}  // namespace penstock
