#include "worker/core/jobs/shape_table.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

ResourceVector slots(std::int64_t milli) {
  ResourceVector vector;
  vector.slots = MilliSlots{milli};
  return vector;
}

TEST(ShapeTable, EqualRequestsHaveOneNumberWhileAnybodyUsesIt) {
  ShapeTable shapes;
  const std::uint16_t one = shapes.use(slots(1000));
  const std::uint16_t two = shapes.use(slots(2000));
  EXPECT_NE(one, 0);
  EXPECT_NE(one, two);
  EXPECT_EQ(shapes.use(slots(1000)), one);
  shapes.release(one);
  EXPECT_EQ(shapes.use(slots(1000)), one);
  shapes.release(one);
  shapes.release(one);
  EXPECT_EQ(shapes.use(slots(3000)), one) << "a number that nobody uses is given anew";
  EXPECT_EQ(shapes.use(slots(2000)), two);
}

TEST(ShapeTable, WhatDoesNotFitHasNone) {
  ShapeTable shapes;
  for (std::uint16_t i = 1; i <= ShapeTable::kShapesMax; ++i) EXPECT_EQ(shapes.use(slots(i)), i);
  EXPECT_EQ(shapes.use(slots(5000)), 0);
  EXPECT_EQ(shapes.use(slots(7)), 7);
  shapes.release(0);
}

}  // namespace
}  // namespace penstock::worker
