#include "common/protocol/resources.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

ResourceVector with(std::int64_t slots, std::vector<NamedAmount> named = {}) {
  ResourceVector amount;
  amount.slots = MilliSlots{slots};
  amount.named = std::move(named);
  return amount;
}

TEST(Resources, APartFitsWhereEveryResourceIsThere) {
  EXPECT_TRUE(fits_execution(with(1000, {{"disk", 2}}), with(1000, {{"disk", 2}, {"license", 1}})));
  EXPECT_FALSE(fits_execution(with(1001), with(1000)));
  EXPECT_FALSE(fits_execution(with(1000, {{"disk", 3}}), with(1000, {{"disk", 2}})));
  EXPECT_FALSE(fits_execution(with(0, {{"license", 1}}), with(1000)));
}

TEST(Resources, WhatIsTakenIsThereAgainWhenItIsGivenBack) {
  const ResourceVector part = with(300, {{"disk", 2}});
  ResourceVector whole = with(1000, {{"disk", 5}});
  take_away(part, whole);
  EXPECT_EQ(whole, with(700, {{"disk", 3}}));
  give_back(part, whole);
  EXPECT_EQ(whole, with(1000, {{"disk", 5}}));
}

TEST(Resources, TheFirstExcessIsNamedWithBothAmounts) {
  EXPECT_EQ(first_excess(with(1500), with(1000)), "milli-slots 1500 > 1000");
  EXPECT_EQ(first_excess(with(1, {{"disk", 3}}), with(1000, {{"disk", 2}})), "disk 3 > 2");
  EXPECT_EQ(first_excess(with(1, {{"disk", 3}}), with(1000)), "disk 3 > 0");
  EXPECT_EQ(first_excess(with(1000), with(1000)), "");
}

}  // namespace
}  // namespace penstock
