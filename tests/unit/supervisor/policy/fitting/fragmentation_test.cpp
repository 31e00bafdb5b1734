#include "supervisor/policy/fitting/fragmentation.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/trial.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

class Fragmentation : public ::testing::Test {
 protected:
  std::uint32_t host(std::int64_t devices, std::int64_t cores) {
    const std::uint32_t band = builder_.device_band(devices);
    builder_.snapshot.bands[band].capacity.cpu = cores * 1000;
    return band;
  }
  void asks(std::int64_t cores) { builder_.last_member().request.cpu = cores * 1000; }
  std::uint32_t wants(std::int64_t devices, std::int64_t cores) {
    builder_.wants(devices);
    asks(cores);
    return last();
  }
  std::uint32_t wants_part(std::int64_t thousandths) {
    builder_.wants_part(thousandths);
    return last();
  }
  void holds(std::int64_t devices, std::int64_t cores, std::uint32_t band) {
    builder_.holds(devices, band);
    asks(cores);
  }
  /// On a shared device of that number.
  void holds_part(std::int64_t thousandths, std::uint32_t band, std::uint32_t device) {
    builder_.wants_part(thousandths);
    builder_.last_member().state = MemberState::Running;
    builder_.last_member().places = {{band, 1}};
    builder_.last_member().device_groups = {device};
  }
  std::uint32_t last() const { return static_cast<std::uint32_t>(builder_.snapshot.members.size() - 1); }

  BandChoice chosen(std::uint32_t member, Fitting fitting = Fitting::Fragmentation) const {
    Parts parts = parts_named("quota");
    parts.gpu_fitting = parts.cpu_fitting = fitting;
    return choose_band(Trial{builder_.snapshot, 0, parts}, member, Trial::When::NowOrLater, {}).value();
  }

  PolicyBuilder builder_;
  const std::uint32_t project_ = builder_.project("p", 64);
};

// The case of the issue: the host with the fewest processors free is the one with free devices.
TEST_F(Fragmentation, WorkWithoutDevicesKeepsAwayFromFreeDevices) {
  const std::uint32_t with_free_devices = host(8, 32);
  const std::uint32_t all_in_use = host(2, 96);
  builder_.job("runs", project_);
  holds(2, 8, all_in_use);
  builder_.job("typical", project_);
  for (int i = 0; i < 4; ++i) wants(1, 4);
  builder_.job("without", project_);
  const std::uint32_t without = wants(0, 16);
  EXPECT_EQ(chosen(without).band, all_in_use);
  EXPECT_EQ(chosen(without, Fitting::BinPack).band, with_free_devices);
}

// With processors in plenty nothing is lost anywhere, but a host with all devices in use cannot lose anything.
TEST_F(Fragmentation, WorkWithoutDevicesKeepsAwayAlsoWhereNothingIsLostYet) {
  host(4, 64);
  const std::uint32_t fewest_free = host(4, 96);
  builder_.job("runs", project_);
  holds(3, 3, fewest_free);
  builder_.job("without", project_);
  EXPECT_EQ(chosen(wants(0, 8)).band, fewest_free);
  const std::uint32_t without_devices = host(0, 128);
  EXPECT_EQ(chosen(last()).band, without_devices);
}

