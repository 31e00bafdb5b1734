// The device of a band as a tier of the worker's store.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "worker/store/device_memory.hpp"
#include "worker/store/device_store.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// The device is opened when the first operator needs it: opening takes half a second and some of its memory. From then
/// on a thread that looks for a datum on the host gets a copy if it is only on the device.
///
/// Any thread may call any member.
class DeviceTier : public DataTier {
 public:
  /// `uuid` as in `open_cuda_memory`; data take at most `capacity` of the `device` bytes that it has.
  DeviceTier(ObjectStore& host, std::string uuid, Bytes capacity, Bytes device, std::string library)
      : host_(host), uuid_(std::move(uuid)), capacity_(capacity), device_(device), library_(std::move(library)) {}

  /// Opened by the first call. Errors: as `open_cuda_memory`; the next call tries again.
  Result<DeviceStore*> open();
  /// Size of a datum that is there, else 0.
  Bytes bytes_of(const DataKey& key) const;
  Bytes used() const;
  /// As in `DeviceStore`: neither waits. A claim on a device that is not open yet is remembered.
  void claim(Bytes bytes);
  void unclaim(Bytes bytes);
  /// As in `DeviceStore`; a datum that cannot leave is logged.
  void make_free();
  /// Whether `make_free` might have something to do.
  bool is_open() const { return opened_.load(std::memory_order_acquire) != nullptr; }

  BlobPtr to_host(const DataKey& key) override;
  void drop(const DataKey& key) override;
  /// REQUIRES: no operator runs.
  void clear() override;

 private:
  ObjectStore& host_;
  const std::string uuid_;
  const Bytes capacity_;
  const Bytes device_;
  const std::string library_;
  std::mutex opening_;  ///< Guards the next two while the device is opened.
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceStore> store_;
  std::mutex claiming_;                        ///< Guards the next, and the setting of `opened_`. Never held for long.
  Bytes claimed_;                              ///< Claims made before it is opened; afterwards the store knows them.
  std::atomic<DeviceStore*> opened_{nullptr};  ///< `store_` once it is open (release, acquire).
};

/// The claim on a device of a run that manages its memory itself; it ends with the run.
class DeviceClaim {
 public:
  DeviceClaim() = default;
  /// No data leave for it before `DeviceTier::make_free`. `tier` null: no device. REQUIRES: the tier outlives it.
  DeviceClaim(DeviceTier* tier, Bytes bytes) : tier_(bytes > Bytes{0} ? tier : nullptr), bytes_(bytes) {
    if (tier_ != nullptr) tier_->claim(bytes_);
  }
  DeviceClaim(DeviceClaim&& other) noexcept : tier_(std::exchange(other.tier_, nullptr)), bytes_(other.bytes_) {}
  DeviceClaim& operator=(DeviceClaim&&) = delete;
  ~DeviceClaim() {
    if (tier_ != nullptr) tier_->unclaim(bytes_);
  }

  Bytes bytes() const { return tier_ == nullptr ? Bytes{0} : bytes_; }
  /// So many bytes of the claim are now data of the store. REQUIRES: the claim has so many.
  void become_data(Bytes bytes) { bytes_ -= bytes; }
  /// So many bytes are no longer data of the run. REQUIRES: so many have become data.
  void take_again(Bytes bytes) {
    if (bytes <= Bytes{0}) return;
    tier_->claim(bytes);
    bytes_ += bytes;
  }

 private:
  DeviceTier* tier_ = nullptr;
  Bytes bytes_;
};

}  // namespace penstock::worker
