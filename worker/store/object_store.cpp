#include "worker/store/object_store.hpp"

#include <tbb/concurrent_hash_map.h>

#include <atomic>
#include <cstdlib>

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

Blob::~Blob() { std::free(data_); }

struct ObjectStore::State {
  tbb::concurrent_hash_map<DataKey, BlobPtr, HashKey> blobs;
  std::atomic<std::int64_t> used{0};  ///< Sum over `blobs`; only for people, so relaxed.
};

ObjectStore::ObjectStore() : state_(std::make_unique<State>()) {}
ObjectStore::~ObjectStore() = default;

void ObjectStore::put(const DataKey& key, BlobPtr blob) {
  decltype(state_->blobs)::accessor entry;
  state_->blobs.insert(entry, key);
  const auto before = entry->second == nullptr ? 0 : static_cast<std::int64_t>(entry->second->bytes().size());
  state_->used += static_cast<std::int64_t>(blob->bytes().size()) - before;
  entry->second = std::move(blob);
}

BlobPtr ObjectStore::find(const DataKey& key) const {
  decltype(state_->blobs)::const_accessor entry;
  return state_->blobs.find(entry, key) ? entry->second : nullptr;
}

void ObjectStore::drop(const DataKey& key) {
  decltype(state_->blobs)::accessor entry;
  if (!state_->blobs.find(entry, key)) return;
  state_->used -= static_cast<std::int64_t>(entry->second->bytes().size());
  state_->blobs.erase(entry);
}

void ObjectStore::clear() {
  state_->blobs.clear();
  state_->used = 0;
}

Bytes ObjectStore::used() const { return Bytes{state_->used.load()}; }

}  // namespace penstock::worker
