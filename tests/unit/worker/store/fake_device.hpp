// A device with memory of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "worker/store/device_memory.hpp"

namespace penstock::worker {

/// The fake notices what a device would not: a wrong address, a second `free`, memory that is never given back.
class FakeDevice : public DeviceMemory {
 public:
  explicit FakeDevice(std::size_t capacity) : capacity_(capacity) {}
  ~FakeDevice() override { EXPECT_TRUE(memory_.empty()) << memory_.size() << " pieces were not given back"; }

  Result<std::uint64_t> allocate(std::size_t bytes) override {
    if (broken || used_ + bytes > capacity_) return Error{ErrorCode::ResourceExhausted, "fake", "is full", {}};
    used_ += bytes;
    memory_[next_].resize(bytes);
    return std::exchange(next_, next_ + 1000);
  }
  void free(std::uint64_t address) override {
    ASSERT_TRUE(memory_.contains(address));
    used_ -= memory_[address].size();
    memory_.erase(address);
  }
  Result<void> write(std::uint64_t address, std::span<const std::byte> from) override {
    if (broken) return Error{ErrorCode::Internal, "fake", "is broken", {}};
    EXPECT_EQ(memory_.at(address).size(), from.size());
    memory_.at(address).assign(from.begin(), from.end());
    return {};
  }
  Result<void> read(std::uint64_t address, std::span<std::byte> to) override {
    if (broken) return Error{ErrorCode::Internal, "fake", "is broken", {}};
    if (while_reading) while_reading();
    EXPECT_EQ(memory_.at(address).size(), to.size());
    std::memcpy(to.data(), memory_.at(address).data(), to.size());
    return {};
  }

  void fill(std::uint64_t address, std::byte with) {
    std::fill(memory_.at(address).begin(), memory_.at(address).end(), with);
  }
  std::byte first(std::uint64_t address) const { return memory_.at(address).front(); }
  std::size_t used() const { return used_; }

  bool broken = false;  ///< Nothing works but giving back.
  std::function<void()> while_reading;

 private:
  const std::size_t capacity_;
  std::size_t used_ = 0;
  std::uint64_t next_ = 1000;
  std::map<std::uint64_t, std::vector<std::byte>> memory_;
};

}  // namespace penstock::worker
