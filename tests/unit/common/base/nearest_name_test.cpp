#include "common/base/nearest_name.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

std::string nearest_of(std::string_view wanted) {
  NearestName nearest{wanted};
  for (const char* name : {"heartbeat", "silence_max", "window_frames"}) nearest.offer(name);
  return nearest.best();
}

TEST(NearestName, IsTheOneWithTheFewestChanges) {
  EXPECT_EQ(nearest_of("hartbeat"), "heartbeat");
  EXPECT_EQ(nearest_of("haertbeat"), "heartbeat");
  EXPECT_EQ(nearest_of("SILENCE_MAX"), "silence_max");
}

TEST(NearestName, IsNoneIfNoneIsMeant) {
  EXPECT_EQ(nearest_of("colour"), "");
  NearestName nearest{"x"};
  EXPECT_EQ(nearest.remedy(), "");
  nearest.offer("d");
  EXPECT_EQ(nearest.remedy(), "") << "every letter differs";
  nearest.offer("xy");
  EXPECT_EQ(nearest.remedy(), "did you mean 'xy'?");
}

TEST(NearestName, DistanceStopsAtItsLimit) {
  EXPECT_EQ(edit_distance("abc", "acb", 9), 1U);
  EXPECT_EQ(edit_distance("", "abc", 9), 3U);
  EXPECT_EQ(edit_distance("aaaaaaaa", "bbbbbbbb", 2), 3U);
}

}  // namespace
}  // namespace penstock
