#include <gtest/gtest.h>

#include "supervisor/policy/actions/protection.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

TEST(Protection, AJobIsLeftAloneForAWhile) {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(2);
  builder.job("young", builder.project("p", 2)).last_start = Instant{std::chrono::seconds{90}};
  builder.holds(1, band);
  builder.snapshot.now = Instant{std::chrono::seconds{100}};
  Parts parts = parts_named("quota");
  parts.preempt_min_runtime = std::chrono::seconds{20};
  EXPECT_FALSE(may_be_taken_from(QuotaPass{builder.snapshot, 0, parts}, 0, kNone));
  EXPECT_TRUE(keeps_protected_core(QuotaPass{builder.snapshot, 0, parts}, 0, kNone));
  builder.holds(1, band);
  EXPECT_TRUE(may_be_taken_from(QuotaPass{builder.snapshot, 0, parts}, 0, kNone)) << "it has one above its minimum";
  parts.preempt_min_runtime = std::chrono::seconds{5};
  EXPECT_TRUE(may_be_taken_from(QuotaPass{builder.snapshot, 0, parts}, 0, kNone));
}

}  // namespace
}  // namespace penstock::policy
