// Data on disk: one file for each, checked when it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/units.hpp"
#include "common/host/life_directory.hpp"

namespace penstock::worker {

struct SpillOptions {
  std::string place;               ///< Directory of all workers' spilled data; empty: where temporary files are.
  Bytes bytes_max = Bytes::max();  ///< On disk; at the limit the disk counts as full.
};

/// Spilled data, as files in a directory of this incarnation, which is removed at its end; making it removes the
/// directories of killed incarnations. Any thread may call any member; a key is written and dropped by one thread at a
/// time.
class SpillFiles {
 public:
  explicit SpillFiles(SpillOptions options);
  SpillFiles(const SpillFiles&) = delete;
  SpillFiles& operator=(const SpillFiles&) = delete;

  /// Makes the directory; otherwise the first write does. Errors: StorageFull, InvalidArgument.
  Result<void> prepare();
  /// Replaces the file of this key. Errors: StorageFull, InvalidArgument for a place that cannot be used; then nothing
  /// is kept.
  Result<void> write(const DataKey& key, std::span<const std::byte> bytes);
  /// Asks `room_for(size)` for the memory and fills it; null from it means that there is none. Errors: NotFound;
  /// StorageDamaged, and then the datum is dropped; ResourceExhausted.
  Result<void> read(const DataKey& key, const std::function<std::byte*(std::size_t)>& room_for);
  void drop(const DataKey& key);
  void clear();
  bool has(const DataKey& key) const;
  /// Bytes on disk, after compression.
  Bytes used() const;

 private:
  Result<std::string> path_of(const DataKey& key);
  void note(const DataKey& key, std::int64_t bytes);

  const SpillOptions options_;
  mutable std::mutex mutex_;  ///< Guards all below; never held while a file is read or written.
  LifeDirectory directory_;
  std::map<DataKey, std::int64_t> stored_;  ///< Bytes on disk of each.
  std::int64_t used_ = 0;
};

}  // namespace penstock::worker
