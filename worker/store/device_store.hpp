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

/// Data by key, like `ObjectStore`, in the memory of one device. What finds no room there makes others leave it: for
/// the host's store, from which the core spills them to disk like any other datum. So a datum has up to three places,
/// and each of them alone is enough.
///
/// Any thread may call any member; one at a time gets in, copies and all, where it is not said that it does not wait.
/// REQUIRES: memory and host outlive it.
class DeviceStore {
 public:
  /// `device`: all of its memory, of which data may take `capacity`.
  DeviceStore(DeviceMemory& memory, ObjectStore& host, Bytes capacity, Bytes device = Bytes::max());
  /// Frees all of its memory. What is only on the device is lost. REQUIRES: nobody has a buffer of it.
  ~DeviceStore();
  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;

  /// Errors, with the numbers: LimitExceeded if it can never fit; ResourceExhausted if too much is pinned for now, or
  /// the host has no memory for who should leave; then nothing has changed but for those that have left. `promised` of it
  /// was claimed before, and is so no longer if it is there.
  Result<DeviceBuffer> allocate(Bytes bytes, Bytes promised = Bytes{0});
  /// Promises so much of the device to a run that manages its memory itself: data take no more than the rest from now
  /// on, until `unclaim`. Who is there already leaves with `make_free`. Neither waits.
  void claim(Bytes bytes);
  /// REQUIRES: so much is claimed.
  void unclaim(Bytes bytes);
  /// Data leave until what is claimed is free, as far as they are not pinned: seconds for a whole device. Others get in
  /// between two of them; when what it is for is no longer claimed it ends. Error, of who cannot leave: as `to_host`.
  Result<void> make_free();
  /// Replaces what is there, and its copy on the host. REQUIRES: the buffer is of this store.
  void put(const DataKey& key, DeviceBuffer buffer);
  /// The address of a datum, brought from the host if it is only there; its bytes stay until `unpin`, whatever becomes of
  /// the datum. Errors: as `allocate`; NotFound if it is in none of the places.
  Result<std::uint64_t> pin(const DataKey& key);
  /// For a run of whose claim it is a part: what it takes of `promised` is taken from that, and is claimed no longer.
  Result<std::uint64_t> pin(const DataKey& key, Bytes& promised);
  /// Nothing if it would have to be brought.
  std::optional<std::uint64_t> pin_if_here(const DataKey& key, Bytes& promised);
  /// REQUIRES: `pin` has given this address for it as often.
  void unpin(const DataKey& key, std::uint64_t address);
  /// The same datum in the host's store; the device keeps it. Errors: NotFound; ResourceExhausted.
  Result<BlobPtr> to_host(const DataKey& key);
  /// From the device. Does not wait for copies and runs: the memory is given back by whoever uses the store next. From
  /// now on nothing of it comes to the host; the caller drops what is there already.
  void drop(const DataKey& key);
  /// All of them. REQUIRES: no operator runs.
  void clear();
  /// Of a datum that is on the device, else 0. Does not wait.
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

  DeviceStore::State* store_;  ///< Null once it was put.
  std::uint64_t address_;
  Bytes bytes_;
};

}  // namespace penstock::worker
