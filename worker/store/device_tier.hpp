// The device of a band as a tier of the worker's store.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "worker/store/device_memory.hpp"
#include "worker/store/device_store.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// Nothing is done to a device before the first operator wants something of it: opening one takes half a second and some
/// of its memory. From then on whoever looks for a datum on the host that is only on the device gets a copy.
///
/// Any thread may call any member.
class DeviceTier : public DataTier {
 public:
  /// `uuid` as in `open_cuda_memory`; data take at most `capacity` of the device.
  DeviceTier(ObjectStore& host, std::string uuid, Bytes capacity, std::string library)
      : host_(host), uuid_(std::move(uuid)), capacity_(capacity), library_(std::move(library)) {}

  /// Opened by the first call. Errors: as `open_cuda_memory`; the next call tries again.
  Result<DeviceStore*> open();
  /// Of a datum that is there, else 0.
  Bytes bytes_of(const DataKey& key) const;
  Bytes used() const;

  BlobPtr to_host(const DataKey& key) override;
  void drop(const DataKey& key) override;
  /// REQUIRES: no operator runs.
  void clear() override;

 private:
  ObjectStore& host_;
  const std::string uuid_;
  const Bytes capacity_;
  const std::string library_;
  std::mutex opening_;                          ///< Guards the two; `opened_` is also read without it.
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceStore> store_;
  std::atomic<DeviceStore*> opened_{nullptr};  ///< `store_` when there is one (release, acquire).
};

}  // namespace penstock::worker
