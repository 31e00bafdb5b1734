// The accounts of a device's memory: which data it holds, and which leave to make room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/units.hpp"

namespace penstock::worker {

/// The data to move off a device so that something fits. The thread that moves bytes applies it, one datum at a time.
struct DeviceRoom {
  enum class Answer : std::uint8_t {
    Fits,   ///< After the data in `leaving` have left.
    Later,  ///< Too much is pinned, or being filled.
    Never,  ///< The bytes exceed the capacity of the device.
  };
  Answer answer = Answer::Fits;
  struct Leaver {
    DataKey key;
    bool host_has_it = false;  ///< Its copy here is only dropped; else it is spilled to the host first.
  };
  std::vector<Leaver> leaving;
};

/// The accounts of one device's memory. Data that the host has as well leave first, because that costs nothing; then
/// data that must be copied; each group by last use, oldest first. Data that are pinned or being filled stay. Memory
/// that is claimed by runs that manage their own is not taken. Invariant: `used()` is the sum of the data here and
/// reserved, and at most the capacity. Pure: no bytes, no device, no thread.
/// Cost: O(log n); `room_for` and `excess` O(n log n) where something has to leave.
class DeviceLedger {
 public:
  /// `device`: all of its memory, of which data may take `capacity`.
  explicit DeviceLedger(Bytes capacity, Bytes device = Bytes::max()) : capacity_(capacity), device_(device) {}

  DeviceRoom room_for(Bytes bytes) const;

  /// Claims so many bytes of the device for a run. The data of `excess` have to leave.
  void claim(Bytes bytes) { claimed_ += bytes; }
  /// REQUIRES: so many bytes are claimed.
  void unclaim(Bytes bytes);
  /// The data to move so that the claimed bytes are free; not enough of them if too much is pinned or being filled.
  std::vector<DeviceRoom::Leaver> excess() const;
  /// The way in which a datum leaves; nothing if it is not here, or pinned.
  std::optional<DeviceRoom::Leaver> leaver(const DataKey& key) const;

  /// Memory that is being filled and has no name yet. REQUIRES: `room_for` said that it fits, and its `leaving` have
  /// left.
  void reserve(Bytes bytes);
  /// The reserved memory is given back. REQUIRES: so many bytes are reserved.
  void unreserve(Bytes bytes);
  /// The reserved memory is now a datum, last used now. REQUIRES: so many bytes are reserved, and the datum is not
  /// here.
  void add(const DataKey& key, Bytes bytes, bool host_has_it);
  /// The copy here is gone, and its pins are forgotten. REQUIRES: it is here.
  void remove(const DataKey& key);

  bool has(const DataKey& key) const { return data_.contains(key); }
  /// REQUIRES, for these: it is here.
  void pin(const DataKey& key);    ///< One use of it.
  void unpin(const DataKey& key);  ///< Called as often as `pin`.
  std::uint32_t pins(const DataKey& key) const { return data_.at(key).pins; }
  void host_has(const DataKey& key) { data_.at(key).host_has_it = true; }

  /// REQUIRES: it is here.
  Bytes bytes_of(const DataKey& key) const { return data_.at(key).bytes; }
  Bytes used() const { return used_; }
  Bytes capacity() const { return capacity_; }
  Bytes claimed() const { return claimed_; }
  /// Bytes that data may take now.
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

  /// Appends data in the order in which they leave, until they make up `missing` or no more can leave.
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
