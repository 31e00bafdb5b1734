// The memory of one device, as the store uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/result.hpp"
#include "common/base/units.hpp"

namespace penstock::worker {

/// Four operations, each done when it returns. Implementations: `open_cuda_memory`, and a fake in the tests. Errors:
/// ResourceExhausted if the device has no more memory; Unsupported or Internal with the device's own words. Not
/// synchronised: `DeviceStore` calls one at a time.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// An address of the device.
  virtual Result<std::uint64_t> allocate(std::size_t bytes) = 0;
  virtual void free(std::uint64_t address) = 0;
  virtual Result<void> write(std::uint64_t address, std::span<const std::byte> from) = 0;
  virtual Result<void> read(std::uint64_t address, std::span<std::byte> to) = 0;
};

/// The memory of an NVIDIA device, named by its UUID as NVML writes it (`GPU-...`). `library` is CUDA's driver. Errors:
/// Unsupported without it; NotFound if the host has no such device.
Result<std::unique_ptr<DeviceMemory>> open_cuda_memory(const std::string& uuid,
                                                       const std::string& library = "libcuda.so.1");

}  // namespace penstock::worker
