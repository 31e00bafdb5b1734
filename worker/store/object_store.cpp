#include "worker/store/object_store.hpp"

#include <fcntl.h>
#include <tbb/concurrent_hash_map.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "common/host/life_directory.hpp"
#include "worker/store/datum_file.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kAlignment = 64;  // A cache line; wide enough for every vector instruction.

/// More than the address space of a process; the allocator is not even asked for it.
constexpr std::size_t kAddressSpace = std::size_t{1} << 47U;

struct HashKey {
  static std::size_t hash(const DataKey& key) { return hash_of(key); }
  static bool equal(const DataKey& a, const DataKey& b) { return a == b; }
};

}  // namespace

std::shared_ptr<Blob> Blob::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes || bytes > kAddressSpace) return nullptr;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded));
  return data == nullptr ? nullptr : std::shared_ptr<Blob>{new Blob{data, bytes}};
}

std::shared_ptr<Blob> Blob::of(Segment segment, std::shared_ptr<const void> hold) {
  std::shared_ptr<Blob> blob{new Blob{std::move(segment), nullptr, false}};
  blob->hold_ = std::move(hold);
  return blob;
}

std::shared_ptr<Blob> Blob::allocate_segment(std::size_t bytes, std::shared_ptr<SegmentReserve> reserve) {
  if (bytes == 0) return nullptr;
  if (std::optional<Segment> kept = reserve->take(bytes))
    return std::shared_ptr<Blob>{new Blob{std::move(*kept), std::move(reserve), true}};
  Result<Segment> segment = Segment::create(bytes);
  if (!segment) return nullptr;
  return std::shared_ptr<Blob>{new Blob{std::move(segment).value(), std::move(reserve), false}};
}

Blob::Blob(Segment segment, std::shared_ptr<SegmentReserve> reserve, bool reused)
    : data_(segment.data()),
      size_(segment.bytes().size()),
      reused_(reused),
      segment_(std::move(segment)),
      reserve_(std::move(reserve)) {}

Blob::~Blob() {
  if (!segment_)
    std::free(data_);
  else if (reserve_ != nullptr && is_segment() && !segment_->sealed())
    reserve_->keep(std::move(*segment_));
}

void Blob::seal() {
  if (segment_) segment_->protect();
}

std::byte* Blob::reopen() {
  if (!segment_) return data_;
  return (segment_->sealed() ? segment_->write_privately() : segment_->reopen(size_)) ? data_ : nullptr;
}

void Blob::free_descriptor() {
  if (segment_) std::move(*segment_).take_handle();
}

const Segment* Blob::segment() const {
  if (!is_segment()) return nullptr;
  std::call_once(sealing_, [&] { static_cast<void>(segment_->seal()); });
  return segment_->sealed() && segment_->handle() ? &*segment_ : nullptr;
}

Result<Descriptor> Blob::share() const {
  if (const Segment* sealed = segment()) {
    Descriptor handle{::fcntl(sealed->handle().get(), F_DUPFD_CLOEXEC, 3)};
    if (handle) return handle;
    return Error{ErrorCode::ResourceExhausted, "segment", "has no free descriptor", "raise the limit of open files"};
  }
  if (size_ == 0) return Error{ErrorCode::InvalidArgument, "segment", "an empty datum has none", {}};
  Result<Segment> copy = Segment::create(size_);
  if (!copy) return std::move(copy).error();
  std::memcpy(copy->data(), data_, size_);
  PENSTOCK_TRY(copy->seal());
  return std::move(*copy).take_handle();
}

struct ObjectStore::State {
  explicit State(const StoreOptions& store_options) : options(store_options) {}
  void run(BlockingWork::Turn turn, std::function<void()> work) const;
  void note_file(const DataKey& key);
  void remove_later(std::string directory);

