#include "worker/runner/native/device_run.hpp"

#include <algorithm>

namespace penstock::worker {

DeviceRun::~DeviceRun() {
  if (pinned_.empty()) return;
  DeviceStore* const store = device().value();  // It was opened when the first was pinned.
  for (const auto& [key, address] : pinned_) store->unpin(key, address);
}

Result<DeviceStore*> DeviceRun::device() {
  if (tier_ != nullptr) return tier_->open();
  return Error{ErrorCode::Unsupported, "device", "this band has none", "request a part of a GPU for this operator"};
}

Result<DataKey> DeviceRun::key_of(std::uint64_t index) const {
  if (index < inputs_.size() && inputs_[index].producer.job.valid()) return inputs_[index];
  return Error{ErrorCode::NotFound, "input " + std::to_string(index), "is empty, or there is none of that number", {}};
}

Result<std::uint64_t> DeviceRun::input(std::uint64_t index) {
  const Result<DataKey> key = key_of(index);
  if (!key) return key.error();
  const Result<DeviceStore*> store = device();
  if (!store) return store.error();
  const Result<std::uint64_t> address = (*store)->pin(*key);
  if (address) pinned_.emplace_back(*key, *address);
  return address;
}

Result<BlobPtr> DeviceRun::input_on_host(std::uint64_t index) {
  const Result<DataKey> key = key_of(index);
  if (!key) return key.error();
  const Result<DeviceStore*> store = device();
  if (!store) return store.error();
  Result<BlobPtr> blob = (*store)->to_host(*key);
  if (blob) brought_.push_back(*blob);
  return blob;
}

Result<std::uint64_t> DeviceRun::output(std::uint32_t index, Bytes bytes) {
  const Result<DeviceStore*> store = device();
  if (!store) return store.error();
  take_back(index);
  const Bytes promised = std::min(bytes, claim_.bytes());
  Result<DeviceBuffer> buffer = (*store)->allocate(bytes, promised);
  if (!buffer) return buffer.error();
  claim_.become_data(promised);
  const std::uint64_t address = buffer->address();
  made_.emplace_back(index, std::move(buffer).value());
  return address;
}

void DeviceRun::take_back(std::uint32_t index) {
  std::vector<std::pair<std::uint32_t, DeviceBuffer>> others;  // A buffer cannot be assigned, only moved.
  for (auto& each : made_)
    if (each.first != index) others.push_back(std::move(each));
  made_.swap(others);
}

void DeviceRun::keep_outputs(const SubtaskId& id, std::vector<OutputReport>& reports) {
  if (made_.empty()) return;
  DeviceStore* const store = device().value();
  for (auto& [output, buffer] : made_) {
    reports.push_back({static_cast<std::uint16_t>(output), buffer.bytes().value()});
    store->put(DataKey{id, static_cast<std::uint16_t>(output)}, std::move(buffer));
  }
  made_.clear();
}

}  // namespace penstock::worker
