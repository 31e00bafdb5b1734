#include <gtest/gtest.h>

#include "supervisor/policy/quota_pass.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(QuotaPass, LooksAtJobsThatCanStart) {
  PolicyBuilder builder;
  builder.device_band(4);
  const std::uint32_t department = builder.project("department", 4);
  const std::uint32_t project = builder.project("project", 4, department);
  builder.job("can", project);
  builder.wants(1);
  builder.job("lacks-members", project).sets[0].min = 2;
  builder.wants(1);
  builder.job("of-a-department", department);
  builder.wants(1);
  const Parts parts = parts_named("quota");
  EXPECT_EQ((QuotaPass{builder.snapshot, 0, parts}.candidates()), std::vector<std::uint32_t>{0});
}

TEST(QuotaPass, ExplainsTheLimitThatHolds) {
  PolicyBuilder builder;
  builder.device_band(4);
  const std::uint32_t project = builder.project("p", 1);
  builder.snapshot.projects[project].shares[2].limit = 2000;
  builder.job("large", project);
  builder.wants(3);
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  allocate(pass);
  Plan plan;
  pass.write(plan);
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::ProjectLimit);
  EXPECT_EQ(plan.explanations[0].need, 3000);
  EXPECT_EQ(plan.explanations[0].have, 2000);
}

TEST(QuotaPass, NamesTheResourceOfWhichThereIsTooLittle) {
  PolicyBuilder builder;
  builder.device_band(4);
  builder.snapshot.bands[0].capacity.memory = 1000;
  builder.job("large", builder.project("p", 4));
  builder.wants(1, 2);
  builder.snapshot.members[0].request.memory = 1000;
  builder.snapshot.members[1].request.memory = 600;
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  allocate(pass);
  Plan plan;
  pass.write(plan);
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].hold, Hold::NoRoom);
  EXPECT_EQ(plan.explanations[0].resource, Resource::Memory);
  EXPECT_EQ(plan.explanations[0].need, 600);
  EXPECT_EQ(plan.explanations[0].have, 0);
}

}  // namespace
}  // namespace penstock::policy
