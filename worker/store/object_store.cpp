#include "worker/store/object_store.hpp"

#include <fcntl.h>
#include <tbb/concurrent_hash_map.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace penstock::worker {
namespace {

constexpr std::size_t kAlignment = 64;  // A cache line; wide enough for every vector instruction.

struct HashKey {
  static std::size_t hash(const DataKey& key) { return hash_of(key); }
  static bool equal(const DataKey& a, const DataKey& b) { return a == b; }
};

}  // namespace

std::shared_ptr<Blob> Blob::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes) return nullptr;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded));
  return data == nullptr ? nullptr : std::shared_ptr<Blob>{new Blob{data, bytes}};
}

std::shared_ptr<Blob> Blob::of(Segment segment) { return std::shared_ptr<Blob>{new Blob{std::move(segment)}}; }

std::shared_ptr<Blob> Blob::allocate_segment(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  Result<Segment> segment = Segment::create(bytes);
  if (!segment) return nullptr;
  return std::shared_ptr<Blob>{new Blob{std::move(segment).value()}};
}

Blob::Blob(Segment segment) : data_(segment.data()), size_(segment.bytes().size()), segment_(std::move(segment)) {}

Blob::~Blob() {
  if (!segment_) std::free(data_);
}

void Blob::seal() {
  // Unsealed it is as good for everybody in this process; `share` tries again.
  if (!segment_ || segment_->sealed()) return;  // One that is put under another key is read by others already.
  static_cast<void>(segment_->seal());
  data_ = segment_->data();
}

Result<Descriptor> Blob::share() const {
  if (segment_ && segment_->sealed()) {
    Descriptor handle{::fcntl(segment_->handle().get(), F_DUPFD_CLOEXEC, 3)};
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

  const StoreOptions options;
  tbb::concurrent_hash_map<DataKey, BlobPtr, HashKey> blobs;
  std::atomic<std::int64_t> used{0};      ///< Sum over `blobs`; only for people, so relaxed.
  std::atomic<std::int64_t> segments{0};  ///< How many of `blobs` are segments; a bound need not be exact, so relaxed.
};

namespace {

template <class State>
void count(State& state, const Blob* blob, std::int64_t by) {
  if (blob == nullptr) return;
  state.used.fetch_add(by * static_cast<std::int64_t>(blob->bytes().size()), std::memory_order_relaxed);
  if (blob->segment() != nullptr) state.segments.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace

ObjectStore::ObjectStore(const StoreOptions& options) : state_(std::make_unique<State>(options)) {}
ObjectStore::~ObjectStore() = default;

std::shared_ptr<Blob> ObjectStore::allocate(std::size_t bytes) const {
  const bool room =
      state_->segments.load(std::memory_order_relaxed) < static_cast<std::int64_t>(state_->options.segments_max);
  if (bytes >= state_->options.segment_bytes_min && room)
    if (std::shared_ptr<Blob> blob = Blob::allocate_segment(bytes)) return blob;
  return Blob::allocate(bytes);
}

void ObjectStore::put(const DataKey& key, std::shared_ptr<Blob> blob) {
  blob->seal();
  decltype(state_->blobs)::accessor entry;
  state_->blobs.insert(entry, key);
  count(*state_, entry->second.get(), -1);
  count(*state_, blob.get(), 1);
  entry->second = std::move(blob);
}

BlobPtr ObjectStore::find(const DataKey& key) const {
  decltype(state_->blobs)::const_accessor entry;
  return state_->blobs.find(entry, key) ? entry->second : nullptr;
}

void ObjectStore::drop(const DataKey& key) {
  decltype(state_->blobs)::accessor entry;
  if (!state_->blobs.find(entry, key)) return;
  count(*state_, entry->second.get(), -1);
  state_->blobs.erase(entry);
}

void ObjectStore::clear() {
  state_->blobs.clear();
  state_->used = 0;
  state_->segments = 0;
}

Bytes ObjectStore::used() const { return Bytes{state_->used.load()}; }

}  // namespace penstock::worker
