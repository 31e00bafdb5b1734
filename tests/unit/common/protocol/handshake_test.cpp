#include "common/protocol/handshake.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

ResourceVector gpus(std::int64_t milli, Bytes memory = {}) {
  ResourceVector request;
  request.gpu = MilliGpu{milli};
  request.device_memory = memory;
  return request;
}

TEST(Handshake, DevicesHoldAPartOfOneOrSomeWholeOnes) {
  const std::vector<DeviceDescription> devices{
      {"a", "", "", kGiB * 16, 0, 0}, {"b", "", "", kGiB * 80, 0, 0}, {"c", "", "", kGiB * 80, 0, 0}};
  EXPECT_TRUE(devices_could_hold(gpus(3000), devices));
  EXPECT_FALSE(devices_could_hold(gpus(4000), devices));
  EXPECT_TRUE(devices_could_hold(gpus(2000, kGiB * 40), devices));
  EXPECT_FALSE(devices_could_hold(gpus(3000, kGiB * 40), devices)) << "one is too small";
  EXPECT_TRUE(devices_could_hold(gpus(0, kGiB * 80), devices));
  EXPECT_FALSE(devices_could_hold(gpus(100, kGiB * 90), devices)) << "memory of two is not that of one";
  EXPECT_TRUE(devices_could_hold(gpus(4000, kGiB * 90), {})) << "nothing is known of them";
}

}  // namespace
}  // namespace penstock
