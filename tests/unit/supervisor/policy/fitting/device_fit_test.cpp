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

}  // namespace
}  // namespace penstock::policy
