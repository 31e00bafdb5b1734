#include <gtest/gtest.h>

#include "supervisor/policy/ordering/multifactor.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

// Spec: policy-flux 2, 10.
TEST(Multifactor, AllZeroIsNotHeld) {
  EXPECT_EQ(weigh({}, {}).priority, 1);
  EXPECT_EQ(weigh({1, 1, 1, 1, 1, 1}, {}).priority, 372000);
  EXPECT_EQ(round_priority(1e30), kPriorityFirst - 1);
}

TEST(Multifactor, ServiceLevelsDominate) {
  const std::int64_t worst_expedite = weigh({0, 0, 1, 0, 0, 0}, {}).priority;
  const std::int64_t best_normal = weigh({1, 1, 0.5, 1, 1, 1}, {}).priority;
  EXPECT_GT(worst_expedite, best_normal);
}

TEST(Multifactor, TheTermsAddUp) {
  const PriorityTerms terms = weigh({0.5, 0.5, 0.5, 0, 0.25, 1}, {});
  double sum = 0;
  for (const double term : terms.terms) sum += term;
  EXPECT_EQ(round_priority(sum), terms.priority);
}

TEST(Multifactor, FactorsSaturate) {
  EXPECT_EQ(wait_factor(-5, 100), 0);
  EXPECT_EQ(wait_factor(500, 100), 1);
  EXPECT_EQ(size_factor(1, 100, SizeFavor::Small), 1);
  EXPECT_EQ(size_factor(100, 100, SizeFavor::Small), 0);
  EXPECT_FALSE(user_factor(1.5, false));
  EXPECT_FALSE(user_factor(-0.1, true));
  EXPECT_FALSE(quality_factor("golden"));
}

TEST(Multifactor, OlderWorkloadsNeverFallBehindTheirTwins) {
  PolicyBuilder builder;
  builder.workload("older").submitted_at = Instant{std::chrono::hours{1}};
  builder.workload("younger").submitted_at = Instant{std::chrono::hours{2}};
  for (int hour = 2; hour < 500; hour += 7) {
    builder.snapshot.now = Instant{std::chrono::hours{hour}};
    const std::vector<PriorityTerms> all = multifactor_priorities(builder.snapshot, {}, 8);
    EXPECT_GE(all[0].priority, all[1].priority);
  }
}

}  // namespace
}  // namespace penstock::policy
