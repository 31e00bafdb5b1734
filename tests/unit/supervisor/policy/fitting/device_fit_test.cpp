#include <gtest/gtest.h>

#include "supervisor/policy/fitting/device_fit.hpp"

namespace penstock::policy {
namespace {

BandRoom shared(std::vector<std::int64_t> held) {
  BandRoom room;
  room.device_memory_mib = 100;
  room.idle.gpu = 1000;
  for (const std::int64_t mib : held) {
    room.groups.push_back({static_cast<std::uint32_t>(room.groups.size()), mib});
    room.groups.back().held = 1;
  }
  return room;
}

// Spec: policy-runai 8.
TEST(DeviceFit, PacksTheFullestAndSpreadsOverWholeDevices) {
  const BandRoom room = shared({30, 60});
  EXPECT_EQ(fit_devices(room, {1, 40, Fitting::BinPack})->groups, std::vector<std::uint32_t>{1});
  EXPECT_EQ(fit_devices(room, {1, 50, Fitting::BinPack})->groups, std::vector<std::uint32_t>{0});
  EXPECT_EQ(fit_devices(room, {1, 40, Fitting::Spread})->opened, 1U);
}

TEST(DeviceFit, SharedDevicesCountWhole) {
  BandRoom room = shared({30, 100});
  room.idle.gpu = 0;
  EXPECT_EQ(room_with_shared(room).gpu, 2000);
  EXPECT_TRUE(has_room_for_devices(room));
  EXPECT_EQ(room_with_shared(shared({})).gpu, 1000);
  room = shared({100});
  room.idle.gpu = 0;
  EXPECT_FALSE(has_room_for_devices(room));
  room.idle.gpu = 1000;
  EXPECT_TRUE(has_room_for_devices(room));
}

TEST(DeviceFit, NeedsDifferentDevices) {
  EXPECT_EQ(fit_devices(shared({30}), {2, 40, Fitting::BinPack})->groups.size(), 2U);
  EXPECT_FALSE(fit_devices(shared({30}), {3, 40, Fitting::BinPack}));
}

TEST(DeviceFit, WhatIsBeingLeftIsFreeLater) {
  BandRoom room = shared({30});
  room.idle.gpu = 0;
  room.groups[0].leaving = 1;
  room.groups[0].leaving_mib = 70;
  const std::optional<DeviceFit> fit = fit_devices(room, {1, 50, Fitting::BinPack});
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->now);
}

/// Small enough to look at all of it: two shared devices in every state, every part, both ways of packing.
TEST(DeviceFit, ThePreviewIsThatOfTheFit) {
  for (std::int64_t code = 0; code < 4 * 4 * 3 * 3 * 4; ++code) {
    BandRoom room = shared({20 * (code % 4), 25 * (code / 4 % 4)});
    room.groups[0].leaving = static_cast<std::int32_t>(code / 16 % 3);
    room.groups[0].leaving_mib = 20 * room.groups[0].leaving;
    room.groups[1].promised = static_cast<std::int32_t>(code / 48 % 3);
    room.groups[1].promised_mib = 20 * room.groups[1].promised;
    if (code % 4 == 0) room.groups[0].held = 0;
    room.idle.gpu = code / 144 % 2 * 1000;
    room.leaving.gpu = code / 288 % 2 * 1000;
    std::int64_t most = -1;
    for (std::int64_t mib = 0; mib <= 100; mib += 5) {
      if (shared_device_fits(room, {1, mib, Fitting::BinPack})) most = mib;
      for (const Fitting fitting : {Fitting::BinPack, Fitting::Spread})
        for (std::int64_t devices = 1; devices <= 3; ++devices) {
          const DeviceRequest request{devices, mib, fitting};
          const std::optional<DeviceFit> fit = fit_devices(room, request);
          const std::optional<DevicePreview> best_case = look_at_devices(room, request);
          ASSERT_EQ(fit.has_value(), best_case.has_value()) << code << " " << mib;
          if (!fit) continue;
          EXPECT_EQ(fit->now, best_case->now) << code << " " << mib;
          EXPECT_EQ(fit->opened, best_case->opened) << code << " " << mib;
        }
    }
    EXPECT_EQ(most_shared_memory(room), most) << code;
  }
}

}  // namespace
}  // namespace penstock::policy
