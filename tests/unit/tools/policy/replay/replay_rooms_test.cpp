#include "tools/policy/replay/replay_rooms.hpp"

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

BandDescription band_of(std::int64_t devices) {
  BandDescription band;
  band.kind = BandKind::Gpu;
  band.capacity.gpu = MilliGpu{1000} * devices;
  band.capacity.cpu = MilliCpu{16'000} * devices;
  band.capacity.memory = Bytes{1000};
  return band;
}

ResourceVector request_of(std::int64_t gpu, std::int64_t cpu = 0, std::int64_t memory = 0) {
  ResourceVector request;
  request.gpu = MilliGpu{gpu};
  request.cpu = MilliCpu{cpu};
  request.memory = Bytes{memory};
  return request;
}

TEST(ReplayRooms, PartsOfOneDeviceLeaveTheOthersWhole) {
  const ReplayTrace trace;
  const TypicalRequests typical{trace};
  ReplayRooms rooms{typical};
  const std::uint32_t band = rooms.add(band_of(2));
  rooms.take(band, request_of(600), 2);
  rooms.take(band, request_of(300), 2);
  EXPECT_EQ(rooms.rest(band).whole, 1000);
  EXPECT_EQ(rooms.rest(band).parts, std::vector<std::int64_t>{100});
  rooms.take(band, request_of(1000), 1);
  EXPECT_EQ(rooms.rest(band).whole, 0);
  rooms.give_back(band, request_of(600), 2);
  EXPECT_EQ(rooms.rest(band).parts, std::vector<std::int64_t>{700});
  rooms.give_back(band, request_of(300), 2);
  EXPECT_EQ(rooms.rest(band).whole, 1000);
  EXPECT_TRUE(rooms.rest(band).parts.empty());
}

TEST(ReplayRooms, ARunWithMoreMemoryThanItsBandLeavesLessThanNothing) {
  const ReplayTrace trace;
  const TypicalRequests typical{trace};
  ReplayRooms rooms{typical};
  const std::uint32_t band = rooms.add(band_of(1));
  rooms.take(band, request_of(1000, 4000, 1100), 0);
  EXPECT_EQ(rooms.rest(band).cpu_milli, 12'000);
  EXPECT_EQ(rooms.rest(band).memory, -100);
  rooms.give_back(band, request_of(1000, 4000, 1100), 0);
  EXPECT_EQ(rooms.rest(band).memory, 1000);
}

TEST(ReplayRooms, FreeDevicesBesideTooFewProcessorsAreNoUse) {
  ReplayTrace trace;
  trace.jobs = {{.devices = 1, .cpu_milli = 1000}, {.devices = 1, .cpu_milli = 20'000}};
  const TypicalRequests typical{trace};
  ReplayRooms rooms{typical};
  const std::uint32_t band = rooms.add(band_of(2));
  EXPECT_DOUBLE_EQ(rooms.unusable_part(), 0);
  rooms.take(band, request_of(1000, 20'000), 1);
  EXPECT_DOUBLE_EQ(rooms.unusable_part(), 0.5);
}

}  // namespace
}  // namespace penstock::policy
