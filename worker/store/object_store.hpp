// The data that a worker holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/units.hpp"

namespace penstock::worker {

/// The bytes of one datum: filled once, then shared and never changed.
class Blob {
 public:
  /// Uninitialised memory of that size; null if there is none.
  static std::shared_ptr<Blob> allocate(std::size_t bytes);
  ~Blob();
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  std::byte* data() { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  Blob(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};
using BlobPtr = std::shared_ptr<const Blob>;

/// Data by key, in memory. Any thread may call any member; a blob lives for as long as someone holds it.
class ObjectStore {
 public:
  ObjectStore();
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// Replaces what is there.
  void put(const DataKey& key, BlobPtr blob);
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
