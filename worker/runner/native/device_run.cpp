#include "worker/runner/native/device_run.hpp"

#include <algorithm>

namespace penstock::worker {

DeviceRun::~DeviceRun() {
  if (pinned_.empty()) return;
  DeviceStore* const store = device().value();  // Open since the first pin.
  for (const Input& input : pinned_) store->unpin(input.key, input.address);
}

Result<DeviceStore*> DeviceRun::device() {
  if (tier_ != nullptr) return tier_->open();
  return Error{ErrorCode::Unsupported, "device", "this band has none", "request a part of a GPU for this operator"};
}

Result<DataKey> DeviceRun::key_of(std::uint64_t index) const {
  if (index < inputs_.size() && inputs_[index].producer.job.valid()) return inputs_[index];
  return Error{ErrorCode::NotFound, "input " + std::to_string(index), "is empty, or there is none of that number", {}};
}

std::vector<DeviceRun::Input>::iterator DeviceRun::find_pinned(const DataKey& key) {
  return std::find_if(pinned_.begin(), pinned_.end(), [&](const Input& known) { return known.key == key; });
}

void DeviceRun::make_free(bool knows_devices) {
  if (claim_.bytes() <= Bytes{0} || !tier_->is_open()) return;
  DeviceStore* const store = device().value();
  for (const DataKey& key : inputs_) {
    if (!knows_devices || !key.producer.job.valid() || find_pinned(key) != pinned_.end()) continue;
    Bytes rest = claim_.bytes();
    const std::optional<std::uint64_t> address = store->pin_if_here(key, rest);
    if (!address) continue;
    pinned_.push_back({key, *address, claim_.bytes() - rest, false});
    claim_.become_data(claim_.bytes() - rest);
  }
  tier_->make_free();
}

Result<std::uint64_t> DeviceRun::input(std::uint64_t index) {
  const Result<DataKey> key = key_of(index);
  if (!key) return key.error();
  if (const auto known = find_pinned(*key); known != pinned_.end()) {
    known->asked = true;
    return known->address;
  }
  const Result<DeviceStore*> store = device();
  if (!store) return store.error();
  Bytes rest = claim_.bytes();
  const Result<std::uint64_t> address = (*store)->pin(*key, rest);
  if (!address) return address.error();
  pinned_.push_back({*key, *address, claim_.bytes() - rest, true});
  claim_.become_data(claim_.bytes() - rest);
  return *address;
}

Result<BlobPtr> DeviceRun::input_on_host(std::uint64_t index) {
  const Result<DataKey> key = key_of(index);
  if (!key) return key.error();
  const Result<DeviceStore*> store = device();
  if (!store) return store.error();
  Result<BlobPtr> blob = (*store)->to_host(*key);
  if (!blob) return blob;
  brought_.push_back(*blob);
  if (const auto known = find_pinned(*key); known != pinned_.end() && !known->asked) {
    claim_.take_again(known->claimed);
    (*store)->unpin(known->key, known->address);
    pinned_.erase(known);
    tier_->make_free();
  }
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
  made_.push_back({index, std::move(buffer).value(), promised});
  return address;
}

void DeviceRun::take_back(std::uint32_t index) {
  std::vector<Output> others;  // A buffer cannot be assigned, only moved.
  for (Output& each : made_)
    if (each.index != index)
      others.push_back(std::move(each));
    else
      claim_.take_again(each.claimed);  // Before the memory is given back: no other run may take it.
  made_.swap(others);
}

void DeviceRun::keep_outputs(const SubtaskId& id, std::vector<OutputReport>& reports) {
  if (made_.empty()) return;
  DeviceStore* const store = device().value();
  for (auto& [output, buffer, claimed] : made_) {
    reports.push_back({static_cast<std::uint16_t>(output), buffer.bytes().value()});
    store->put(DataKey{id, static_cast<std::uint16_t>(output)}, std::move(buffer));
  }
  made_.clear();
}

}  // namespace penstock::worker
