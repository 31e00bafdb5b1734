#include "common/base/units.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Amount, SumsSaturateInsteadOfWrapping) {
  EXPECT_EQ(Bytes::max() + Bytes{1}, Bytes::max());
  EXPECT_EQ(Bytes{-1} - Bytes::max() - Bytes{2}, Bytes{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(kGiB * (std::int64_t{1} << 40), Bytes::max());
  EXPECT_EQ(kGiB * -(std::int64_t{1} << 40), Bytes{std::numeric_limits<std::int64_t>::min()});
}

TEST(Amount, OrdinarySumsAreExact) {
  EXPECT_EQ(kKiB * 3 - kKiB, Bytes{2048});
  EXPECT_LT(kKiB, kMiB);
}

}  // namespace
}  // namespace penstock
