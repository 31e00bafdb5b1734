// The use of the band's device by one run of an operator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/report.hpp"
#include "worker/store/device_tier.hpp"

namespace penstock::worker {

/// The requested memory is claimed until the run ends, and its inputs and outputs on the device are part of the claim:
/// requested inputs are pinned until the end; outputs belong to the run until they are kept. Of the run's thread.
class DeviceRun {
 public:
  /// `tier` null: its band has no device. REQUIRES: both outlive it.
  DeviceRun(DeviceTier* tier, std::span<const DataKey> inputs, Bytes requested)
      : tier_(tier), inputs_(inputs), claim_(tier, requested) {}
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  /// Moves data off the device for the claim; seconds for a whole device. `knows_devices`: inputs that are there stay,
  /// as if the run had asked for them.
  void make_free(bool knows_devices);
  /// The address of an input on the device. Errors: Unsupported without a device or its driver; NotFound; as
  /// `DeviceStore::pin`.
  Result<std::uint64_t> input(std::uint64_t index);
  /// The input on the host; it may leave the device if the run has not asked for it there. Errors: NotFound; as
  /// `DeviceStore::to_host`.
  Result<BlobPtr> input_on_host(std::uint64_t index);
  /// Memory for an output; asking again gives new memory. Errors: as `DeviceStore::allocate`.
  Result<std::uint64_t> output(std::uint32_t index, Bytes bytes);
  /// Gives the output's memory back, because the output is made on the host.
  void take_back(std::uint32_t index);
  /// The run has succeeded: appends its outputs on the device, which are in the store now.
  void keep_outputs(const SubtaskId& id, std::vector<OutputReport>& reports);

 private:
  struct Input {
    DataKey key;
    std::uint64_t address = 0;
    Bytes claimed;      ///< The part that was claimed before.
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
