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

/// What it has requested is claimed until it ends, and what it reads and makes there is a part of that: inputs that it
/// has asked for are pinned until it ends; outputs belong to it until they are kept. Of the run's thread.
class DeviceRun {
 public:
  /// `tier` null: its band has no device. REQUIRES: both outlive it.
  DeviceRun(DeviceTier* tier, std::span<const DataKey> inputs, Bytes requested)
      : tier_(tier), inputs_(inputs), claim_(tier, requested) {}
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  /// Data leave for what it has requested; seconds for a whole device. `knows_devices`: its inputs that are there stay,
  /// as if it had asked for them.
  void make_free(bool knows_devices);
  /// Where an input is there. Errors: Unsupported without a device or its driver; NotFound; as `DeviceStore::pin`.
  Result<std::uint64_t> input(std::uint64_t index);
  /// One that it has not asked for on the device may leave it now. Errors: NotFound; as `DeviceStore::to_host`.
  Result<BlobPtr> input_on_host(std::uint64_t index);
  /// Memory for an output; asking again gives new memory. Errors: as `DeviceStore::allocate`.
  Result<std::uint64_t> output(std::uint32_t index, Bytes bytes);
  /// It is made elsewhere after all.
  void take_back(std::uint32_t index);
  /// The run has succeeded: appends what it has made there, which is in the store now.
  void keep_outputs(const SubtaskId& id, std::vector<OutputReport>& reports);

 private:
  struct Input {
    DataKey key;
    std::uint64_t address = 0;
    Bytes claimed;      ///< So much of it was claimed before.
    bool asked = true;  ///< By the run.
  };
  struct Output {
    std::uint32_t index = 0;
    DeviceBuffer buffer;
    Bytes claimed;
  };

  std::vector<Input>::iterator find_pinned(const DataKey& key);
  Result<DeviceStore*> device();
  Result<DataKey> key_of(std::uint64_t index) const;

  DeviceTier* const tier_;
  const std::span<const DataKey> inputs_;
  DeviceClaim claim_;
  std::vector<Input> pinned_;
  std::vector<BlobPtr> brought_;
  std::vector<Output> made_;
};

}  // namespace penstock::worker
