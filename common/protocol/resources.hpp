// The resources of a band and the request of a subtask.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/units.hpp"

namespace penstock {

/// An amount of a resource that only its name describes (licences, FPGA regions, ...).
struct NamedAmount {
  std::string name;
  std::int64_t amount = 0;
  friend bool operator==(const NamedAmount&, const NamedAmount&) = default;
};

/// A resource vector: the resources of a band, or those that an attempt holds while it runs. All integers, never
/// negative.
struct ResourceVector {
  MilliSlots slots;
  MilliCpu cpu;
  MilliGpu gpu;  ///< Of a request: a part of one device, or some whole ones.
  Bytes memory;
  Bytes device_memory;             ///< Of a band: of all its devices. Of a request: of each of its devices.
  std::vector<NamedAmount> named;  ///< Sorted by name, each name once.
  friend bool operator==(const ResourceVector&, const ResourceVector&) = default;
};

/// The hardware of a band.
enum class BandKind : std::uint8_t {
  Cpu = 0,  ///< The cores of one NUMA node.
  Gpu = 1,  ///< GPUs of one host with memory of the host beside them.
};

/// Devices of one band: bit `i` for the one at position `i`.
using DeviceSet = std::uint16_t;

/// How many whole devices are requested; 0: a part of one, or none.
inline std::int64_t whole_devices(const ResourceVector& request) {
  return request.gpu < MilliGpu{1000} ? 0 : request.gpu.value() / 1000;
}

/// The bands that a subtask requires or prefers; an empty field allows any.
struct BandSelector {
  std::string worker;  ///< Name of the worker.
  std::string band;    ///< Name of the band on it, e.g. `numa-0`.
  bool empty() const { return worker.empty() && band.empty(); }
  friend bool operator==(const BandSelector&, const BandSelector&) = default;
};

/// Sum of `amount` of every name; absent means 0.
std::int64_t amount_of(const std::vector<NamedAmount>& amounts, const std::string& name);

/// The part of the functions below that is about named resources; most vectors have none.
bool named_fit(const std::vector<NamedAmount>& part, const std::vector<NamedAmount>& whole);
void add_named(const std::vector<NamedAmount>& part, std::vector<NamedAmount>& whole, std::int64_t sign);

/// True if `part` is at most `whole` in every resource except memory, which the memory quota meters.
inline bool fits_execution(const ResourceVector& part, const ResourceVector& whole) {
  if (part.slots > whole.slots || part.cpu > whole.cpu || part.gpu > whole.gpu ||
      part.device_memory > whole.device_memory)
    return false;
  return part.named.empty() || named_fit(part.named, whole.named);
}
/// `whole` plus or minus `part`, except memory. REQUIRES of `take`: fits_execution(part, whole).
inline void give_back(const ResourceVector& part, ResourceVector& whole) {
  whole.slots += part.slots;
  whole.cpu += part.cpu;
  whole.gpu += part.gpu;
  whole.device_memory += part.device_memory;
  if (!part.named.empty()) add_named(part.named, whole.named, 1);
}
inline void take_away(const ResourceVector& part, ResourceVector& whole) {
  whole.slots -= part.slots;
  whole.cpu -= part.cpu;
  whole.gpu -= part.gpu;
  whole.device_memory -= part.device_memory;
  if (!part.named.empty()) add_named(part.named, whole.named, -1);
}

/// The first resource of `part` that exceeds `whole`, as `gpu 1000 > 0`; empty if all fit, memory included.
std::string first_excess(const ResourceVector& part, const ResourceVector& whole);

}  // namespace penstock
