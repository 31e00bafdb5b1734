#include "supervisor/policy/sharing/share_flow.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

TEST(ShareFlow, WhoMayBeElsewhereMakesWay) {
  const ClassedPool pool{{2, 2}, {{0, 1}, {0}}, {{{0, 2}}, {{1, 2}}}, {}};
  ShareFlow flow{pool};
  EXPECT_EQ(flow.push(0, 2), 2);
  EXPECT_EQ(flow.push(1, 2), 2);
  EXPECT_EQ(flow.of_room(0, 0), 0);
  EXPECT_EQ(flow.of_room(0, 1), 2);
  EXPECT_EQ(flow.push(1, 1), 0);
}

// The first group has places of both classes: it makes way by taking another of its own.
TEST(ShareFlow, AGroupMakesWayFromOneOfItsClassesToAnother) {
  const ClassedPool pool{{1, 1}, {{0}, {1}}, {{{0, 1}, {1, 1}}, {{0, 1}}}, {}};
  ShareFlow flow{pool};
  EXPECT_EQ(flow.push(0, 1), 1);
  EXPECT_EQ(flow.push(1, 1), 1);
  EXPECT_EQ(flow.of_demand(0, 0), 0);
  EXPECT_EQ(flow.of_demand(0, 1), 1);
}

TEST(ShareFlow, WhoCrowdsIsStuckAndNobodyElse) {
  const ClassedPool pool{{1, 5}, {{0}, {1}}, {{{0, 3}}, {{0, 3}}, {{1, 3}}}, {}};
  ShareFlow flow{pool};
  EXPECT_EQ(flow.push(0, 1), 1);
  EXPECT_EQ(flow.push(2, 3), 3);
  EXPECT_EQ(flow.push(1, 1), 0);
  EXPECT_TRUE(flow.stuck(0) && flow.stuck(1));
  EXPECT_FALSE(flow.stuck(2));
}

TEST(ShareFlow, WhatStandsIsTakenAsItIs) {
  const ClassedPool pool{{1, 1}, {{0, 1}}, {{{0, 2}}}, {}};
  ShareFlow flow{pool, 3};
  flow.place(0, 0, 1, 3);
  EXPECT_EQ(flow.push(0, 6), 3);
  EXPECT_EQ(flow.of_room(0, 0), 3);
  EXPECT_EQ(flow.of_demand(0, 0), 6);
}

}  // namespace
}  // namespace penstock::policy