TEST_F(Fragmentation, PartsCompleteADeviceThatIsStarted) {
  const std::uint32_t idle = host(4, 64);
  const std::uint32_t started = host(4, 64);
  builder_.job("runs", project_);
  holds_part(500, started, 0);
  builder_.job("typical", project_);
  wants(1, 1);
  const std::uint32_t part = wants_part(500);
  const BandChoice choice = chosen(part);
  EXPECT_EQ(choice.band, started);
  EXPECT_EQ(choice.fit.groups, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(choice.fit.now);
  EXPECT_NE(choice.band, idle);
}

// Both shared devices have room. Beside the fullest one 100 thousandths would be left that no request can use; on the
// other one the rest is of use for a request of 300.
TEST_F(Fragmentation, APartGoesToTheDeviceWhereTheRestIsOfUse) {
  const std::uint32_t band = host(2, 64);
  builder_.job("runs", project_);
  holds_part(600, band, 0);
  holds_part(400, band, 1);
  builder_.job("typical", project_);
  for (int i = 0; i < 9; ++i) wants_part(300);
  const BandChoice choice = chosen(last());
  EXPECT_EQ(choice.fit.groups, std::vector<std::uint32_t>{1});
  EXPECT_EQ(chosen(last(), Fitting::BinPack).fit.groups, std::vector<std::uint32_t>{0});
}

TEST_F(Fragmentation, ASingleDeviceLeavesWholeHostsWhole) {
  host(8, 96);
  const std::uint32_t begun = host(8, 96);
  builder_.job("runs", project_);
  holds(3, 3, begun);
  builder_.job("typical", project_);
  for (int i = 0; i < 3; ++i) wants(8, 64);
  EXPECT_EQ(chosen(wants(1, 4)).band, begun);
}

// Room now comes first of all: fragmentation is no reason to wait.
TEST_F(Fragmentation, RoomNowComesBeforeRoomThatIsBeingLeft) {
  const std::uint32_t idle = host(8, 96);
  const std::uint32_t being_left = host(8, 96);
  builder_.job("leaves", project_);
  holds(3, 3, being_left);
  holds(5, 3, being_left);
  builder_.last_member().state = MemberState::Leaving;
  builder_.job("typical", project_);
  for (int i = 0; i < 3; ++i) wants(8, 64);
  const BandChoice choice = chosen(wants(1, 4));
  EXPECT_EQ(choice.band, idle);
  EXPECT_TRUE(choice.fit.now);
}

TEST_F(Fragmentation, CountsShapesByFrequencyAndLeavesOutWhatEnded) {
  builder_.job("job", project_);
  host(8, 96);
  wants(0, 4);
  wants(2, 4);
  wants(1, 4);
  wants(1, 4);
  wants(4, 4);
  builder_.last_member().state = MemberState::Succeeded;
  const std::vector<TypicalRequest> requests = typical_requests(builder_.snapshot, 0);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].shape.amounts.gpu, 1000);
  EXPECT_EQ(requests[0].count, 2);
  EXPECT_EQ(requests[1].shape.amounts.gpu, 2000);
  EXPECT_TRUE(typical_requests(builder_.snapshot, 1).empty());
}

TEST_F(Fragmentation, TheRarestShapesCountForNothing) {
  builder_.job("job", project_);
  for (std::size_t i = 0; i < kTypicalRequestsMax + 10; ++i) wants(1, static_cast<std::int64_t>(i + 1));
  wants(2, 1);
  wants(2, 1);
  const std::vector<TypicalRequest> requests = typical_requests(builder_.snapshot, 0);
  ASSERT_EQ(requests.size(), kTypicalRequestsMax);
  EXPECT_EQ(requests[0].shape.amounts.gpu, 2000);
}

// A band that a request may not use is as good as full to it.
TEST_F(Fragmentation, DevicesOfOtherBandsAreOfNoUse) {
  const std::uint32_t wanted = host(4, 64);
  const std::uint32_t other = host(4, 64);
  builder_.job("typical", project_);
  wants(1, 1);
  builder_.only_on({wanted});
  builder_.job("anywhere", project_);
  EXPECT_EQ(chosen(wants(1, 2)).band, other);
}

TEST(FreeDevices, WhatARequestCannotUse) {
  FreeDevices free;
  free.cpu = 8000;
  free.memory = 100;
  free.places = 4;
  free.whole = 2;
  free.device_memory_mib = 1000;
  free.rests = {{700, 700}, {-1, 0}, {200, 200}};
  EXPECT_EQ(free.all(), 2900);
  EXPECT_EQ(free.unusable({{1000, 10, 1000}, 0, 0, 0}), 900);
  EXPECT_EQ(free.unusable({{1000, 10, 3000}, 0, 0, 0}), 2900);
  EXPECT_EQ(free.unusable({{9000, 10, 1000}, 0, 0, 0}), 2900);
  EXPECT_EQ(free.unusable({{1000, 101, 1000}, 0, 0, 0}), 2900);
  EXPECT_EQ(free.unusable({{1000, 10, 0}, 500, 0, 1}), 200);
  EXPECT_EQ(free.unusable({{1000, 10, 0}, 0, 100, 1}), 0);
  EXPECT_EQ(free.unusable({{1000, 10, 0}, 500, 0, 3}), 200);
  EXPECT_EQ(free.unusable({{1000, 10, 0}, 500, 0, 4}), 2900);
  EXPECT_EQ(free.unusable({{1000, 10, 0}, 0, 0, 0}), 2900);  // Without devices none is of use.
  free.places = 2;                                           // One for the request, one for a device that is opened.
  EXPECT_EQ(free.unusable({{1000, 10, 0}, 500, 0, 3}), 2900);
}

}  // namespace
}  // namespace penstock::policy
