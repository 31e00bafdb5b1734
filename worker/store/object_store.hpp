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
#include "worker/store/blocking_work.hpp"
#include "worker/store/segment_reserve.hpp"
#include "worker/store/spill_files.hpp"

namespace penstock::worker {

/// The bytes of one datum: filled once by one thread, then shared and never changed. Small ones are plain memory, large
/// ones a `Segment`, which other processes of the host map without a copy; it is sealed when the first of them asks.
class Blob {
 public:
  /// Plain, uninitialised memory; null if there is none.
  static std::shared_ptr<Blob> allocate(std::size_t bytes);
  /// A segment that another process has filled; `hold` lives as long as the segment is read. REQUIRES: it is sealed.
  static std::shared_ptr<Blob> of(Segment segment, std::shared_ptr<const void> hold = nullptr);
  /// A segment to be filled, with memory from the reserve if it has some; null if the host has no descriptor or memory
  /// for it.
  static std::shared_ptr<Blob> allocate_segment(std::size_t bytes, std::shared_ptr<SegmentReserve> reserve);
  ~Blob();
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  /// For the thread that fills it, before `seal`.
  std::byte* data() { return data_; }
  /// The datum is complete: no thread writes it any more.
  void seal();
  /// The bytes, to be written again by the only holder: other processes that may have them see no change. Null if there
  /// is no memory for that.
  std::byte* reopen();
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The memory is that of an earlier datum, with pages that are there already.
  bool is_reused() const { return reused_; }
  /// A segment takes a descriptor.
  bool is_segment() const { return segment_.has_value() && segment_->handle(); }
  /// The process needs the descriptor: the bytes stay where they are, and from now on this is plain memory. REQUIRES:
  /// no other process has the segment yet.
  void free_descriptor();
  /// Seals it for another process. Null if it is plain memory, cannot be sealed or has no handle.
  const Segment* segment() const;
  /// The handle of a sealed segment with these bytes, for another process: this segment's own, or a copy's for plain
  /// memory.
  /// Errors: ResourceExhausted; InvalidArgument if there are no bytes.
  Result<Descriptor> share() const;

 private:
  Blob(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Blob(Segment segment, std::shared_ptr<SegmentReserve> reserve, bool reused);

  std::byte* const data_;
  const std::size_t size_;
  const bool reused_ = false;
  std::shared_ptr<const void> hold_;  ///< Of memory that another process counts. Released after the mapping.
  mutable std::once_flag sealing_;    ///< Guards the sealing of `segment_`; its bytes do not move.
  mutable std::optional<Segment> segment_;
  std::shared_ptr<SegmentReserve> reserve_;  ///< Receives the memory if no other process has seen it.
};
using BlobPtr = std::shared_ptr<const Blob>;

struct StoreOptions {
  std::size_t segment_bytes_min = std::size_t{256} << 10U;  ///< Smaller data are plain memory.
  std::size_t segments_max = 16384;                         ///< Beyond them data are plain memory, whatever their size.
  ReserveLimits reserve;
  SpillOptions spill;
  std::string checkpoints;  ///< Directory that all workers share; empty: there is none.
};

/// The directory on shared storage where all attempts of a job save state for later ones. `key`: see
/// `checkpoint_key_of`.
std::string attempts_directory(const std::string& checkpoints, std::string_view key);

/// A further place of data that are neither in memory nor on disk: a device. Called by any thread.
class DataTier {
 public:
  virtual ~DataTier() = default;
  /// Brings the datum into the store; null if it is not there, or cannot be brought.
  virtual BlobPtr to_host(const DataKey& key) = 0;
  virtual void drop(const DataKey& key) = 0;
  virtual void clear() = 0;
};

/// Data by key, in memory and on disk. Any thread may call any member; a blob lives as long as it is referenced. The
/// store decides nothing: the core orders every spill, release and restore.
class ObjectStore {
 public:
  explicit ObjectStore(const StoreOptions& options = {});
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// A reader of a datum that is not here gets it from the tier, and a drop here is a drop there. REQUIRES: called
  /// before any other member.
  void add_tier(std::shared_ptr<DataTier> tier);

  /// Spilling, restoring and the like block there; without it on the thread of the caller. The work must have ended
  /// before the store. REQUIRES: as before.
  void use_disk_on(std::shared_ptr<BlockingWork> disk);

  /// Tries the directories of its files, so that an unusable one is known at start, and removes the spilled data of
  /// killed workers. Errors: InvalidArgument, StorageFull.
  Result<void> prepare_spill();
  Result<void> prepare_checkpoints() const;

  /// Memory for a datum to be filled and then `put`; null if there is none.
  std::shared_ptr<Blob> allocate(std::size_t bytes) const;
  /// Seals it; replaces the datum here and on devices.
  void put(const DataKey& key, std::shared_ptr<Blob> blob);
  /// Allocates, copies and puts. False if there is no memory for it, and then nothing has changed.
  bool put_copy(const DataKey& key, std::string_view bytes);
  /// Null if it is not here. A datum on a device is brought.
  BlobPtr find(const DataKey& key) const;
  /// Drops it from memory, disk and devices.
  void drop(const DataKey& key);
  /// Tells the store the identity of the job with this number; no identity: the job is forgotten.
  void name_job(JobId job, const JobIdentity& identity);
  /// Whether the number is known to be that of another job.
  bool is_another(JobId job, const JobIdentity& identity) const;
  /// Whether the number is known to be that of the job with this identity, a secret of the readers of its data.
  bool is_that(JobId job, const JobIdentity& identity) const;
  // The following members leave the devices out.
  void put_here(const DataKey& key, std::shared_ptr<Blob> blob);
  BlobPtr find_here(const DataKey& key) const;
  BlobPtr load_here_now(const DataKey& key) const;
  void drop_here(const DataKey& key);
  /// Drops all data; pending calls are not answered.
  void clear();
  /// Bytes in memory.
  Bytes used() const;
  Bytes used_on_disk() const;

  /// Called on the thread of the disk's work.
  using OnDone = std::function<void(const Result<void>&)>;
  /// Writes the datum to disk; memory keeps it. Errors: StorageFull and other faults of the disk; NotFound.
  void spill(const DataKey& key, OnDone on_done);
  /// Frees its memory only. REQUIRES: the disk has it.
  void release(const DataKey& key);
  /// From disk into memory; the disk keeps it. Errors: StorageDamaged, NotFound, ResourceExhausted.
  void restore(const DataKey& key, OnDone on_done);
  /// Reads the bytes from any place without bringing them to memory for others; null if they are not here. `on_done` is
  /// called at once, or on the thread of the disk's work.
  void load(const DataKey& key, std::function<void(BlobPtr)> on_done) const;
  /// The same, waiting for the disk.
  BlobPtr load_now(const DataKey& key) const;
  /// Copies a datum in memory to shared storage, under the name of an incarnation of this worker; the copy stays until
  /// the datum is dropped. Errors: StorageFull and other faults; Unsupported without such a directory; NotFound.
  void checkpoint(const DataKey& key, Incarnation writer, OnDone on_done);
  /// From now on the datum counts as spilled here: an incarnation of some worker has put it on shared storage.
  void adopt_checkpoint(const DataKey& key, Incarnation writer);
  /// Removes all that an incarnation of a worker has put on shared storage. Files that cannot be removed stay.
  void remove_checkpoints(Incarnation writer);
  /// Removes all that attempts of the job with this key have saved there. Files that cannot be removed stay.
  void remove_attempts(std::string_view key);
  /// Pending work of the disk is abandoned and not answered.
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
