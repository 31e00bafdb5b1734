#include "common/net/revoked_serials.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(RevokedSerials, LaterNoticesAddToEarlierOnes) {
  RevokedSerials revoked;
  EXPECT_FALSE(revoked.contains("0A"));
  revoked.add({"0A", "0B"});
  revoked.add({"0C"});
  revoked.add({});
  EXPECT_TRUE(revoked.contains("0A"));
  EXPECT_TRUE(revoked.contains("0C"));
  EXPECT_FALSE(revoked.contains("0"));
  EXPECT_FALSE(revoked.contains(""));
}

}  // namespace
}  // namespace penstock
