#include "worker/store/device_tier.hpp"

#include "common/host/log.hpp"

namespace penstock::worker {

Result<DeviceStore*> DeviceTier::open() {
  if (DeviceStore* known = opened_.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock{opening_};
  if (store_ != nullptr) return store_.get();
  Result<std::unique_ptr<DeviceMemory>> memory = open_cuda_memory(uuid_, library_);
  if (!memory) return std::move(memory).error();
  memory_ = std::move(memory).value();
  store_ = std::make_unique<DeviceStore>(*memory_, host_, capacity_, device_);
  log_line(LogLevel::Info, "device opened", "uuid=" + uuid_ + " bytes_max=" + std::to_string(capacity_.value()));
  const std::lock_guard claiming{claiming_};
  store_->claim(claimed_);
  opened_.store(store_.get(), std::memory_order_release);
  return store_.get();
}

Bytes DeviceTier::bytes_of(const DataKey& key) const {
  const DeviceStore* store = opened_.load(std::memory_order_acquire);
  return store == nullptr ? Bytes{0} : store->bytes_of(key);
}

Bytes DeviceTier::used() const {
  const DeviceStore* store = opened_.load(std::memory_order_acquire);
  return store == nullptr ? Bytes{0} : store->used();
}

void DeviceTier::claim(Bytes bytes) {
  const std::lock_guard lock{claiming_};
  if (DeviceStore* store = opened_.load(std::memory_order_acquire)) return store->claim(bytes);
  claimed_ += bytes;
}

void DeviceTier::unclaim(Bytes bytes) {
  const std::lock_guard lock{claiming_};
  if (DeviceStore* store = opened_.load(std::memory_order_acquire)) return store->unclaim(bytes);
  claimed_ -= bytes;
}

void DeviceTier::make_free() {
  DeviceStore* store = opened_.load(std::memory_order_acquire);
  if (store == nullptr) return;
  const Result<void> left = store->make_free();
  if (!left) log_error(LogLevel::Warn, "data cannot leave a device for a run", left.error());
}

BlobPtr DeviceTier::to_host(const DataKey& key) {
  DeviceStore* store = opened_.load(std::memory_order_acquire);
  if (store == nullptr || store->bytes_of(key).is_zero()) return nullptr;
  Result<BlobPtr> copied = store->to_host(key);
  if (copied) return std::move(copied).value();
  log_error(LogLevel::Warn, "a datum cannot leave its device", copied.error());
  return nullptr;
}

void DeviceTier::drop(const DataKey& key) {
  if (DeviceStore* store = opened_.load(std::memory_order_acquire)) store->drop(key);
}

void DeviceTier::clear() {
  if (DeviceStore* store = opened_.load(std::memory_order_acquire)) store->clear();
}

}  // namespace penstock::worker
