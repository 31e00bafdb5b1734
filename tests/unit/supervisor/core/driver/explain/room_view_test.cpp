#include "supervisor/core/driver/explain/room_view.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

using Amounts = RoomView::Amounts;

RoomView room(std::vector<std::pair<std::uint64_t, std::uint64_t>> all_and_free) {
  RoomView view;
  for (const auto& [all, free] : all_and_free) view.places.push_back({BandSlot{0}, all, free, true});
  return view;
}

TEST(RoomViewTest, OneBandIsTheFullestThatHasRoom) {
  const RoomView view = room({{4000, 4000}, {4000, 2000}, {4000, 1000}});
  EXPECT_EQ(view.place(2000, {}), (Amounts{0, 2000, 0}));
  EXPECT_EQ(view.place(5000, {}), Amounts{});
  EXPECT_EQ(view.place(4000, {0, 0, 3000}), (Amounts{4000, 0, 0}));
  EXPECT_EQ(view.roomiest(), 4000U);
  EXPECT_EQ(view.held(), (Amounts{0, 2000, 3000}));
}

TEST(RoomViewTest, AGangTakesWholeBandsOfOneSize) {
  RoomView view = room({{4000, 4000}, {2000, 2000}, {4000, 3000}});
  EXPECT_FALSE(view.fits(8000, {0, 0, 1000}));
  view.whole_bands = true;
  EXPECT_FALSE(view.fits(8000, {}));
  EXPECT_EQ(view.place(8000, {0, 0, 1000}), (Amounts{4000, 0, 4000}));
  EXPECT_FALSE(view.fits(6000, {0, 0, 1000})) << "of two sizes";
  view.places = {{BandSlot{0}, 4000, 3000, true}, {BandSlot{1}, 4000, 3000, true}};
  EXPECT_FALSE(view.fits(6000, {})) << "none of them is empty";
}

TEST(RoomViewTest, PiecesTakePlacesOfTheirOwn) {
  RoomView view = room({{4000, 3000}, {4000, 1000}});
  view.piece = 2000;
  EXPECT_FALSE(view.fits(4000, {}));
  EXPECT_EQ(view.place(4000, {0, 1000}), (Amounts{2000, 2000}));
}

TEST(RoomViewTest, WhatIsClosedTakesNothingAndNothingIsMoreThanThereIs) {
  RoomView view = room({{4000, 4000}, {4000, 1000}});
  view.places[0].open = false;
  EXPECT_FALSE(view.fits(4000, {}));
  EXPECT_EQ(view.roomiest(), 1000U);
  EXPECT_FALSE(view.fits(5000, {0, 9000}));
}

}  // namespace
}  // namespace penstock::supervisor
