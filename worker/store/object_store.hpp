// The data that a worker holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/units.hpp"
#include "worker/store/segment.hpp"

namespace penstock::worker {

/// The bytes of one datum: filled once by one, then sealed, shared and never changed. Small ones are plain memory,
/// large ones a `Segment`, which other processes of the host map without a copy.
class Blob {
 public:
  /// Plain, uninitialised memory; null if there is none.
  static std::shared_ptr<Blob> allocate(std::size_t bytes);
  /// A segment that somebody else has filled. REQUIRES: it is sealed.
  static std::shared_ptr<Blob> of(Segment segment);
  /// A segment to be filled; null if the host has no more descriptors or memory for it.
  static std::shared_ptr<Blob> allocate_segment(std::size_t bytes);
  ~Blob();
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  /// For whoever fills it, before `seal`.
  std::byte* data() { return data_; }
  /// It is complete. The bytes may move to another address. REQUIRES: nobody else has it yet.
  void seal();
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Null if it is plain memory.
  const Segment* segment() const { return segment_ ? &*segment_ : nullptr; }
  /// The handle of a sealed segment of these bytes, for another process: of its own, or for plain memory of a copy.
  /// Errors: ResourceExhausted; InvalidArgument if there are no bytes.
  Result<Descriptor> share() const;

 private:
  Blob(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  explicit Blob(Segment segment);

  std::byte* data_;
  std::size_t size_;
  std::optional<Segment> segment_;
};
using BlobPtr = std::shared_ptr<const Blob>;

struct StoreOptions {
  std::size_t segment_bytes_min = std::size_t{256} << 10U;  ///< Smaller data are plain memory.
  std::size_t segments_max = 16384;                         ///< Beyond them data are plain memory, whatever their size.
};

/// Data by key, in memory. Any thread may call any member; a blob lives for as long as someone holds it.
class ObjectStore {
 public:
  explicit ObjectStore(const StoreOptions& options = {});
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// Memory for a datum to be filled and then `put`; null if there is none.
  std::shared_ptr<Blob> allocate(std::size_t bytes) const;
  /// Seals it; replaces what is there.
  void put(const DataKey& key, std::shared_ptr<Blob> blob);
  /// Null if it is not here.
  BlobPtr find(const DataKey& key) const;
  void drop(const DataKey& key);
  void clear();
  Bytes used() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
