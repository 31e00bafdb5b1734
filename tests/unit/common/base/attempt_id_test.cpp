#include "common/base/attempt_id.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(AttemptId, HasTheWholeAttemptAndTheJobsIdentity) {
  const JobIdentity identity{0x0123456789abcdef, 0xf};
  const Attempt later{attempts_begin(2).value() + 1};
  EXPECT_EQ(attempt_id_of(identity, SubtaskIndex{42}, Attempt{1}), "0123456789abcdef000000000000000f-42-1");
  EXPECT_EQ(attempt_id_of(identity, SubtaskIndex{42}, later), "0123456789abcdef000000000000000f-42-4294967297");
  EXPECT_EQ(attempt_id_of({}, SubtaskIndex{0}, Attempt{1}), "00000000000000000000000000000000-0-1");
}

}  // namespace
}  // namespace penstock
