// The GPUs of this host, by NVIDIA's management library if it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/units.hpp"

namespace penstock {

struct FoundGpu {
  std::uint32_t index = 0;  ///< As the library counts GPUs.
  std::string uuid;
  std::string name;
  std::string pci_address;  ///< `0000:65:00.0`
  Bytes memory;
  std::int32_t numa_node = -1;  ///< The nearest, as the kernel counts them; -1: unknown.
  std::uint32_t linked = 0;     ///< GPUs with the same number reach each other by NVLink; 0: none is known to.
  friend bool operator==(const FoundGpu&, const FoundGpu&) = default;
};

struct GpuSearch {
  /// Empty: the host's `libnvidia-ml.so.1`, or no GPUs if there is none. Not empty: this library must load.
  std::string library;
  /// GPUs that may be used, as in CUDA_VISIBLE_DEVICES: indices or the beginnings of UUIDs, up to the first that does
  /// not exist. Nothing: all.
  std::optional<std::string> visible;
  std::string root;  ///< Put before /sys; tests have a tree of their own.
};

/// Errors: Unsupported, for a named library that cannot be used. A host with a driver that does not answer has no GPUs;
/// a log line says so. The library is loaded for the duration of the call only.
Result<std::vector<FoundGpu>> find_gpus(const GpuSearch& search);

/// The selection from `gpus` by a text as in CUDA_VISIBLE_DEVICES, in the order of the text.
std::vector<FoundGpu> visible_gpus(const std::vector<FoundGpu>& gpus, std::string_view visible);
/// `00000000:65:00.0` and `0000:65:00.0` in the one form that sysfs uses.
std::string pci_address_of(std::string_view text);

}  // namespace penstock