  const StoreOptions options;
  const std::shared_ptr<SegmentReserve> reserve = std::make_shared<SegmentReserve>(options.reserve);
  tbb::concurrent_hash_map<DataKey, BlobPtr, HashKey> blobs;
  std::atomic<std::int64_t> used{0};      ///< Sum over `blobs`; only for display, so relaxed.
  std::atomic<std::int64_t> segments{0};  ///< How many of `blobs` are segments; a bound need not be exact, so relaxed.
  std::atomic<bool> spills{false};        ///< The disk was used; until then it is not asked.
  std::mutex mutex;                       ///< Guards what follows, up to `checkpoints`.
  std::set<DataKey> restoring;            ///< Requested from disk; a drop or a new version removes the key.
  std::set<DataKey> filed;                ///< Written to disk or shared storage, or ordered to be.
  std::map<JobId, JobIdentity> names;     ///< Of the jobs that the worker knows.
  std::map<DataKey, std::string> checkpoints;  ///< Files on shared storage that go when their datum is dropped.
  mutable SpillFiles files{options.spill};
  std::vector<std::shared_ptr<DataTier>> tiers;
  std::shared_ptr<BlockingWork> disk;  ///< Null: the caller waits for the disk.
};

namespace {

template <class State>
void count(State& state, const Blob* blob, std::int64_t by) {
  if (blob == nullptr) return;
  state.used.fetch_add(by * static_cast<std::int64_t>(blob->bytes().size()), std::memory_order_relaxed);
  if (blob->is_segment()) state.segments.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace

std::string attempts_directory(const std::string& checkpoints, std::string_view key) {
  return checkpoints + "/attempts/" + std::string{key};
}

ObjectStore::ObjectStore(const StoreOptions& options) : state_(std::make_unique<State>(options)) {}
ObjectStore::~ObjectStore() = default;

void ObjectStore::use_disk_on(std::shared_ptr<BlockingWork> disk) { state_->disk = std::move(disk); }

void ObjectStore::State::run(BlockingWork::Turn turn, std::function<void()> work) const {
  if (disk == nullptr) return work();
  disk->add(turn, std::move(work));
}

void ObjectStore::add_tier(std::shared_ptr<DataTier> tier) { state_->tiers.push_back(std::move(tier)); }

Result<void> ObjectStore::prepare_spill() { return state_->files.prepare(); }

Result<void> ObjectStore::prepare_checkpoints() const {
  return state_->options.checkpoints.empty() ? Result<void>{} : check_directory(state_->options.checkpoints);
}

bool ObjectStore::room_for_segment() const {
  return state_->segments.load(std::memory_order_relaxed) < static_cast<std::int64_t>(state_->options.segments_max);
}

std::shared_ptr<Blob> ObjectStore::allocate(std::size_t bytes) const {
  if (bytes >= state_->options.segment_bytes_min && room_for_segment())
    if (std::shared_ptr<Blob> blob = Blob::allocate_segment(bytes, state_->reserve)) return blob;
  return Blob::allocate(bytes);
}

void ObjectStore::put(const DataKey& key, std::shared_ptr<Blob> blob) {
  if (state_->spills.load(std::memory_order_acquire)) {
    const std::lock_guard lock{state_->mutex};
    state_->restoring.erase(key);  // The new bytes replace those on disk.
  }
  for (const auto& tier : state_->tiers) tier->drop(key);
  put_here(key, std::move(blob));
}

bool ObjectStore::put_copy(const DataKey& key, std::string_view bytes) {
  std::shared_ptr<Blob> blob = allocate(bytes.size());
  if (blob == nullptr) return false;
  if (!bytes.empty()) std::memcpy(blob->data(), bytes.data(), bytes.size());
  put(key, std::move(blob));
  return true;
}

void ObjectStore::put_here(const DataKey& key, std::shared_ptr<Blob> blob) {
  blob->seal();
  if (blob->is_segment() && !room_for_segment()) blob->free_descriptor();  // A runner made it.
  decltype(state_->blobs)::accessor entry;
  state_->blobs.insert(entry, key);
  count(*state_, entry->second.get(), -1);
  count(*state_, blob.get(), 1);
  entry->second = std::move(blob);
}

BlobPtr ObjectStore::find(const DataKey& key) const {
  if (BlobPtr blob = find_here(key)) return blob;
  for (const auto& tier : state_->tiers)
    if (BlobPtr blob = tier->to_host(key)) return blob;
  return nullptr;
}

BlobPtr ObjectStore::find_here(const DataKey& key) const {
  decltype(state_->blobs)::const_accessor entry;
  return state_->blobs.find(entry, key) ? entry->second : nullptr;
}

void ObjectStore::release(const DataKey& key) {
  decltype(state_->blobs)::accessor entry;
  if (!state_->blobs.find(entry, key)) return;
  count(*state_, entry->second.get(), -1);
  state_->blobs.erase(entry);
}

void ObjectStore::drop(const DataKey& key) {
  for (const auto& tier : state_->tiers) tier->drop(key);  // First: from then on the tier returns no copy.
  drop_here(key);
}

void ObjectStore::drop_here(const DataKey& key) {
  if (state_->spills.load(std::memory_order_acquire)) {
    bool has_files = false;
    {
      const std::lock_guard lock{state_->mutex};
      state_->restoring.erase(key);
      has_files = state_->filed.erase(key) > 0;
    }
    // After a waiting write of the same datum.
    if (has_files) state_->run(BlockingWork::Turn::Later, [this, key] { drop_files(key); });
  }
  release(key);
}

void ObjectStore::spill(const DataKey& key, OnDone on_done) {
  state_->note_file(key);
  state_->run(BlockingWork::Turn::Later, [this, key, on_done = std::move(on_done)] {
    const BlobPtr blob = find(key);
    if (blob == nullptr) return on_done(Error{ErrorCode::NotFound, to_string(key), "is not in memory", {}});
    on_done(state_->files.write(key, blob->bytes()));
  });
}

void ObjectStore::restore(const DataKey& key, OnDone on_done) {
  {
    const std::lock_guard lock{state_->mutex};
    state_->restoring.insert(key);
  }
  state_->run(BlockingWork::Turn::Waited, [this, key, on_done = std::move(on_done)] {
    std::shared_ptr<Blob> blob;
    const Result<void> result = read_into(key, blob);
    {
      const std::lock_guard lock{state_->mutex};
      if (state_->restoring.erase(key) > 0 && result) put_here(key, std::move(blob));
    }
    on_done(!result && find(key) != nullptr ? Result<void>{} : result);  // A device may have it.
  });
}

void ObjectStore::drop_files(const DataKey& key) {
  state_->files.drop(key);
  std::string checkpoint;
  {
    const std::lock_guard lock{state_->mutex};
    if (const auto found = state_->checkpoints.find(key); found != state_->checkpoints.end()) {
      checkpoint = std::move(found->second);
      state_->checkpoints.erase(found);
    }
  }
  if (!checkpoint.empty()) ::unlink(checkpoint.c_str());
}

// Our own disk first. A datum that fails its checksum there may still be whole on shared storage.
Result<void> ObjectStore::read_into(const DataKey& key, std::shared_ptr<Blob>& blob) const {
  const auto room_for = [&](std::size_t bytes) {
    blob = allocate(bytes);
    return blob == nullptr ? nullptr : blob->data();
  };
  Result<void> result = state_->files.read(key, room_for);
  if (result || result.error().code == ErrorCode::ResourceExhausted) return result;
  std::string checkpoint;
  {
    const std::lock_guard lock{state_->mutex};
    const auto found = state_->checkpoints.find(key);
    if (found == state_->checkpoints.end()) return result;
    checkpoint = found->second;
  }
  return read_datum_file(checkpoint, key, room_for);
}

// One directory for each incarnation: numbers of jobs and subtasks are unique only together with it.
std::string ObjectStore::checkpoint_directory(Incarnation writer) const {
  return state_->options.checkpoints + "/penstock-checkpoints-" + std::to_string(writer.value());
}

Result<std::string> ObjectStore::checkpoint_path(const DataKey& key, Incarnation writer) const {
  if (state_->options.checkpoints.empty())
    return Error{ErrorCode::Unsupported, to_string(key), "cannot be put on shared storage: this worker knows none",
                 "start workers with --checkpoints DIRECTORY"};
  const std::string directory = checkpoint_directory(writer);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Error{ErrorCode::InvalidArgument, directory, "cannot be made: " + error.message(), "name another directory"};
  return directory + "/" + std::to_string(key.producer.job.value()) + "-" + std::to_string(key.producer.index.value()) +
         "-" + std::to_string(key.output);
}

void ObjectStore::checkpoint(const DataKey& key, Incarnation writer, OnDone on_done) {
  state_->note_file(key);
  state_->run(BlockingWork::Turn::Later, [this, key, writer, here = find_here(key), on_done = std::move(on_done)] {
    const BlobPtr blob = here == nullptr ? find(key) : here;
    if (blob == nullptr) return on_done(Error{ErrorCode::NotFound, to_string(key), "is not in memory", {}});
    const Result<std::string> path = checkpoint_path(key, writer);
    if (!path) return on_done(path.error());
    const Result<std::int64_t> written = write_datum_file(*path, key, blob->bytes(), Durably::Yes);
    if (!written) return on_done(written.error());
    {
      const std::lock_guard lock{state_->mutex};
      state_->checkpoints[key] = *path;
    }
    on_done({});
  });
}

void ObjectStore::adopt_checkpoint(const DataKey& key, Incarnation writer) {
  state_->note_file(key);
  const Result<std::string> path = checkpoint_path(key, writer);
  if (!path) return;  // A reader will learn that the datum is not here.
  const std::lock_guard lock{state_->mutex};
  state_->checkpoints[key] = *path;
}

void ObjectStore::remove_checkpoints(Incarnation writer) {
  if (!state_->options.checkpoints.empty()) state_->remove_later(checkpoint_directory(writer));
}

void ObjectStore::remove_attempts(std::string_view key) {
  const std::string& shared = state_->options.checkpoints;
  if (!shared.empty()) state_->remove_later(attempts_directory(shared, key));
}

void ObjectStore::State::note_file(const DataKey& key) {
  spills.store(true, std::memory_order_release);
  const std::lock_guard lock{mutex};
  filed.insert(key);
}

void ObjectStore::State::remove_later(std::string directory) {
  run(BlockingWork::Turn::Later, [directory = std::move(directory)] {
    std::error_code error;  // A file that another host still has open may stay; it costs only space.
    std::filesystem::remove_all(directory, error);
  });
}

bool ObjectStore::on_disk(const DataKey& key) const {
  if (state_->files.has(key)) return true;
  const std::lock_guard lock{state_->mutex};
  return state_->checkpoints.contains(key);
}

void ObjectStore::load(const DataKey& key, std::function<void(BlobPtr)> on_done) const {
  BlobPtr blob = find_here(key);
  if (blob != nullptr) return on_done(std::move(blob));
  if (!on_disk(key)) return on_done(find(key));
  state_->run(BlockingWork::Turn::Waited, [this, key, on_done = std::move(on_done)] { on_done(load_now(key)); });
}

BlobPtr ObjectStore::load_now(const DataKey& key) const {
  BlobPtr blob = load_here_now(key);
  return blob == nullptr ? find(key) : blob;
}

BlobPtr ObjectStore::load_here_now(const DataKey& key) const {
  if (BlobPtr blob = find_here(key)) return blob;
  std::shared_ptr<Blob> blob;
  if (!on_disk(key) || !read_into(key, blob)) return find_here(key);  // A restore may have finished meanwhile.
  return blob;
}

void ObjectStore::quiesce() {
  if (state_->disk != nullptr) state_->disk->quiesce();
}

void ObjectStore::clear() {
  quiesce();
  for (const auto& tier : state_->tiers) tier->clear();
  {
    const std::lock_guard lock{state_->mutex};
    state_->names.clear();
  }
  state_->restoring.clear();
  state_->filed.clear();
  state_->checkpoints.clear();  // The files stay: other workers may still need them.
  state_->files.clear();
  state_->blobs.clear();
  state_->reserve->clear();
  state_->used = 0;
  state_->segments = 0;
}

void ObjectStore::name_job(JobId job, const JobIdentity& identity) {
  const std::lock_guard lock{state_->mutex};
  if (identity.valid())
    state_->names[job] = identity;
  else
    state_->names.erase(job);
}

bool ObjectStore::is_another(JobId job, const JobIdentity& identity) const {
  const std::lock_guard lock{state_->mutex};
  const auto known = state_->names.find(job);
  return known != state_->names.end() && differ(known->second, identity);
}

bool ObjectStore::is_that(JobId job, const JobIdentity& identity) const {
  const std::lock_guard lock{state_->mutex};
  const auto known = state_->names.find(job);
  return identity.valid() && known != state_->names.end() && known->second == identity;
}

Bytes ObjectStore::used_on_disk() const { return state_->files.used(); }

Bytes ObjectStore::used() const { return Bytes{state_->used.load()}; }

}  // namespace penstock::worker
