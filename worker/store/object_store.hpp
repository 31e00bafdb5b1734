// The data that a worker holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/units.hpp"
#include "worker/store/segment_reserve.hpp"
#include "worker/store/spill_files.hpp"

namespace penstock::worker {

/// The bytes of one datum: filled once by one, then shared and never changed. Small ones are plain memory, large ones a
/// `Segment`, which other processes of the host map without a copy; it is sealed when the first of them wants it.
class Blob {
 public:
  /// Plain, uninitialised memory; null if there is none.
  static std::shared_ptr<Blob> allocate(std::size_t bytes);
  /// A segment that somebody else has filled, and what is to live as long as it is read. REQUIRES: it is sealed.
  static std::shared_ptr<Blob> of(Segment segment, std::shared_ptr<const void> hold = nullptr);
  /// A segment to be filled, of memory from the reserve if it has some; null if the host has no more descriptors or
  /// memory for it.
  static std::shared_ptr<Blob> allocate_segment(std::size_t bytes, std::shared_ptr<SegmentReserve> reserve);
  ~Blob();
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  /// For whoever fills it, before `seal`.
  std::byte* data() { return data_; }
  /// It is complete: nobody writes it any more.
  void seal();
  /// To be written again, by its only holder: of what another process may have, no change is seen elsewhere. Null if
  /// there is no memory for that.
  std::byte* reopen();
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// It takes a descriptor.
  bool is_segment() const { return segment_.has_value() && segment_->handle(); }
  /// The process has no descriptor to spare for it: the bytes stay where they are, and from now on it is plain memory.
  /// REQUIRES: nobody else has it yet.
  void free_descriptor();
  /// For another process, so it is sealed now. Null if it is plain memory, cannot be sealed or has no handle.
  const Segment* segment() const;
  /// The handle of a sealed segment of these bytes, for another process: of its own, or for plain memory of a copy.
  /// Errors: ResourceExhausted; InvalidArgument if there are no bytes.
  Result<Descriptor> share() const;

 private:
  Blob(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Blob(Segment segment, std::shared_ptr<SegmentReserve> reserve);

  std::byte* const data_;
  const std::size_t size_;
  std::shared_ptr<const void> hold_;  ///< Of memory that another process counts. Goes when the mapping has gone.
  mutable std::once_flag sealing_;  ///< Whoever wants to seal `segment_`; its bytes do not move.
  mutable std::optional<Segment> segment_;
  std::shared_ptr<SegmentReserve> reserve_;  ///< Where the memory goes if nobody else has seen it.
};
using BlobPtr = std::shared_ptr<const Blob>;

struct StoreOptions {
  std::size_t segment_bytes_min = std::size_t{256} << 10U;  ///< Smaller data are plain memory.
  std::size_t segments_max = 16384;                         ///< Beyond them data are plain memory, whatever their size.
  ReserveLimits reserve;
  SpillOptions spill;
  std::string checkpoints;  ///< Directory that all workers share; empty: there is none.
};

/// On shared storage: where all attempts of a job save what later ones go on from. `key`: see `checkpoint_key_of`.
std::string attempts_directory(const std::string& checkpoints, std::string_view key);

/// Where data may be that are neither in memory nor on disk: a device. Called by any thread.
class DataTier {
 public:
  virtual ~DataTier() = default;
  /// The datum, in the store from now on; null if it is not there, or cannot be brought.
  virtual BlobPtr to_host(const DataKey& key) = 0;
  virtual void drop(const DataKey& key) = 0;
  virtual void clear() = 0;
};

/// Data by key, in memory and on disk. Any thread may call any member; a blob lives for as long as someone holds it.
/// It decides nothing: what is spilled, released and restored, and when, is said by the core.
class ObjectStore {
 public:
  explicit ObjectStore(const StoreOptions& options = {});
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// Who looks for something that is not here finds it there, and what is dropped here is dropped there. REQUIRES: before
  /// any other call.
  void add_tier(std::shared_ptr<DataTier> tier);

  /// Tries the directories of its files, so that one that cannot be used is known at start, and removes what killed
  /// workers have left where data are spilled. Errors: InvalidArgument, StorageFull.
  Result<void> prepare_spill();
  Result<void> prepare_checkpoints() const;

  /// Memory for a datum to be filled and then `put`; null if there is none.
  std::shared_ptr<Blob> allocate(std::size_t bytes) const;
  /// Seals it; replaces what is there, and on devices.
  void put(const DataKey& key, std::shared_ptr<Blob> blob);
  /// Allocates, copies and puts. False if there is no memory for it, and then nothing has changed.
  bool put_copy(const DataKey& key, std::string_view bytes);
  /// Null if it is not here. What is on a device is brought.
  BlobPtr find(const DataKey& key) const;
  /// From memory, disk and devices.
  void drop(const DataKey& key);
  /// Names the job that has this number; no identity: the job is forgotten.
  void name_job(JobId job, const JobIdentity& identity);
  /// Whether that number is known to be another job's.
  bool is_another(JobId job, const JobIdentity& identity) const;
  // The same without the devices, for these.
  void put_here(const DataKey& key, std::shared_ptr<Blob> blob);
  BlobPtr find_here(const DataKey& key) const;
  BlobPtr load_here_now(const DataKey& key) const;
  void drop_here(const DataKey& key);
  /// As if newly made; no answer comes any more.
  void clear();
  /// In memory.
  Bytes used() const;
  Bytes used_on_disk() const;

  /// Called on the store's own thread.
  using OnDone = std::function<void(const Result<void>&)>;
  /// Writes it to disk; memory keeps it. Errors: StorageFull and other faults of the disk; NotFound.
  void spill(const DataKey& key, OnDone on_done);
  /// From memory only. REQUIRES: the disk has it.
  void release(const DataKey& key);
  /// From disk into memory; the disk keeps it. Errors: StorageDamaged, NotFound, ResourceExhausted.
  void restore(const DataKey& key, OnDone on_done);
  /// The bytes, wherever they are, without bringing them to memory for others; null if they are not here. Called at
  /// once, or on the store's own thread.
  void load(const DataKey& key, std::function<void(BlobPtr)> on_done) const;
  /// The same, waiting for the disk.
  BlobPtr load_now(const DataKey& key) const;
  /// Puts a copy of what is in memory on shared storage, under the name of a life of this worker; it stays there until
  /// the datum is dropped. Errors: StorageFull and other faults; Unsupported without such a directory; NotFound.
  void checkpoint(const DataKey& key, Incarnation writer, OnDone on_done);
  /// From now on it is here as if spilled: a life of some worker has put it on shared storage.
  void adopt_checkpoint(const DataKey& key, Incarnation writer);
  /// Takes away all that a life of a worker has put on shared storage. What cannot be removed stays.
  void remove_checkpoints(Incarnation writer);
  /// Takes away all that attempts of a job have saved there, whose key that is. What cannot be removed stays.
  void remove_attempts(std::string_view key);
  /// What waits for the disk is not done, and no answer comes any more.
  void quiesce();

 private:
  bool room_for_segment() const;
  std::string checkpoint_directory(Incarnation writer) const;
  Result<std::string> checkpoint_path(const DataKey& key, Incarnation writer) const;
  void drop_files(const DataKey& key);
  bool on_disk(const DataKey& key) const;
  Result<void> read_into(const DataKey& key, std::shared_ptr<Blob>& blob) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
