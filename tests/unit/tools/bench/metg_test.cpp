#include "tools/bench/metg.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::tools {
namespace {

TEST(Metg, IsWhereEfficiencyFallsThroughOneHalf) {
  EXPECT_DOUBLE_EQ(metg_of({{4000, 1, 0.9}, {2000, 1, 0.5}, {1000, 1, 0.3}}), 2000);
  // In the middle of a logarithmic scale.
  EXPECT_NEAR(metg_of({{4000, 1, 0.6}, {1000, 1, 0.4}}), 2000, 1e-9);
}

TEST(Metg, IsNoneForACurveThatDoesNotCross) {
  EXPECT_EQ(metg_of({}), 0);
  EXPECT_EQ(metg_of({{4000, 1, 0.9}}), 0);
  EXPECT_EQ(metg_of({{4000, 1, 0.9}, {2000, 1, 0.8}}), 0);
  EXPECT_EQ(metg_of({{4000, 1, 0.4}, {2000, 1, 0.2}}), 0);
}

TEST(Metg, IsTheFirstCrossingOfAnUnevenCurve) {
  EXPECT_DOUBLE_EQ(metg_of({{8000, 1, 0.9}, {4000, 1, 0.5}, {2000, 1, 0.45}, {1000, 1, 0.6}, {500, 1, 0.1}}), 4000);
}

TEST(Metg, IsDrawnAsABarForEachLength) {
  MetgCurve curve;
  curve.pattern = "stencil";
  curve.points = {{1'000'000, 1, 0.99}, {2000, 1, 0.25}, {1000, 1, 1.7}};
  const std::string picture = draw_metg(curve);
  EXPECT_NE(picture.find("(stencil)"), std::string::npos);
  EXPECT_NE(picture.find("   1.00 ms #"), std::string::npos) << picture;
  EXPECT_NE(picture.find("99.0%"), std::string::npos);
  EXPECT_NE(picture.find("25.0%"), std::string::npos);
  std::size_t longest = 0;
  for (std::size_t at = 0; at < picture.size(); at = picture.find('\n', at) + 1)
    longest = std::max(longest, picture.find('\n', at) - at);
  EXPECT_LE(longest, 80U);
}

TEST(Metg, FieldsAreNamedWithTheirUnits) {
  MetgCurve curve;
  curve.pattern = "tree";
  curve.metg_us = 1.5;
  curve.points = {{2000, 0.5, 0.25}};
  const Value value = to_value(curve);
  EXPECT_EQ(value["metg_50_us"], Value{1.5});
  EXPECT_EQ((*value["points"].list())[0]["burn_ns"], Value{2000.0});
}

}  // namespace
}  // namespace penstock::tools
