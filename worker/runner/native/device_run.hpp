// What one run of an operator has on the device of its band.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/report.hpp"
#include "worker/store/device_tier.hpp"

namespace penstock::worker {

/// Inputs that it has asked for are pinned until it ends; outputs belong to it until they are kept. Of the run's thread.
class DeviceRun {
 public:
  /// `tier` null: its band has no device. Outputs are part of what it has claimed. REQUIRES: all of these outlive it.
  DeviceRun(DeviceTier* tier, ObjectStore& store, std::span<const DataKey> inputs, DeviceClaim& claim)
      : tier_(tier), store_(store), inputs_(inputs), claim_(claim) {}
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  /// Where an input is there. Errors: Unsupported without a device or its driver; NotFound; as `DeviceStore::pin`.
  Result<std::uint64_t> input(std::uint64_t index);
  /// Errors: NotFound; as `DeviceStore::to_host`.
  Result<BlobPtr> input_on_host(std::uint64_t index);
  /// Memory for an output; asking again gives new memory. Errors: as `DeviceStore::allocate`.
  Result<std::uint64_t> output(std::uint32_t index, Bytes bytes);
  /// It is made elsewhere after all.
  void take_back(std::uint32_t index);
  /// The run has succeeded: appends what it has made there, which is in the store now.
  void keep_outputs(const SubtaskId& id, std::vector<OutputReport>& reports);

 private:
  Result<DeviceStore*> device();
  Result<DataKey> key_of(std::uint64_t index) const;

  DeviceTier* const tier_;
  ObjectStore& store_;
  const std::span<const DataKey> inputs_;
  DeviceClaim& claim_;
  std::vector<std::pair<DataKey, std::uint64_t>> pinned_;
  std::vector<BlobPtr> brought_;
  std::vector<std::pair<std::uint32_t, DeviceBuffer>> made_;
};

}  // namespace penstock::worker
