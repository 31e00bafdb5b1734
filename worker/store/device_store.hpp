// Data in the memory of one device: the tier above the worker's own memory.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "worker/store/device_ledger.hpp"
#include "worker/store/device_memory.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// Memory of a device to be filled and then `put`, or given back by its destructor.
class DeviceBuffer;

/// Data by key, like `ObjectStore`, in the memory of one device. A datum that finds no room makes others leave for the
/// host's store, from which the core spills them to disk like any other datum. So a datum may be in three places, and
/// each of them alone suffices.
///
/// Any thread may call any member; a member admits one thread at a time, copies included, unless its comment says that
/// it does not wait. REQUIRES: memory and host outlive it.
class DeviceStore {
 public:
  /// `device`: all of its memory, of which data may take `capacity`.
  DeviceStore(DeviceMemory& memory, ObjectStore& host, Bytes capacity, Bytes device = Bytes::max());
  /// Frees all of its memory. Data that are only on the device are lost. REQUIRES: no `DeviceBuffer` of it is left.
  ~DeviceStore();
  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;

  /// Errors, with the numbers: LimitExceeded if it can never fit; ResourceExhausted if too much is pinned for now, or
  /// the host has no memory for the data that should leave; data that have left until then stay away. `promised` bytes
  /// of it were claimed before, and a success ends that claim.
  Result<DeviceBuffer> allocate(Bytes bytes, Bytes promised = Bytes{0});
  /// Claims so many bytes of the device for a run that manages its memory itself: from now on data take only the rest,
  /// until `unclaim`. Data that are there already leave with `make_free`. Neither waits.
  void claim(Bytes bytes);
  /// REQUIRES: so many bytes are claimed.
  void unclaim(Bytes bytes);
  /// Moves data off the device until the claimed bytes are free, as far as they are not pinned: seconds for a whole
  /// device. Between two data the lock is free for other threads, and the move ends early if the claim ends. Error of a
  /// datum that cannot leave: as `to_host`.
  Result<void> make_free();
  /// Replaces the datum here, and its copy on the host. REQUIRES: the buffer is of this store.
  void put(const DataKey& key, DeviceBuffer buffer);
  /// The address of a datum, brought from the host if it is only there; its bytes stay until `unpin`, even if the datum
  /// is dropped. Errors: as `allocate`; NotFound if it is in none of the places.
  Result<std::uint64_t> pin(const DataKey& key);
  /// The same for a run with a claim: bytes that are allocated come out of `promised` and are claimed no longer.
  Result<std::uint64_t> pin(const DataKey& key, Bytes& promised);
  /// The same, but nothing if the datum would have to be brought.
  std::optional<std::uint64_t> pin_if_here(const DataKey& key, Bytes& promised);
  /// REQUIRES: `pin` has returned this address for it, and for each `unpin` once.
  void unpin(const DataKey& key, std::uint64_t address);
  /// Copies the datum to the host's store; the device keeps it. Errors: NotFound; ResourceExhausted.
  Result<BlobPtr> to_host(const DataKey& key);
  /// Drops the datum from the device. Does not wait for copies and runs: the next user of the store frees the memory.
  /// From now on the datum is not copied to the host; the caller drops the host's copy.
  void drop(const DataKey& key);
  /// Drops all data. REQUIRES: no operator runs.
  void clear();
  /// Size of a datum that is on the device, else 0. Does not wait.
  Bytes bytes_of(const DataKey& key) const;

  Bytes used() const;
  /// Data that had to leave the device and were copied to the host, so far.
  std::uint64_t spilled() const;

 private:
  friend class DeviceBuffer;
  struct State;
  std::unique_ptr<State> state_;
};

class DeviceBuffer {
 public:
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer();

  std::uint64_t address() const { return address_; }
  Bytes bytes() const { return bytes_; }

 private:
  friend class DeviceStore;
  DeviceBuffer(DeviceStore::State* store, std::uint64_t address, Bytes bytes)
      : store_(store), address_(address), bytes_(bytes) {}

  DeviceStore::State* store_;  ///< Null after `put`.
  std::uint64_t address_;
  Bytes bytes_;
};

}  // namespace penstock::worker
