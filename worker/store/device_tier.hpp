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

/// Nothing is done to a device before the first operator wants something of it: opening one takes half a second and some
/// of its memory. From then on whoever looks for a datum on the host that is only on the device gets a copy.
///
/// Any thread may call any member.
class DeviceTier : public DataTier {
 public:
  /// `uuid` as in `open_cuda_memory`; data take at most `capacity` of the `device` bytes that it has.
  DeviceTier(ObjectStore& host, std::string uuid, Bytes capacity, Bytes device, std::string library)
      : host_(host), uuid_(std::move(uuid)), capacity_(capacity), device_(device), library_(std::move(library)) {}

  /// Opened by the first call. Errors: as `open_cuda_memory`; the next call tries again.
  Result<DeviceStore*> open();
  /// Of a datum that is there, else 0.
  Bytes bytes_of(const DataKey& key) const;
  Bytes used() const;
  /// As of `DeviceStore`: neither waits. Of a device that nobody has opened it is remembered.
  void claim(Bytes bytes);
  void unclaim(Bytes bytes);
  /// As of `DeviceStore`; who cannot leave is logged.
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
  std::mutex opening_;  ///< Guards the next two, for as long as opening takes.
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceStore> store_;
  std::mutex claiming_;                        ///< Guards the next, and that `opened_` is set. Never held for long.
  Bytes claimed_;                              ///< Until it is opened: then the store knows.
  std::atomic<DeviceStore*> opened_{nullptr};  ///< `store_` when there is one (release, acquire).
};

/// What a run that manages its memory itself has been promised of a device, until it ends.
class DeviceClaim {
 public:
  DeviceClaim() = default;
  /// Nobody leaves for it before `DeviceTier::make_free`. `tier` null: there is none. REQUIRES: the tier outlives it.
  DeviceClaim(DeviceTier* tier, Bytes bytes) : tier_(bytes > Bytes{0} ? tier : nullptr), bytes_(bytes) {
    if (tier_ != nullptr) tier_->claim(bytes_);
  }
  DeviceClaim(DeviceClaim&& other) noexcept : tier_(std::exchange(other.tier_, nullptr)), bytes_(other.bytes_) {}
  DeviceClaim& operator=(DeviceClaim&&) = delete;
  ~DeviceClaim() {
    if (tier_ != nullptr) tier_->unclaim(bytes_);
  }

  Bytes bytes() const { return tier_ == nullptr ? Bytes{0} : bytes_; }
  /// So much of it has become data of the store. REQUIRES: it has so much.
  void become_data(Bytes bytes) { bytes_ -= bytes; }
  /// That is no longer data of the run. REQUIRES: so much has become data.
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
