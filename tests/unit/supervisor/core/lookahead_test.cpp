#include "supervisor/core/lookahead.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

TEST(PartAhead, IsThePartOfTheBandsSlots) {
  EXPECT_EQ(part_ahead(8192, 32, 64), 4096U);
  EXPECT_EQ(part_ahead(8192, 11, 64), 1408U);
  EXPECT_EQ(part_ahead(~0U, 1, 2), ~0U / 2);
}

TEST(PartAhead, IsAllOfItForWhoHasTheWholeBand) {
  EXPECT_EQ(part_ahead(8192, 64, 64), 8192U);
  EXPECT_EQ(part_ahead(8192, 65, 64), 8192U);
}

TEST(PartAhead, IsNeverNothing) { EXPECT_EQ(part_ahead(8, 1, 64), 1U); }

}  // namespace
}  // namespace penstock::supervisor
