#include "worker/store/device_ledger.hpp"

#include <algorithm>
#include <tuple>

#include "common/base/check.hpp"

namespace penstock::worker {

DeviceRoom DeviceLedger::room_for(Bytes bytes) const {
  if (bytes > capacity_) return {DeviceRoom::Answer::Never, {}};
  const Bytes missing = used_ + bytes - limit();
  DeviceRoom room;
  if (choose(missing, room.leaving) < missing) return {DeviceRoom::Answer::Later, {}};
  return room;
}

std::vector<DeviceRoom::Leaver> DeviceLedger::excess() const {
  std::vector<DeviceRoom::Leaver> leaving;
  choose(used_ - limit(), leaving);
  return leaving;
}

std::optional<DeviceRoom::Leaver> DeviceLedger::leaver(const DataKey& key) const {
  const auto found = data_.find(key);
  if (found == data_.end() || found->second.pins > 0) return std::nullopt;
  return DeviceRoom::Leaver{key, found->second.host_has_it};
}

Bytes DeviceLedger::choose(Bytes missing, std::vector<DeviceRoom::Leaver>& leaving) const {
  Bytes left;
  if (missing <= left) return left;
  std::vector<std::tuple<bool, std::uint64_t, DataKey, Bytes>> order;  // By cost, then by age.
  for (const auto& [key, entry] : data_)
    if (entry.pins == 0) order.emplace_back(!entry.host_has_it, entry.used_at, key, entry.bytes);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  for (const auto& [costs, age, key, size] : order) {
    if (left >= missing) break;
    leaving.push_back({key, !costs});
    left += size;
  }
  return left;
}

void DeviceLedger::unclaim(Bytes bytes) {
  PENSTOCK_CHECK(bytes <= claimed_);
  claimed_ -= bytes;
}

void DeviceLedger::reserve(Bytes bytes) {
  PENSTOCK_CHECK(used_ + bytes <= capacity_);
  used_ += bytes;
  reserved_ += bytes;
}

void DeviceLedger::unreserve(Bytes bytes) {
  PENSTOCK_CHECK(bytes <= reserved_);
  used_ -= bytes;
  reserved_ -= bytes;
}

void DeviceLedger::add(const DataKey& key, Bytes bytes, bool host_has_it) {
  PENSTOCK_CHECK(bytes <= reserved_ && !has(key));
  reserved_ -= bytes;
  data_[key] = {bytes, ++uses_, 0, host_has_it};
}

void DeviceLedger::remove(const DataKey& key) {
  const auto found = data_.find(key);
  PENSTOCK_CHECK(found != data_.end());
  used_ -= found->second.bytes;
  data_.erase(found);
}

void DeviceLedger::pin(const DataKey& key) {
  Entry& entry = data_.at(key);
  ++entry.pins;
  entry.used_at = ++uses_;
}

void DeviceLedger::unpin(const DataKey& key) {
  Entry& entry = data_.at(key);
  PENSTOCK_CHECK(entry.pins > 0);
  --entry.pins;
}

void DeviceLedger::validate() const {
  Bytes sum = reserved_;
  for (const auto& [key, entry] : data_) sum += entry.bytes;
  PENSTOCK_CHECK(sum == used_ && used_ <= capacity_);
}

}  // namespace penstock::worker
