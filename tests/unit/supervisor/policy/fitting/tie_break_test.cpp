#include <gtest/gtest.h>

#include "supervisor/policy/fitting/tie_break.hpp"

namespace penstock::policy {
namespace {

TEST(TieBreak, HashesAreThoseOfRfc1321) {
  // MD5("") = d41d8cd98f00b204..., MD5("abc") = 900150983cd24fb0..., the first eight bytes read as little endian.
  EXPECT_EQ(name_hash(""), 0x04b2008fd98c1dd4U);
  EXPECT_EQ(name_hash("abc"), 0xb04fd23c98500190U);
  EXPECT_EQ(name_hash("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            0x55c9e32ba2f4ed57U);
}

TEST(TieBreak, DistanceGoesRoundTheCircle) {
  EXPECT_EQ(tie_distance(1, 3), ~std::uint64_t{0} - 1);
  EXPECT_EQ(tie_distance(3, 1), 2U);
}

}  // namespace
}  // namespace penstock::policy
