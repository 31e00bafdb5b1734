// The memory of a device behind CUDA's driver: a driver of the test's own everywhere, NVIDIA's where the host has a
// GPU.
#include <gtest/gtest.h>

#include <thread>

#include "common/base/rng.hpp"
#include "common/host/gpus.hpp"
#include "worker/store/device_memory.hpp"
#include "worker/store/device_store.hpp"

namespace penstock::worker {
namespace {

struct Host {
  const char* name;
  const char* library;
  std::string device;  ///< Empty: the first that the host has.
  friend void PrintTo(const Host& host, std::ostream* out) { *out << host.library; }
};

class CudaMemoryTest : public ::testing::TestWithParam<Host> {
 protected:
  void SetUp() override {
    std::string device = GetParam().device;
    if (device.empty()) {
      const Result<std::vector<FoundGpu>> gpus = find_gpus({});
      if (!gpus || gpus->empty()) GTEST_SKIP() << "this host has no NVIDIA GPU";
      device = gpus->front().uuid;
    }
    Result<std::unique_ptr<DeviceMemory>> opened = open_cuda_memory(device, GetParam().library);
    ASSERT_TRUE(opened) << to_string(opened.error());
    memory = std::move(opened).value();
  }
  std::vector<std::byte> random_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& each : bytes) each = static_cast<std::byte>(rng.below(256));
    return bytes;
  }
  /// Writes, reads and gives back.
  bool carries(std::size_t count) {
    const std::vector<std::byte> sent = random_bytes(count);
    std::vector<std::byte> back(count);
    const Result<std::uint64_t> address = memory->allocate(count);
    if (!address) return false;
    const bool done = memory->write(*address, sent).has_value() && memory->read(*address, back).has_value();
    memory->free(*address);
    return done && sent == back;
  }

  Rng rng{7};
  std::unique_ptr<DeviceMemory> memory;
};

TEST_P(CudaMemoryTest, WhatIsWrittenIsRead) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{4096}, std::size_t{10'000'019}})
    EXPECT_TRUE(carries(count)) << count;
}

TEST_P(CudaMemoryTest, AnyThreadMayUseIt) {
  bool carried = false;
  std::thread{[&] { carried = carries(1000); }}.join();
  EXPECT_TRUE(carried);
}

TEST_P(CudaMemoryTest, MoreThanThereIsIsRefusedInTheDriversWords) {
  const Result<std::uint64_t> address = memory->allocate(std::size_t{1} << 50U);
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, ErrorCode::ResourceExhausted);
  EXPECT_NE(address.error().message.find("out of memory"), std::string::npos) << address.error().message;
}

TEST_P(CudaMemoryTest, DataThatLeaveTheDeviceComeBackAsTheyWere) {
  constexpr std::int64_t kEach = 3'000'000;
  ObjectStore host;
  DeviceStore store{*memory, host, Bytes{kEach * 2}};
  std::vector<std::vector<std::byte>> made;
  const auto key = [](std::uint32_t number) { return DataKey{{JobId{1}, SubtaskIndex{number}}, 0}; };
  for (std::uint32_t i = 0; i < 5; ++i) {
    Result<DeviceBuffer> buffer = store.allocate(Bytes{kEach});
    ASSERT_TRUE(buffer) << to_string(buffer.error());
    made.push_back(random_bytes(kEach));
    ASSERT_TRUE(memory->write(buffer->address(), made.back()));
    store.put(key(i), std::move(buffer).value());
  }
  EXPECT_EQ(store.spilled(), 3U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Result<std::uint64_t> address = store.pin(key(i));
    ASSERT_TRUE(address) << to_string(address.error());
    std::vector<std::byte> back(kEach);
    ASSERT_TRUE(memory->read(*address, back));
    EXPECT_EQ(back, made[i]) << i;
    store.unpin(key(i), *address);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CudaMemoryTest,
                         ::testing::Values(Host{"AFakeDriver", PENSTOCK_FAKE_CUDA,
                                                "GPU-22222222-aaaa-bbbb-cccc-000000000002"},
                                           Host{"ThisHost", "libcuda.so.1", ""}),
                         [](const auto& each) { return each.param.name; });

TEST(CudaMemory, AHostWithoutItsDriverSaysSo) {
  const auto memory = open_cuda_memory("GPU-1", "/no/such/libcuda.so");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::Unsupported);
  EXPECT_NE(memory.error().message.find("cannot be loaded"), std::string::npos);
}

TEST(CudaMemory, ALibraryThatIsNoDriverIsRefused) {
  const auto memory = open_cuda_memory("GPU-1", "libdl.so.2");
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.error().message.find("lacks functions"), std::string::npos);
}

TEST(CudaMemory, ADeviceThatTheHostDoesNotHaveIsNotFound) {
  const auto memory = open_cuda_memory("GPU-33333333-3333-3333-3333-333333333333", PENSTOCK_FAKE_CUDA);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace penstock::worker
