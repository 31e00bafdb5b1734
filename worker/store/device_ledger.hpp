// What lies in the memory of a device, and who makes room there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/units.hpp"

namespace penstock::worker {

/// Who leaves a device so that something fits. Applied by whoever moves the bytes, one datum at a time.
struct DeviceRoom {
  enum class Answer : std::uint8_t {
    Fits,   ///< When `leaving` has left.
    Later,  ///< Too much is pinned, or being filled.
    Never,  ///< It is larger than the device.
  };
  Answer answer = Answer::Fits;
  struct Leaver {
    DataKey key;
    bool host_has_it = false;  ///< Its copy here is only dropped; else it is spilled to the host first.
  };
  std::vector<Leaver> leaving;
};

/// The accounts of one device's memory. Who leaves first: what the host has as well, which costs nothing, then what
/// costs a copy; each by when it was last used, oldest first. What is pinned or being filled stays. What runs that manage
/// their own memory have been promised of the device is not taken. Always true: `used()` is the sum of what is there and
/// reserved, and at most the capacity. Pure: no bytes, no device, no thread.
/// Cost: O(log n); `room_for` and `excess` O(n log n) where something has to leave.
class DeviceLedger {
 public:
  /// `device`: all of its memory, of which data may take `capacity`.
  explicit DeviceLedger(Bytes capacity, Bytes device = Bytes::max()) : capacity_(capacity), device_(device) {}

  DeviceRoom room_for(Bytes bytes) const;

  /// Promises so much of the device to a run. Those of `excess` have to leave.
  void claim(Bytes bytes) { claimed_ += bytes; }
  /// REQUIRES: so much is claimed.
  void unclaim(Bytes bytes);
  /// Who leaves so that what is claimed is free; not all of it if too much is pinned or being filled.
  std::vector<DeviceRoom::Leaver> excess() const;
  /// How it leaves; nothing if it is not here, or pinned.
  std::optional<DeviceRoom::Leaver> leaver(const DataKey& key) const;

  /// Memory that is being filled and has no name yet. REQUIRES: `room_for` has said that it fits, and those have left.
  void reserve(Bytes bytes);
  /// It will not be needed. REQUIRES: so much is reserved.
  void unreserve(Bytes bytes);
  /// What was reserved is a datum now, used just now. REQUIRES: so much is reserved, and the datum is not here.
  void add(const DataKey& key, Bytes bytes, bool host_has_it);
  /// Its copy here is gone. REQUIRES: it is here. How often it was pinned is forgotten.
  void remove(const DataKey& key);

  bool has(const DataKey& key) const { return data_.contains(key); }
  /// REQUIRES, for these: it is here.
  void pin(const DataKey& key);    ///< A use of it.
  void unpin(const DataKey& key);  ///< As often as it was pinned.
  std::uint32_t pins(const DataKey& key) const { return data_.at(key).pins; }
  void host_has(const DataKey& key) { data_.at(key).host_has_it = true; }

  /// REQUIRES: it is here.
  Bytes bytes_of(const DataKey& key) const { return data_.at(key).bytes; }
  Bytes used() const { return used_; }
  Bytes capacity() const { return capacity_; }
  Bytes claimed() const { return claimed_; }
  /// What data may take now.
  Bytes limit() const { return std::clamp(device_ - claimed_, Bytes{0}, capacity_); }
  std::size_t size() const { return data_.size(); }
  void validate() const;

 private:
  struct Entry {
    Bytes bytes;
    std::uint64_t used_at = 0;  ///< Counted in uses.
    std::uint32_t pins = 0;
    bool host_has_it = false;
  };

  /// In the order in which they leave, until they make up `missing`, or all that can.
  Bytes choose(Bytes missing, std::vector<DeviceRoom::Leaver>& leaving) const;

  const Bytes capacity_;
  const Bytes device_;
  Bytes claimed_;
  Bytes used_;
  Bytes reserved_;  ///< Part of `used_`.
  std::uint64_t uses_ = 0;
  std::map<DataKey, Entry> data_;
};

}  // namespace penstock::worker
